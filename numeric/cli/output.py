"""What commands print and write: points, tables, figures; nothing is written before the arguments are checked."""

import argparse
import csv
import io
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numeric.cli.arguments import BadInput, print_json, writable, write_atomically
from numeric.engines.interrupted import Interrupted

T = TypeVar("T")
_LOG = logging.getLogger(__name__)

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")


def add_outputs(parser: argparse.ArgumentParser, table: bool = True) -> None:
    """Add --csv (where there is a table), --plot and --json."""
    if table:
        parser.add_argument("--csv", metavar="F", help="write a table")
    parser.add_argument("--plot", metavar="F", help="write a figure (png, pdf or svg)")
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def outputs(arguments: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Table and figure to write, checked before any work."""
    table, figure = writable("--csv", arguments.csv), writable("--plot", arguments.plot, *FIGURE_SUFFIXES)
    if table and table == figure:
        raise BadInput("--plot", figure, "is the file of --csv", "name two files")
    return table, figure


def so_far(study: Callable[..., T], *arguments: Any) -> T:
    """What a study gives, or what had finished of it when it was interrupted: the command goes on with that, and `run` ends it.

    Raises KeyboardInterrupt where nothing had.
    """
    try:
        return study(*arguments)
    except Interrupted as interrupt:
        if not interrupt.finished:
            raise
        return interrupt.finished


def document_key(quantity: str) -> str:
    """The key of a quantity in documents, which other programs read: it outlives the quantity's name."""
    return "unit_gain_error" if quantity == "denoising_error" else quantity


def write_table(path: Path, points: list[dict[str, object]]) -> None:
    """Write the points as comma-separated values, whole or not at all."""
    text = io.StringIO()
    columns = [name for name in points[0] if name != "errors"]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(points)
    write_atomically(path, text.getvalue().encode())


def print_rows(rows: list[dict[str, object]]) -> None:
    """Print records of the same keys as a table for a reader."""
    sys.stdout.write("  ".join(f"{name:>17}" for name in rows[0]) + "\n")
    for row in rows:
        cells = (
            f"{value:.9g}" if isinstance(value, float) else "-" if value is None else str(value)
            for value in row.values()
        )
        sys.stdout.write("  ".join(f"{cell:>17}" for cell in cells) + "\n")


def deliver(arguments: argparse.Namespace, rows: list[dict[str, object]], draw, document) -> None:  # type: ignore[no-untyped-def]
    """Write the table and the figure asked for, and print the rows, or the document that `document()` gives if it is JSON.

    `draw` makes the figure from the module numeric.plots, which is imported only if it is needed.
    """
    table, figure = outputs(arguments)
    if table:
        write_table(table, rows)
    if figure:
        from numeric import plots

        save(draw(plots), figure)
    if arguments.json:
        print_json(document())
    else:
        print_rows(rows)


def save(figure, path: Path) -> None:  # type: ignore[no-untyped-def]  # matplotlib is imported where it is needed
    """Write a figure in the format of the file's suffix, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix.lstrip("."), dpi=150, bbox_inches="tight")
    write_atomically(path, buffer.getvalue())


def print_unsolved(solutions) -> int:  # type: ignore[no-untyped-def]  # the import is deferred
    """One line on stderr for each point that was not solved; the exit code, 1 if there is one."""
    unsolved = [solution for solution in solutions if not solution.trusted]
    for solution in unsolved:
        _LOG.error("alpha = %g: %s", solution.problem.alpha, solution.status.value)
    return 1 if unsolved else 0
