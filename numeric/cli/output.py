"""Outputs of commands: options, tables, figures, documents, warnings about solutions."""

import argparse
import csv
import io
import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from attention_erm.runtime import interrupts, provenance
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import write_atomically
from attention_erm.runtime.progress import progress
from attention_erm.runtime.provenance import document_text
from numeric.cli.arguments import writable
from numeric.engines.interrupted import Interrupted
from numeric.plotting.numbers import format_ranges

T = TypeVar("T")
_LOG = logging.getLogger(__name__)

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
TABLE = "write a table (csv), with parameters, version and command on each row"
FIGURE = "write a figure (png, pdf or svg), and its data next to it (json)"


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add --csv, --plot, --style, --no-caption and --json."""
    parser.add_argument("--csv", metavar="F", help=TABLE)
    add_figure(parser)
    add_json(parser)


def add_figure(parser: argparse.ArgumentParser, text: str = FIGURE) -> None:
    """Add --plot, --style and --no-caption.

    Args:
        parser: the parser of the command.
        text: help of --plot.
    """
    parser.add_argument("--plot", metavar="F", help=text)
    add_style(parser)


def add_style(parser: argparse.ArgumentParser) -> None:
    """Add --style and --no-caption."""
    parser.add_argument(
        "--style",
        metavar="NAME",
        help="matplotlib style, a name or a file, applied on top of the default style",
    )
    parser.add_argument("--no-caption", action="store_true", help="draw no caption in the figure")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def outputs(
    arguments: argparse.Namespace, formats: Sequence[str] = FIGURE_SUFFIXES
) -> tuple[Path | None, Path | None]:
    """Return the files of --csv and --plot, checked before any work.

    Args:
        arguments: options of the command, which may lack these.
        formats: allowed suffixes of the figure.

    Raises:
        InvalidParameter: a file cannot be written, both are the same, or the style is unknown.
    """
    given: dict[str, Any] = {"csv": None, "plot": None, "style": None, "no_caption": False}
    given |= vars(arguments)
    table, figure = writable("--csv", given["csv"]), writable("--plot", given["plot"], *formats)
    if figure:
        writable("--plot", str(figure_data_path(figure)))
        apply_style(arguments)
    elif given["style"] is not None:
        raise InvalidParameter("--style", given["style"], "requires --plot", "add --plot F")
    elif given["no_caption"]:
        raise InvalidParameter("--no-caption", "", "requires --plot", "add --plot F")
    if table and figure and table in (figure, figure_data_path(figure)):
        rule = f"is written with its data in {figure_data_path(figure)}: one is the file of --csv"
        raise InvalidParameter("--plot", figure, rule, "name two files")
    return table, figure


def apply_style(arguments: argparse.Namespace) -> None:
    """Use --style and --no-caption for all figures.

    Raises:
        InvalidParameter: the style is unknown.
    """
    from numeric.plotting.style import choose_styles  # slow import

    styles = [] if arguments.style is None else [arguments.style]
    choose_styles(*styles, captions=not arguments.no_caption)


def run_or_return_partial(study: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a study, or its partial result if it is interrupted.

    Args:
        study: the function to call.
        *arguments: its arguments.

    Raises:
        KeyboardInterrupt: the partial result is empty.
    """
    try:
        return study(*arguments)
    except Interrupted as interrupt:
        if not interrupt.finished:
            raise
        return interrupt.finished


def with_kinks(
    points: Sequence[T],
    coordinates: Callable[[T], tuple[float, ...]],
    between: Callable[[T, T, float], T],
) -> list[T]:
    """Return the points of a figure, with more of them at kinks.

    See `numeric.plotting.kinks.refine_kinks`. After an interrupt no points are added.

    Args:
        points: computed points.
        coordinates: returns the plotted coordinates of a point.
        between: returns a point between two others, at a given first coordinate.
    """
    from numeric.plotting.kinks import refine_kinks  # slow import

    if interrupts.interrupted():
        return list(points)
    try:
        watch = partial(progress, desc="kinks of the figure, at most")
        return refine_kinks(points, coordinates, between, watch)
    except KeyboardInterrupt:
        interrupts.mark_handled()
        return list(points)


def write_table(
    path: Path, points: Sequence[Mapping[str, Any]], parameters: Mapping[str, object]
) -> None:
    """Write points as comma-separated values.

    The columns are the values of the points, the error bars in their entry "errors" under the
    names of the Dataset of a sweep, and on every row the parameters, whether the command was
    interrupted, version, commit and command. Tables can thus be concatenated.

    Args:
        path: the file.
        points: rows with the same keys.
        parameters: parameters by name; those that are also columns of points are left out.

    Raises:
        NotWritten: the file cannot be written.
    """
    from numeric.problem.solution import ERROR_BAR  # slow import

    names = [name for name in points[0] if name != "errors"]
    errors = [point.get("errors", {}) for point in points]
    with_bars = [name for name in names if any(name in bars for bars in errors)]
    common = {name: value for name, value in parameters.items() if name not in names}
    common |= {**provenance.interrupted_entry(), **provenance.current().columns()}
    constants = [
        ",".join(map(str, value)) if isinstance(value, list) else value for value in common.values()
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, *(f"{name}{ERROR_BAR}" for name in with_bars), *common])
    for point, bars in zip(points, errors, strict=True):
        values = [*map(point.__getitem__, names), *map(bars.get, with_bars)]
        writer.writerow([*values, *constants])
    write_atomically(path, text.getvalue().encode())


@contextmanager
def print_at_end(
    arguments: argparse.Namespace, document: Mapping[str, object], show: Callable[[], None]
) -> Iterator[None]:
    """Print the result after files are written within, also if they cannot be written.

    Args:
        arguments: options of the command.
        document: printed if --json is given.
        show: prints the result otherwise.
    """
    try:
        yield
    except OSError as error:
        error.add_note("the results are printed")
        raise
    finally:
        if arguments.json:
            sys.stdout.write(document_text(document))
        else:
            show()


def save(figure: Any, path: Path, document: Mapping[str, object]) -> None:
    """Write a figure, and its data as JSON next to it.

    Args:
        figure: a matplotlib figure.
        path: the file; its suffix is the format.
        document: the data.

    Raises:
        NotWritten: a file cannot be written.
    """
    buffer, suffix = io.BytesIO(), path.suffix.lstrip(".")
    parameters = cast(Mapping[str, object], document.get("parameters", {}))
    metadata = provenance.current().figure_metadata(suffix, parameters)
    figure.savefig(buffer, format=suffix, metadata=metadata)
    write_atomically(path, buffer.getvalue())
    write_atomically(figure_data_path(path), document_text(document).encode())
    _LOG.info("%s: its data are in %s", path, figure_data_path(path))


def figure_data_path(figure: Path) -> Path:
    """Return the path of the data of a figure."""
    return figure.with_suffix(".json")


def warn_of_values(solutions: Sequence[Any]) -> None:
    """Log warnings about solutions along alpha at the default accuracy."""
    warn_of_statuses(solutions)
    warn_inexact(solutions)


def warn_of_statuses(
    solutions: Sequence[Any], name: str = "alpha", values: Sequence[float] = ()
) -> None:
    """Log one line if replica symmetry is broken somewhere, one if nothing is learned somewhere.

    Args:
        solutions: solutions along a parameter.
        name: name of the parameter.
        values: its values, by default those of alpha.
    """
    from numeric.problem.solution import Status

    along = values or [solution.problem.alpha for solution in solutions]
    for status in (Status.UNSTABLE, Status.UNLEARNED):
        if places := [
            value
            for value, solution in zip(along, solutions, strict=True)
            if solution.status is status
        ]:
            shown = format_ranges(places, along)
            _LOG.warning("%s (%s = %s): %s", counted(places), name, shown, status.value)


def warn_inexact(
    solutions: Sequence[Any],
    accuracy: float | None = None,
    where: str = " in python -m numeric curve",
) -> None:
    """Log one line if errors of solutions exceed the requested accuracy.

    Args:
        solutions: the solutions.
        accuracy: requested relative error; None for the default.
        where: end of the line, the command that has the option --accuracy.
    """
    from numeric.channel.rules import default_accuracy
    from numeric.problem.solution import QUANTITIES

    def goal(solution: Any) -> float:
        return accuracy or default_accuracy(solution.problem) or math.inf

    inexact = [one for one in solutions if one.trusted and one.error_estimate > goal(one)]
    if inexact:
        worst = max(inexact, key=lambda one: one.error_estimate)
        name = max(QUANTITIES, key=lambda name: worst.relative_error((name,)))
        hint = (
            "no finer rule is tried"
            if accuracy
            else f"a smaller --accuracy takes longer and comes closer{where}"
        )
        errors = f"relative errors of up to {worst.error_estimate:.1e} ({name})"
        limit = f"more than {goal(inexact[0]):.0e}"
        _LOG.warning("%s with %s, %s; %s", counted(inexact), errors, limit, hint)


def counted(points: Sequence[object]) -> str:
    """Return the number of points in words."""
    return "1 point" if len(points) == 1 else f"{len(points)} points"


def print_unsolved(
    solutions: Sequence[Any], name: str = "alpha", values: Sequence[float] = ()
) -> int:
    """Log one line for each point that was not solved, and return the exit code.

    Args:
        solutions: solutions along a parameter.
        name: name of the parameter.
        values: its values, by default those of alpha.
    """
    along = values or [solution.problem.alpha for solution in solutions]
    for value, solution in zip(along, solutions, strict=True):
        if not solution.trusted:
            _LOG.error("%s = %g: %s", name, value, solution.advice)
    return 0 if all(solution.trusted for solution in solutions) else 1
