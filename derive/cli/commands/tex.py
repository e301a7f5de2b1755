"""`python -m derive tex`: the derivation of a model as a LaTeX document."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from derive.cli.catalogue import one
from derive.cli.output import command, say

if TYPE_CHECKING:
    from derive.language.model import Model

DESCRIPTION = """
Print the whole derivation of a model, from its risk to the equations that are solved, as a LaTeX document: to be redirected to a file
and compiled.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "tex",
        "the derivation as a LaTeX document on stdout",
        DESCRIPTION,
        "tex tied_attention > derivation.tex",
    )
    parser.add_argument("model", metavar="MODEL", help="model whose derivation is printed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the document."""
    text = one(arguments.model, document, "deriving")
    say(arguments, {"model": arguments.model, "tex": text}, text)
    return 0


def document(model: Model) -> str:
    """The document of a model."""
    from derive.code.printers import latex
    from derive.pipeline import derive

    return latex.document(model, derive(model))
