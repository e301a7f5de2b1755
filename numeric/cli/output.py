"""What commands print and write: points, tables, figures; nothing is written before the arguments are checked."""

import argparse
import csv
import io
import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from attention_erm.runtime import interrupts, provenance
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import write_atomically
from attention_erm.runtime.progress import progress
from attention_erm.runtime.provenance import document_text
from attention_erm.runtime.text_table import table_text
from numeric.cli.arguments import print_json, writable
from numeric.engines.interrupted import Interrupted
from numeric.plotting.numbers import format_ranges

T = TypeVar("T")
_LOG = logging.getLogger(__name__)

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
TABLE = "write a table (csv), with parameters, version and command on each row"
FIGURE = "write a figure (png, pdf or svg), and its data beside it (json)"


def add_outputs(parser: argparse.ArgumentParser, table: bool = True) -> None:
    """Add --csv (where there is a table), --plot and --json."""
    if table:
        parser.add_argument("--csv", metavar="F", help=TABLE)
    add_figure(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def add_figure(parser: argparse.ArgumentParser, text: str = FIGURE) -> None:
    """Add --plot, and --style, which goes with it."""
    parser.add_argument("--plot", metavar="F", help=text)
    add_style(parser)


def add_style(parser: argparse.ArgumentParser) -> None:
    """Add --style."""
    parser.add_argument(
        "--style",
        metavar="NAME",
        help="draw with a style of matplotlib over ours, a name or a file",
    )


def outputs(
    arguments: argparse.Namespace, formats: Sequence[str] = FIGURE_SUFFIXES
) -> tuple[Path | None, Path | None]:
    """Table and figure to write, checked before any work; the figure in one of `formats`."""
    table, figure = writable("--csv", arguments.csv), requested_figure(arguments, formats)
    if table and figure and table in (figure, figure_data_path(figure)):
        rule = f"is written with its data in {figure_data_path(figure)}: one is the file of --csv"
        raise InvalidParameter("--plot", figure, rule, "name two files")
    return table, figure


def requested_figure(
    arguments: argparse.Namespace, formats: Sequence[str] = FIGURE_SUFFIXES
) -> Path | None:
    """The figure to write, checked before any work, as the file of its data and its style are."""
    figure = writable("--plot", arguments.plot, *formats)
    if figure:
        writable("--plot", str(figure_data_path(figure)))
    _take_style_of_plot(arguments)
    return figure


def _take_style_of_plot(arguments: argparse.Namespace) -> None:
    """Matplotlib is imported where there is a figure only.

    Raises:
        InvalidParameter: no figure is drawn, or there is no such style.
    """
    if arguments.plot is not None:
        take_style(arguments)
    elif arguments.style is not None:
        raise InvalidParameter(
            "--style", arguments.style, "is of the figure that --plot writes", "add --plot F"
        )


def take_style(arguments: argparse.Namespace) -> None:
    """Draw figures from here on in the style asked for, over ours. Raises InvalidParameter if there is no such style."""
    from numeric.plotting.style import choose_styles

    choose_styles(*([] if arguments.style is None else [arguments.style]))


def run_or_return_partial(study: Callable[..., T], *arguments: Any) -> T:
    """What a study gives, or what had finished of it when it was interrupted: the command goes on with that, and `run` ends it.

    Raises KeyboardInterrupt where nothing had.
    """
    try:
        return study(*arguments)
    except Interrupted as interrupt:
        if not interrupt.finished:
            raise
        return interrupt.finished


def with_kinks(
    points: Sequence[T],
    shown: Callable[[T], tuple[float, ...]],
    between: Callable[[T, T, float], T],
) -> list[T]:
    """The points and those that a figure has besides, where a line has a kink (numeric.plotting.kinks.refine_kinks).

    The points alone where an interrupt came before or comes now: the command goes on with them, and `run` ends it.
    """
    from numeric.plotting.kinks import refine_kinks  # not at the top: thresholds need no numpy

    def watch(numbers: Sequence[int]) -> Iterable[int]:
        return progress(numbers, desc="kinks of the figure, at most")

    try:
        return (
            list(points)
            if interrupts.interrupted()
            else refine_kinks(points, shown, between, watch)
        )
    except KeyboardInterrupt:
        interrupts.mark_handled()
        return list(points)


def write_table(
    path: Path, points: Sequence[Mapping[str, object]], parameters: Mapping[str, object]
) -> None:
    """Write the points as comma-separated values, whole or not at all.

    Columns: those of the points, the error bar of each quantity that has one under the name that it has in the Dataset of a sweep,
    then on every row the parameters, whether the command was interrupted, version, commit and the command that repeats it: rows of
    several tables may be put together, and no reader has lines to skip. A parameter that a column states already is not repeated.
    """
    from numeric.problem.solution import ERROR_BAR  # not at the top: thresholds need no numpy

    names = [name for name in points[0] if name != "errors"]
    barred = [name for name in names if any(name in _errors(point) for point in points)]
    stated = {name: value for name, value in parameters.items() if name not in names}
    common = {**stated, **provenance.interrupted_entry(), **provenance.current().columns()}
    said = [
        ",".join(map(str, value)) if isinstance(value, list) else value for value in common.values()
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, *(f"{name}{ERROR_BAR}" for name in barred), *common])
    for point in points:
        writer.writerow(
            [
                *(point[name] for name in names),
                *(_errors(point).get(name) for name in barred),
                *said,
            ]
        )
    write_atomically(path, text.getvalue().encode())


def _errors(point: Mapping[str, Any]) -> Mapping[str, float]:
    """Error bars of a point that states them apart from its values."""
    return point.get("errors", {})


def print_rows(rows: Sequence[Mapping[str, object]]) -> None:
    """Print records of the same keys as a table for a reader."""
    sys.stdout.write(table_text(rows))


def deliver(  # type: ignore[no-untyped-def]
    arguments: argparse.Namespace,
    rows: list[dict[str, object]],
    draw,
    document,
    drawn: Mapping[str, object] = MappingProxyType({}),
    below: str = "",
) -> None:
    """Write the table and the figure asked for, and print the rows, or the document that `document()` gives if it is JSON.

    `draw` makes the figure from numeric.plotting, which is imported only if it is needed; `drawn` is what the data beside the
    figure hold in place of the document's, where kinks are drawn with more points; `below` is printed after the rows.
    """
    written = document()

    def show() -> None:
        print_rows(rows)
        sys.stdout.write(below)

    with printed(arguments, written, show):
        if arguments.csv:
            write_table(Path(arguments.csv), rows, written["parameters"])
        if arguments.plot:
            from numeric import plotting

            save(draw(plotting), Path(arguments.plot), {**written, **drawn})


@contextmanager
def printed(
    arguments: argparse.Namespace, document: Mapping[str, object], show: Callable[[], None]
) -> Iterator[None]:
    """Print the document, if it is asked for, or what `show` does, after the files that are written within, or are not.

    A disk that refuses a file would otherwise lose what took long to find.
    """
    try:
        yield
    except OSError as error:
        error.add_note("what was found is printed")
        raise
    finally:
        if arguments.json:
            print_json(document)
        else:
            show()


def save(figure, path: Path, document: Mapping[str, object]) -> None:  # type: ignore[no-untyped-def]  # matplotlib is imported where needed
    """Write a figure in the format of the file's suffix, and beside it as JSON what it shows; each whole or not at all."""
    buffer, suffix = io.BytesIO(), path.suffix.lstrip(".")
    parameters = cast(Mapping[str, object], document.get("parameters", {}))
    metadata = provenance.current().figure_metadata(suffix, parameters)
    figure.savefig(buffer, format=suffix, metadata=metadata)
    write_atomically(path, buffer.getvalue())
    write_atomically(figure_data_path(path), document_text(document).encode())
    _LOG.info("%s: its data are in %s", path, figure_data_path(path))


def figure_data_path(figure: Path) -> Path:
    """Where the data of a figure are written."""
    return figure.with_suffix(".json")


def warn_of_values(solutions) -> None:  # type: ignore[no-untyped-def]  # the import is deferred
    """What is to be known of values along the sample ratio, solved at the default accuracy: a line each on stderr."""
    warn_of_statuses(solutions)
    warn_inexact(solutions)


def warn_of_statuses(solutions, name: str = "alpha", values: Sequence[float] = ()) -> None:  # type: ignore[no-untyped-def]  # the import is deferred
    """A line on stderr where values are approximations and where nothing is learned, along the sample ratio or other `values`."""
    from numeric.problem.solution import Status

    along = values or [solution.problem.alpha for solution in solutions]
    for status in (Status.UNSTABLE, Status.UNLEARNED):
        if places := [
            value for value, one in zip(along, solutions, strict=True) if one.status is status
        ]:
            _LOG.warning(
                "%s (%s = %s): %s",
                counted(places),
                name,
                format_ranges(places, along),
                status.value,
            )


def warn_inexact(  # type: ignore[no-untyped-def]  # the import is deferred
    solutions, accuracy: float | None = None, where: str = " in python -m numeric curve"
) -> None:
    """One line on stderr where errors are larger than was asked for, or than is the default.

    `where`: to ask for a smaller one.
    """
    from numeric.channel.rules import default_accuracy
    from numeric.problem.solution import QUANTITIES

    def goal(problem) -> float:  # type: ignore[no-untyped-def]
        return accuracy or default_accuracy(problem) or math.inf

    inexact = [one for one in solutions if one.trusted and one.error_estimate > goal(one.problem)]
    if inexact:
        worst = max(inexact, key=lambda one: one.error_estimate)
        name = max(QUANTITIES, key=lambda name: worst.relative_error((name,)))
        way_out = (
            "no finer rule is tried"
            if accuracy
            else f"a smaller --accuracy takes longer and comes closer{where}"
        )
        errors = f"relative errors of up to {worst.error_estimate:.1e} ({name}), more than {goal(inexact[0].problem):.0e}"
        _LOG.warning("%s with %s; %s", counted(inexact), errors, way_out)


def counted(points: Sequence[object]) -> str:
    """So many points, in words."""
    return "1 point" if len(points) == 1 else f"{len(points)} points"


def print_unsolved(solutions, name: str = "alpha", values: Sequence[float] = ()) -> int:  # type: ignore[no-untyped-def]  # likewise
    """One line on stderr for each point that was not solved, placed as in `warn_of_statuses`; the exit code, 1 if there is one."""
    along = values or [solution.problem.alpha for solution in solutions]
    unsolved = [
        (value, one) for value, one in zip(along, solutions, strict=True) if not one.trusted
    ]
    for value, solution in unsolved:
        _LOG.error("%s = %g: %s", name, value, solution.advice)
    return 1 if unsolved else 0
