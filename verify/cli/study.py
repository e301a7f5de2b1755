"""The command of a study: options, run, output. One loop for all studies."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numeric.cli.output import outputs, print_at_end, write_table
from verify.core.options import output_folder, require_distinct_samples
from verify.core.output import FORMATS, write_document, write_figure, write_figures
from verify.core.pool import Pool
from verify.core.section import Section
from verify.core.study import Study
from verify.studies import study_of


def add_study(commands: Any, study: Study[Any, Any]) -> None:
    """Add the command of a study."""
    parser = commands.add_parser(
        study.name,
        help=study.help,
        description=study.description,
        epilog=f"example: {study.example}",
    )
    study.add_options(parser)
    parser.set_defaults(run=partial(run_study, study), device=parser.get_default("device") or "cpu")


def run_study(study: Study[Any, Any], arguments: argparse.Namespace) -> int:
    """Compute a study, write what was requested, print it, and return the exit code: 1 if the
    verdict is negative.
    """
    if study.delegate and (other := study.delegate(arguments)):
        return run_study(study_of(other), arguments)
    started = time.perf_counter()
    table, figure = outputs(arguments, FORMATS)
    asked = vars(arguments)
    if isinstance(asked.get("alpha"), Sequence) and "dim" in asked:
        dims = asked["dim"] if isinstance(asked["dim"], Sequence) else (asked["dim"],)
        require_distinct_samples(asked["alpha"], dims)
    plan = study.plan(arguments)
    folder = output_folder(arguments.out)
    with Pool(arguments.workers) as pool:
        section = study.show(pool.run(study.steps(plan, folder)))
    document = {**study.parameters(arguments), **section.document, "agrees": section.agrees}
    document |= {
        name: value
        for name, value in {"seed": vars(arguments).get("seed")}.items()
        if value is not None
    }
    document["seconds"] = time.perf_counter() - started
    with print_at_end(arguments, document, lambda: _print(study, section, folder)):
        if table:
            write_table(
                table,
                section.rows,
                {**document.get("parameters", {}), "seed": document.get("seed")},
            )
        if figure:
            (shown,) = section.figures.values()
            write_figure(figure, shown.draw, document)
        if study.writes:
            _write(study, section, folder, document)
        if section.write:
            section.write(folder, document)
    return 0 if section.agrees else 1


def _write(
    study: Study[Any, Any], section: Section, folder: Path, document: dict[str, Any]
) -> None:
    if section.figures:
        drawings = {name: figure.draw for name, figure in section.figures.items()}
        write_figures(folder, study.name, document, drawings)
    else:
        write_document(folder / f"{study.name}.json", document)


def _print(study: Study[Any, Any], section: Section, folder: Path) -> None:
    files = (*(f"{name}.png" for name in section.figures), f"{study.name}.json")
    sys.stdout.write(
        section.text + (f"see {', '.join(files)} in {folder}/\n" if study.writes else "")
    )
