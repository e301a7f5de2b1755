"""Command `python -m derive list`: list models and their equations."""

from __future__ import annotations

import argparse
import re
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any

from attention_erm.runtime.text_table import WIDTH
from derive.cli.catalogue import process_models, selected_models
from derive.cli.output import add_command, print_result
from derive.code import manifest

if TYPE_CHECKING:
    from derive.language.model import Model

DESCRIPTION = """
Without arguments, list the models with their titles and the number of their equations. For given
models, list all equations, step by step of the derivation; `explain` shows one of them. --json
lists the equations of all models. Refused models are listed on stderr.
"""
_SHOWN = re.compile(r".+\.\d+")  # identifiers of formulas without generated code


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, "list", "list models and their equations", DESCRIPTION, "list tied_attention"
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="models whose equations are listed (default none)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the models; return 2 if a requested model is refused."""
    names = selected_models(arguments.models)
    found = {name: recorded for name in names if (recorded := recorded_contents(name))}
    stale = [name for name in names if name not in found]
    for name, contents, _ in process_models(stale, derived_contents, "deriving", processes=1):
        if contents is not None:
            found[name] = contents
    shown = [name for name in names if name in found]
    document = {
        name: {
            "title": found[name][0],
            "equations": [identifier for _, identifier in found[name][1]],
        }
        for name in shown
    }
    lines = _steps if arguments.models else _in_short
    print_result(
        arguments, document, "\n".join(line for name in shown for line in lines(name, *found[name]))
    )
    return 2 if arguments.models and len(shown) < len(names) else 0


Contents = tuple[str, list[tuple[str, str]]]  #: title, and (step, identifier) of each equation


def recorded_contents(name: str) -> Contents | None:
    """Return the contents of a model as recorded in its files, without loading SymPy; None if the
    files are stale.
    """
    records = manifest.current_records(name)
    return (
        None
        if records is None
        else (
            str(manifest.read_manifest(manifest.model_folder(name))["title"]),
            _equations(records),
        )
    )


def derived_contents(model: Model) -> Contents:
    """Return the contents of a model as derived."""
    from derive.code.printers import latex
    from derive.pipeline import derive

    return model.title, _equations(latex.equation_records(derive(model)))


def _equations(records: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [
        (record["step"], record["id"]) for record in records if not _SHOWN.fullmatch(record["id"])
    ]


def _in_short(name: str, title: str, equations: list[tuple[str, str]]) -> list[str]:
    return textwrap.wrap(
        f"{name}: {title}; {len(equations)} equations", WIDTH, subsequent_indent="    "
    )


def _steps(name: str, title: str, equations: list[tuple[str, str]]) -> list[str]:
    lines = textwrap.wrap(f"{name}: {title}", WIDTH, subsequent_indent="    ")
    for step, of_step in groupby(equations, key=lambda pair: pair[0]):
        text = ", ".join(identifier for _, identifier in of_step)
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=f"  {step:20} ", subsequent_indent=" " * 23
        )
    return lines
