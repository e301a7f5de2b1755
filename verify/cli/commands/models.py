"""`python -m verify models`: every model trained on Gaussian-equivalent data, beside its theory."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from numeric import model as models
from numeric.cli.arguments import BadInput, add_problem_arguments, grid, positive, print_json, write_atomically
from numeric.cli.model_arguments import own_settings
from numeric.problem.problem import Problem, of_parts
from verify.cli.arguments import add_execution, integers, note
from verify.jobs.pool import Pool
from verify.report.lines import model_lines
from verify.studies.models import ModelScore, default_target, study_model
from verify.training.run import MINIMUM_DIM

SETTINGS = "mu=1/20"  #: of the shipped models


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "models",
        help="any model trained beside its theory",
        epilog="example: python -m verify models --model quadratic_network,cross_attention --alpha 1 --dim 20,30 --runs 8",
    )
    parser.add_argument(
        "--model", default="all", metavar="NAMES", help="models separated by commas (default all of them)"
    )
    parser.add_argument("--alpha", type=grid("--alpha"), default="1", metavar="GRID", help="sample ratios (default 1)")
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="20,30", metavar="N,N",
                        help="two sizes or more, from which results are extrapolated (default 20,30)")  # fmt: skip
    parser.add_argument(
        "--runs", type=integers("--runs", 2), default="8", metavar="N", help="runs of each size (default 8)"
    )
    parser.add_argument("--kappa0", type=positive("--kappa0", "try 1/2"), default="1/2", metavar="X",
                        help="rank ratio of the target (default 1/2)")  # fmt: skip
    add_problem_arguments(parser, "lambda_", "noise", defaults={"lambda_": "0.05", "noise": "0.5"})
    parser.add_argument(
        "--settings", default=SETTINGS, metavar="LIST", help=f"settings that only some models have (default {SETTINGS})"
    )
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, judge, write JSON, print; exit 1 where a model disagrees."""
    started, scores = time.perf_counter(), list[ModelScore]()
    if len(arguments.dim) < 2:
        raise BadInput("--dim", arguments.dim[0], "one size cannot be extrapolated", "try --dim 20,30")
    with Pool(arguments.workers) as pool:
        for problem in _problems(arguments):
            note(f"{problem.model}, alpha {problem.alpha:g}")
            scores += study_model(problem, sorted(arguments.dim), arguments.runs[0], pool)
    agrees = all(score.agrees for score in scores)
    document = {
        "agrees": agrees,
        "scores": [{**asdict(score), "problem": _stated(score.problem), "agrees": score.agrees} for score in scores],
        "seconds": time.perf_counter() - started,
    }
    path = Path(arguments.out) / "models.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())
    if arguments.json:
        print_json(document)
    else:
        sys.stdout.write("".join(model_lines(scores)) + f"see {path}\n")
    return 0 if agrees else 1


def _problems(arguments: argparse.Namespace) -> list[Problem]:
    """One for each model and sample ratio.

    Raises:
        BadInput: there is no such model.
    """
    names = _names(arguments.model)
    known = {setting for name in names for setting in models.structure(name)["settings"]}
    for part in arguments.settings.split(",") if arguments.settings != SETTINGS else ():
        if part.partition("=")[0] not in known:
            raise BadInput("--settings", repr(part), f"is no setting of {', '.join(names)}", "leave it out")
    return [_problem(name, float(alpha), arguments) for name in names for alpha in arguments.alpha]


def _names(text: str) -> list[str]:
    trained = [name for name in models.available() if "kappa0" in models.structure(name)["target"]]
    names = trained if text == "all" else text.split(",")
    for name in names:
        if name not in trained:
            raise BadInput(
                "--model", repr(name), "is not a model with a target of rank kappa0", f"use one of {', '.join(trained)}"
            )
    return names


def _problem(name: str, alpha: float, arguments: argparse.Namespace) -> Problem:
    if models.structure(name)["noise_on_label"]:
        raise BadInput("--model", name, "has noise on its label, which training does not draw", "put it inside")
    known = models.structure(name)["settings"]
    text = ",".join(part for part in arguments.settings.split(",") if part.partition("=")[0] in known)
    own = own_settings(text, name)
    extra = tuple((setting, float(value)) for setting, value in own.items() if setting in of_parts(name))
    target = default_target(name, float(arguments.kappa0))
    return Problem(alpha, target, float(arguments.lambda_), float(arguments.noise), model=name, extra=extra)


def _stated(problem: Problem) -> dict[str, float | str]:
    names = ("model", "alpha", "lambda_", "noise", "width", "beta", "beta0")
    return {**{name: getattr(problem, name) for name in names}, **dict(problem.extra), "target": repr(problem.target)}
