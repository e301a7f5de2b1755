"""Command `python -m derive tex`: print the derivation of a model as a LaTeX document."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from derive.cli.catalogue import process_model
from derive.cli.output import add_command, print_result

if TYPE_CHECKING:
    from derive.language.model import Model

DESCRIPTION = """
Print the whole derivation of a model as a LaTeX document, from its risk to the equations that are
solved. Redirect the output to a file to compile it.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "tex",
        "print the derivation as a LaTeX document",
        DESCRIPTION,
        "tex tied_attention > derivation.tex",
    )
    parser.add_argument("model", metavar="MODEL", help="model whose derivation is printed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the document."""
    text = process_model(arguments.model, document, "deriving")
    print_result(arguments, {"model": arguments.model, "tex": text}, text)
    return 0


def document(model: Model) -> str:
    """Return the LaTeX document of a model."""
    from derive.code.printers import latex
    from derive.pipeline import derive

    return latex.document(model, derive(model))
