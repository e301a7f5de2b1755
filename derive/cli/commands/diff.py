"""Command `python -m derive diff`: compare generated/ with the models, or two models, equation by
equation.
"""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any

from attention_erm.cli.messages import fail
from attention_erm.runtime.text_table import WIDTH
from derive.cli.catalogue import process_models, require_model
from derive.cli.output import add_command, print_result
from derive.models import available, load

if TYPE_CHECKING:
    from derive.language.model import Model
    from derive.tools.diff import Change

DESCRIPTION = """
Without arguments, compare the equations in generated/ with those of the current model files. With
two models, compare the models. Prints each equation that differs, with a point where the values
differ (for two models: both sides), the names of equations that only one model has, and the number
of equal equations; --json prints all equations.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    text = "compare two models, or generated/ with all models, equation by equation"
    parser = add_command(
        commands, "diff", text, DESCRIPTION, "diff tied_attention first_row_attention"
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="two models (default: generated/ with all models)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the differences; return 2 if a model is refused."""
    from derive.tools.diff import UNCHANGED

    if len(arguments.models) == 2:
        return _of_two(arguments)
    if arguments.models:
        fail(
            f"MODEL {' '.join(arguments.models)}: requires two models; give two, or none to "
            "compare generated/ with all models"
        )
    document, lines, refused = {}, [], False
    for name, changes, refusal in process_models(available(), compare_with_disk, "comparing"):
        if changes is None:
            refused = True
            document[name] = [{"refused": refusal}]
            continue
        document[name] = [vars(change) for change in changes]
        differing = [change for change in changes if change.verdict != UNCHANGED]
        for change in differing:
            lines += textwrap.wrap(
                f"{name} {change}", WIDTH, subsequent_indent=" " * 4, break_on_hyphens=False
            )
        lines.append(
            f"{name}: {len(changes) - len(differing)} of {len(changes)} equations unchanged"
        )
    print_result(arguments, document, "\n".join(lines))
    return 2 if refused else 0


def _of_two(arguments: argparse.Namespace) -> int:
    from derive.tools import two_models

    arguments.models = [require_model("MODEL", name) for name in arguments.models]
    if len(set(arguments.models)) == 1:
        fail(
            f"MODEL {arguments.models[0]}: cannot be compared with itself; give two different "
            "models"
        )
    if any(
        result.value is None
        for result in list(process_models(arguments.models, derive_model, "deriving", processes=1))
    ):
        return 2
    first, second = map(load, arguments.models)
    difference = two_models.compare(first, second)
    print_result(arguments, difference.record(), difference.text())
    return 0


def derive_model(model: Model) -> bool:
    """Derive a model; the result is cached."""
    from derive.pipeline import derive

    return bool(derive(model))


class Unreadable(RuntimeError):
    """A generated file is damaged."""


def compare_with_disk(model: Model) -> list[Change]:
    """Compare the equations on disk with the derived ones.

    Raises:
        Unreadable: the file on disk is missing or is not valid Python.
    """
    from derive.code import emit
    from derive.pipeline import derive
    from derive.tools.diff import compare

    steps = derive(model)
    try:
        return compare(emit.full_source(model.name, "balls"), model.title, steps)
    except Exception as error:  # a damaged file can raise anything
        raise Unreadable(
            f"generated/{model.name}/balls.py cannot be read ({error}); generate it with `python "
            "-m derive gen`"
        ) from error
