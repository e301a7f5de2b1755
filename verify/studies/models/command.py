"""`python -m verify models`: every model trained on Gaussian-equivalent data or on token sequences,
compared with its theory, with a report page each.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric import model as models
from numeric.cli.arguments import grid, non_negative, positive
from numeric.cli.model_arguments import listed_settings, require_generated
from numeric.cli.output import write_table
from numeric.cli.problem_arguments import add_vocabulary, stated_vocabulary
from numeric.problem.problem import extra_setting_names
from verify.core.data import DataKind
from verify.core.options import add_data, add_output, add_seed, add_sizes, size_counts
from verify.core.output import write_document, write_file
from verify.core.run import require_enough_tokens
from verify.core.section import Section
from verify.core.study import Study
from verify.core.versions import versions
from verify.studies.models.figure import model_figure
from verify.studies.models.page import model_page
from verify.studies.models.study import (
    EASY_SETTINGS,
    EXTRA,
    SETTINGS,
    ModelOutcome,
    ModelSetting,
    ModelsOutcome,
    ModelsPlan,
    TrainingSetup,
    problem_at,
    study_models,
)
from verify.studies.models.text import model_document, model_lines, model_rows


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        default="all",
        metavar="NAMES",
        help="models separated by commas (default all of them)",
    )
    first = SETTINGS[0]
    parser.add_argument(
        "--alpha",
        type=grid("--alpha"),
        metavar="GRID",
        help=f"sample ratios (default {len(SETTINGS)} settings, of which the others below are "
        "part)",
    )
    parser.add_argument(
        "--kappa0",
        type=positive("--kappa0", "try 1/2"),
        metavar="X",
        help=f"rank ratio of the target (with --alpha, default {first.kappa0})",
    )
    parser.add_argument(
        "--lambda",
        dest="lambda_",
        type=positive("--lambda", "the theory needs weight decay, try 0.05"),
        metavar="X",
        help=f"weight decay (with --alpha, default {first.lambda_})",
    )
    parser.add_argument(
        "--noise",
        type=non_negative("--noise", "give the variance Delta"),
        metavar="X",
        help=f"variance Delta of the label noise (with --alpha, default {first.noise})",
    )
    add_data(parser, DataKind.GAUSSIAN_EQUIVALENT)
    add_vocabulary(parser)
    add_sizes(parser, "20,30", "8", note="two sizes or more, to extrapolate from")
    parser.add_argument(
        "--settings",
        metavar="LIST",
        help="settings of single models, e.g. mu=1/20; without them these are left out of all",
    )
    add_seed(parser, 2**31)
    parser.add_argument(
        "--shuffle-labels",
        action="store_true",
        help="negative control: shuffle the labels; the verdict must be negative",
    )
    add_output(parser, "the report")


def _settings(arguments: argparse.Namespace, model: str) -> Sequence[ModelSetting]:
    """Return the stated settings, or the standard ones if none are stated.

    Raises:
        InvalidParameter: something is stated without the sample ratios.
    """
    stated = {
        name: value
        for name in ModelSetting._fields
        if (value := getattr(arguments, name)) is not None
    }
    if "alpha" not in stated:
        for name, value in stated.items():
            raise InvalidParameter(
                f"--{name.rstrip('_')}",
                value,
                "is part of a setting whose sample ratios are not stated",
                "add --alpha 1",
            )
        return EASY_SETTINGS.get(model, SETTINGS)
    others = {name: float(value) for name, value in stated.items() if name != "alpha"}
    return [SETTINGS[0]._replace(alpha=float(alpha), **others) for alpha in arguments.alpha]


def _own(arguments: argparse.Namespace) -> dict[str, float]:
    """Return values of the settings that only some models have.

    Raises InvalidParameter for a setting that no model has.
    """
    known = {
        name: domain for model in models.available() for name, domain in _domains(model).items()
    }
    stated = listed_settings(arguments.settings, known, f"models have {', '.join(known)}")
    return {**EXTRA, **{name: float(value) for name, value in stated.items()}}


def _domains(model: str) -> dict[str, str]:
    described = models.structure(model).settings
    return {name: described[name].domain for name in extra_setting_names(model)}


def _require_used(names: Sequence[str], own: dict[str, float]) -> None:
    used = set(EXTRA).union(*map(_domains, names))
    if strange := [name for name in own if name not in used]:
        rule = f"unknown setting of {', '.join(names)}"
        raise InvalidParameter("--settings", strange[0], rule, "leave it out")


def _require_own(model: str, own: dict[str, float]) -> None:
    if missing := [name for name in _domains(model) if name not in own]:
        example = ",".join(f"{name}=1/10" for name in missing)
        raise InvalidParameter(
            "--model",
            model,
            f"needs its settings {', '.join(missing)}",
            f"add --settings {example}",
        )


def _names(text: str, own: dict[str, float]) -> list[str]:
    """Return the requested models. Raises InvalidParameter for a model whose target has no rank
    ratio.
    """
    known = [
        name for name in models.available() if "kappa0" in models.structure(name).target_settings
    ]
    names = (
        [name for name in known if own.keys() >= _domains(name).keys()]
        if text == "all"
        else text.split(",")
    )
    for name in names:
        if name not in known:
            raise InvalidParameter(
                "--model",
                repr(name),
                "is not a model with a target of rank kappa0",
                f"use one of {', '.join(known)}",
            )
    return list(dict.fromkeys(names))


def _plan(arguments: argparse.Namespace) -> ModelsPlan:
    sizes = size_counts(arguments.dim, arguments.runs, minimum=2)
    stated = [] if arguments.model == "all" else arguments.model.split(",")
    requested = ",".join(map(require_generated, stated)) or "all"
    own = _own(arguments)
    names = _names(requested, own)
    _require_used(names, own)
    for name in names:
        models.require_up_to_date(name)
        _require_own(name, own)
    vocabulary = stated_vocabulary(arguments)
    if arguments.vocabulary is not None and arguments.data != str(DataKind.SEQUENCES):
        rule = "has no tokens, which a vocabulary states"
        raise InvalidParameter("--data", arguments.data, rule, "use --data sequences")
    problems = tuple(
        problem_at(name, setting, own, vocabulary)
        for name in names
        for setting in _settings(arguments, model=name)
    )
    for dim, _ in sizes:
        require_enough_tokens(problems[0], dim)
    return ModelsPlan(
        problems,
        TrainingSetup(sizes, arguments.seed, arguments.shuffle_labels, DataKind(arguments.data)),
    )


def models_section(outcome: ModelsOutcome) -> Section:
    """Return a line per model, setting and quantity; a page, a figure and a table for each model,
    and models.json, are written.
    """

    def write(folder: Path, document: Mapping[str, Any]) -> None:
        for model in outcome.models:
            _write_page(folder / "models", model, outcome.plan.trial)
        write_document(folder / "models" / "models.json", document)

    document = {
        "models": [model_document(model) for model in outcome.models],
        "versions": versions(),
    }
    lines = (
        *model_lines(outcome.models),
        "a page and a table for each model are in the folder models\n",
    )
    return Section("Models", outcome.agrees, lines, document, write=write)


def _write_page(folder: Path, outcome: ModelOutcome, trial: TrainingSetup) -> None:
    facts: dict[str, object] = {
        "runs": ", ".join(f"d = {group.dim}: {group.runs}" for group in outcome.scores[0].groups),
        "seed": trial.seed,
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }
    figure = model_figure(outcome)
    write_file(folder / f"{outcome.model}.png", figure)
    page = model_page(outcome, models.structure(outcome.model).title, figure, facts)
    write_file(folder / f"{outcome.model}.html", page.encode())
    write_table(
        folder / f"{outcome.model}.csv",
        model_rows(outcome),
        {"model": outcome.model, "seed": trial.seed},
    )


STUDY = Study(
    name="models",
    help="train any model and compare it with its theory",
    description="Train every included model, or the given ones, on Gaussian-equivalent data or on "
    "token sequences (--data), and compare it with its theory. Prints one line per model "
    "and setting with distances in standard errors and a verdict for each model. Writes a page "
    "with a figure and a CSV table for each model, and models.json.",
    example="python -m verify models --model quadratic_network,cross_attention --alpha 1 --dim "
    "20,30 --runs 8",
    add_options=_add_options,
    plan=_plan,
    steps=study_models,
    show=models_section,
    writes=False,
)
