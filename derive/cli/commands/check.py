"""Command `python -m derive check`: prove that generated files are correct and up to date."""

import argparse
from typing import Any

from derive import models
from derive.cli.catalogue import process_models, selected_models
from derive.cli.output import add_command, print_result

DESCRIPTION = """
Derive each model, and check its generated files: they must equal the output of `derive gen`, the
generated code, run on symbols, must return the derived expressions, and it must reproduce stored
values with 50 digits. Prints the problems first, then one line for each model with the number of
proven equations.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "check",
        "prove that generated/ is up to date and equal to the derived expressions",
        DESCRIPTION,
        "check",
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to check (default all)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print problems and proofs; return 1 if there is a problem, 2 if a model is refused."""
    from derive.code import check, orphans

    results = list(process_models(selected_models(arguments.models), check.report, "checking"))
    reports = [result.value for result in results if result.value is not None]
    refused = {result.name: result.refusal for result in results if result.refusal}
    problems = [problem for report in reports for problem in report.problems]
    if not arguments.models:
        folders = orphans.orphaned_folders(models.available())
        problems += [check.Problem(f"generated/{name}/", "unknown model") for name in folders]
        problems += [
            check.Problem(f"generated/{name}", "no model's code imports it")
            for name in orphans.unused_shared_files()
        ]
    document = {
        "models": [report.record() for report in reports],
        "problems": [vars(problem) for problem in problems],
        "refused": refused,
    }
    print_result(arguments, document, "\n".join(map(str, (*problems, *reports))))
    return 2 if refused else 1 if problems else 0
