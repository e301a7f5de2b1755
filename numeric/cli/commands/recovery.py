"""Command `python -m numeric recovery`: recovery thresholds of learning and of the optimum."""

import argparse
import logging
import time
from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import progress
from numeric.cli.arguments import exact_text, grid, integer
from numeric.cli.model_arguments import add_model_name, chosen_model
from numeric.cli.output import add_outputs, deliver, outputs, run_or_return_partial

_LOG = logging.getLogger(__name__)

DRAWN = 40  # points of a line, besides those asked for: it bends


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "recovery",
        help="recovery thresholds along kappa0, learned and Bayes-optimal",
        description="Compute the number of samples over d^2 from which noiseless training recovers the target, for every "
        "combination of rank ratio, width and number of tokens, in ball arithmetic. Prints a row a "
        "combination: the threshold of learning, that of the Bayes optimum, their ratio. Widths below the "
        "rank ratio are left out, and counted on stderr.",
        epilog="example: python -m numeric recovery --kappa0 0.02:1:30 --width 1,3/4 --tokens 2,3,4 --plot recovery.png",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--kappa0",
        type=grid("--kappa0"),
        required=True,
        metavar="GRID",
        help="rank ratios of the target, a list or grid",
    )
    parser.add_argument(
        "--width",
        type=grid("--width"),
        default="1",
        metavar="GRID",
        help="width ratios (default 1)",
    )
    parser.add_argument(
        "--tokens",
        type=lambda text: tuple(
            integer("--tokens", 2, 10**6, "e.g. 2,3,4")(part) for part in text.split(",")
        ),
        default="2",
        metavar="LIST",
        help="numbers of tokens (default 2)",
    )
    add_model_name(parser)
    add_outputs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print recovery thresholds of learning and of the optimum."""
    outputs(arguments)  # refused before any work
    started = time.perf_counter()
    least = min(min(arguments.kappa0), Fraction(1))
    if too_narrow := [width for width in arguments.width if width < least]:
        raise InvalidParameter(
            "--width",
            too_narrow[0],
            f"is below every rank ratio of --kappa0 (least {least})",
            "widen the student",
        )
    from numeric.studies.recovery_table import recovery_table

    kappa0s, widths, tokens = (
        tuple(dict.fromkeys(values))
        for values in (arguments.kappa0, arguments.width, arguments.tokens)
    )
    model = chosen_model(arguments)
    found = run_or_return_partial(
        recovery_table,
        kappa0s,
        widths,
        tokens,
        model,
        lambda values: progress(values, desc="thresholds"),
    )
    if left_out := len(tokens) * sum(
        width < min(kappa0, 1) for width in widths for kappa0 in kappa0s
    ):
        _LOG.warning(
            "%d combinations left out: the width is below the target's rank ratio", left_out
        )
    drawn = [*found, *_between(kappa0s, widths, tokens, model)] if arguments.plot else found
    rows = [_row(row) for row in found]
    deliver(
        arguments,
        rows,
        lambda plotting: plotting.recovery_figure(drawn, model=model),
        lambda: {
            "parameters": {"model": model},
            "rows": rows,
            "seconds": time.perf_counter() - started,
        },
        {"rows": [_row(row) for row in drawn]},
    )
    return 0


def _between(kappa0s, widths, tokens, model):  # type: ignore[no-untyped-def]
    """Points of a smooth figure whatever the grid, to where a line ends with a kink, as the rank reaches the width."""
    from numeric.studies.recovery_table import recovery_table

    least, most = min(kappa0s), max(kappa0s)
    places = {least + (most - least) * Fraction(k, DRAWN) for k in range(DRAWN)}
    ends = {width for width in widths if least < width < most and width < 1}
    return recovery_table(sorted((places | ends) - {*kappa0s}), widths, tokens, model)


def _row(row) -> dict[str, object]:  # type: ignore[no-untyped-def]
    return {
        "kappa0": exact_text(row.kappa0),
        "width": exact_text(row.width),
        "tokens": row.tokens,
        "recovery": row.recovery,
        "bayes": row.bayes,
        "ratio": row.ratio,
    }
