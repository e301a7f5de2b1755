"""Command `recovery`: recovery thresholds of learning and of the Bayes optimum."""

import argparse
import logging
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import progress
from numeric.cli.arguments import exact_text, grid, integer
from numeric.cli.command import Command, Result
from numeric.cli.model_arguments import add_model_name, chosen_model
from numeric.cli.output import add_outputs, run_or_return_partial

_LOG = logging.getLogger(__name__)

EXTRA_POINTS = 40  # additional points of a line in the figure


def _add_options(parser: argparse.ArgumentParser) -> None:
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
        type=lambda text: tuple(map(integer("--tokens", 2, 10**6, "e.g. 2,3,4"), text.split(","))),
        default="2",
        metavar="LIST",
        help="numbers of tokens (default 2)",
    )
    add_model_name(parser)
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    least = min(min(arguments.kappa0), Fraction(1))
    if too_narrow := [width for width in arguments.width if width < least]:
        rule = f"is below every rank ratio of --kappa0 (least {least})"
        raise InvalidParameter("--width", too_narrow[0], rule, "widen the student")
    from numeric.studies.recovery_table import recovery_table

    kappa0s, widths, tokens = (
        tuple(dict.fromkeys(values))
        for values in (arguments.kappa0, arguments.width, arguments.tokens)
    )
    model = chosen_model(arguments)
    watch = partial(progress, desc="thresholds")
    found = run_or_return_partial(recovery_table, kappa0s, widths, tokens, model, watch)
    if left_out := len(tokens) * sum(
        width < min(kappa0, 1) for width in widths for kappa0 in kappa0s
    ):
        _LOG.warning(
            "%d combinations left out: the width is below the rank ratio of the target", left_out
        )

    def draw(plotting: Any) -> tuple[Any, Mapping[str, object]]:
        more = recovery_table(extra_rank_ratios(kappa0s, widths), widths, tokens, model)
        drawn = [*found, *more]
        return plotting.recovery_figure(drawn, model=model), {"rows": list(map(_record, drawn))}

    rows = list(map(_record, found))
    return Result({"parameters": {"model": model}, "rows": rows}, rows, draw=draw)


def extra_rank_ratios(kappa0s: Sequence[Fraction], widths: Sequence[Fraction]) -> list[Fraction]:
    """Return rank ratios between those of the table, so that lines are smooth and end at the width.

    Args:
        kappa0s: rank ratios of the table.
        widths: widths of the student; below 1 a line ends where the rank ratio reaches the width.
    """
    low, high = min(kappa0s), max(kappa0s)
    extra = {low + (high - low) * Fraction(k, EXTRA_POINTS) for k in range(EXTRA_POINTS)}
    extra |= {width for width in widths if low < width < high and width < 1}
    return sorted(extra - {*kappa0s})


def _record(row: Any) -> dict[str, object]:
    return {
        "kappa0": exact_text(row.kappa0),
        "width": exact_text(row.width),
        "tokens": row.tokens,
        "recovery": row.recovery,
        "bayes": row.bayes,
        "ratio": row.ratio,
    }


COMMAND = Command(
    "recovery",
    help="recovery thresholds along kappa0, learned and Bayes-optimal",
    description="Compute the number of samples over d^2 from which noiseless training recovers the "
    "target, for every combination of rank ratio, width and number of tokens, in ball arithmetic. "
    "Prints one row per combination: the threshold of learning, the Bayes threshold, their "
    "ratio. Widths below the rank ratio are left out, and their number is reported on stderr.",
    example="python -m numeric recovery --kappa0 0.02:1:30 --width 1,3/4 --tokens 2,3,4 "
    "--plot recovery.png",
    add_options=_add_options,
    compute=_compute,
)
