"""`python -m verify published`: released data of other groups compared with the theory."""

from __future__ import annotations

import argparse

from verify.core.model_check import require_default_model
from verify.core.options import add_output
from verify.core.section import Section
from verify.core.study import Study
from verify.studies.published.study import (
    SETS,
    PublishedOutcome,
    curve_document,
    source,
    study_published,
)
from verify.studies.published.text import published_lines


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "set", nargs="?", choices=(*SETS, "all"), default="all", help="which (default all)"
    )
    add_output(parser, "the table")


def _plan(arguments: argparse.Namespace) -> tuple[str, ...]:
    require_default_model()  # a changed model file does not affect released data
    return tuple(SETS) if arguments.set == "all" else (arguments.set,)


def _show(outcome: PublishedOutcome) -> Section:
    lines = [
        line
        for name, curves in outcome.sets.items()
        for line in (f"{source(name)}\n", *published_lines(curves))
    ]
    sets = {
        name: {"source": source(name), "curves": [curve_document(curve) for curve in curves]}
        for name, curves in outcome.sets.items()
    }
    return Section("Published numbers", outcome.agrees, tuple(lines), {"sets": sets})


STUDY = Study(
    name="published",
    help="released data of other groups compared with the theory",
    description="Solve the theory at every point of data that other groups released and print, "
    "with the source of "
    "each set, the ratio of released to computed values and a score a curve. Nothing is trained. "
    "Writes "
    "the table as published.json.",
    example="python -m verify published weak-decay",
    add_options=_add_options,
    plan=_plan,
    steps=lambda plan, folder: study_published(plan),
    show=_show,
)
