"""`python -m derive list`: models and their equations."""

import argparse
import re
from itertools import groupby
from typing import Any

from derive.cli.catalogue import each
from derive.cli.output import command, say
from derive.code import emit
from derive.code.printers import latex
from derive.language.model import Model
from derive.models import available
from derive.pipeline import derive

DESCRIPTION = """
Name every model file with its title and, step by step of the derivation, the equations that it gives; `explain` shows one of them.
Models that are refused are named on stderr.
"""
_SHOWN = re.compile(r".+\.\d+")  # identifiers of formulas that are shown in the derivation and not generated


def add(commands: Any) -> None:
    """Add the command."""
    parser = command(commands, "list", "models and their equations", DESCRIPTION, "list")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print them; models that are refused are named on stderr."""
    document, lines = {}, []
    for name, found, _ in each(available(), contents, "deriving", processes=1):
        if found is None:
            continue
        title, equations = found
        document[name] = {"title": title, "equations": [identifier for _, identifier in equations]}
        lines.append(f"{name}: {title}")
        for step, of_step in groupby(equations, key=lambda pair: pair[0]):
            lines.append(f"  {step:20} {', '.join(identifier for _, identifier in of_step)}")
    say(arguments, document, "\n".join(lines))
    return 0


def contents(model: Model) -> tuple[str, list[tuple[str, str]]]:
    """Title, and (step, identifier) of each equation: as its files record them if they are current, else derived."""
    records = emit.current_records(model)
    if records is None:
        records = latex.equation_records(derive(model))
    return model.title, [(record["step"], record["id"]) for record in records if not _SHOWN.fullmatch(record["id"])]
