"""`python -m derive check`: say of models what is proven of their generated files, and name what is not."""

import argparse
from typing import Any

from derive import models
from derive.cli.catalogue import chosen, each
from derive.cli.output import command, say

DESCRIPTION = """
Derive each model and prove of its files: that they are what `derive gen` would write, that generated code run on symbols gives back
the derived expressions, that it meets stored values of 50 digits. Prints the problems first, then a line a model with what was proven.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "check",
        "prove generated/ current, equal to its source expressions, and right at stored values",
        DESCRIPTION,
        "check",
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to check (default all)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print problems and proofs; exit 1 if there is a problem, 2 if a model is refused."""
    from derive.code import check, orphans

    results = list(each(chosen(arguments.models), check.report, "checking"))
    reports = [result.value for result in results if result.value is not None]
    refused = {result.name: result.refusal for result in results if result.refusal}
    problems = [problem for report in reports for problem in report.problems]
    if not arguments.models:
        folders = orphans.orphaned_folders(models.available())
        problems += [check.Problem(f"generated/{name}/", "no model of this name") for name in folders]
        problems += [check.Problem(f"generated/{name}", "no model's code imports it") for name in orphans.unused()]
    document = {
        "models": [report.record() for report in reports],
        "problems": [vars(problem) for problem in problems],
        "refused": refused,
    }
    say(arguments, document, "\n".join(map(str, (*problems, *reports))))
    return 2 if refused else 1 if problems else 0
