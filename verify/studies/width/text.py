"""Text and JSON values of networks along their width."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from numeric.laws.power_law import PowerLaw
from numeric.maths.domain import finite
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from verify.core.text import BROKEN_SYMMETRY_LINE
from verify.core.versions import versions
from verify.studies.width.study import WidthPoint


def width_document(problem: Problem, points: Sequence[WidthPoint]) -> dict[str, Any]:
    """Return networks along their width as JSON values; slopes are null at the first width.

    Args:
        problem: the problem.
        points: points along the width.
    """
    names = (
        *(
            "hidden",
            "runs",
            "estimation_error",
            "estimation_deviation",
            "train_error",
            "train_deviation",
        ),
        *("slope", "slope_deviation", "slope_theory", "ratio", "z", "slope_z", "agrees"),
    )
    rows = [
        {
            **{name: finite(getattr(point, name)) for name in names},
            "theory": {
                name: getattr(point.solution, name) for name in ("estimation_error", "train_error")
            },
            "status": point.solution.status.name.lower(),
        }
        for point in points
    ]
    assert isinstance(problem.target, PowerLaw)
    return {
        "agrees": all(point.agrees for point in points),
        "parameters": {
            "model": problem.model,
            "gamma": problem.target.gamma,
            "dim": problem.target.dim,
            "alpha": problem.alpha,
            "lambda": problem.lambda_,
            "noise": problem.noise,
            "data": str(points[0].samples),
        },
        "points": rows,
        "versions": versions(),
    }


def width_lines(points: Sequence[WidthPoint]) -> Iterator[str]:
    """Yield a line for each width, and the number of widths that agree."""
    for point in points:
        slope = (
            f"; slope {point.slope:+.3f} +- {point.slope_deviation:.3f}, theory "
            f"{point.slope_theory:+.3f}, z {point.slope_z:+.1f}"
        )
        yield (
            f"m = {point.hidden}: error {point.estimation_error:.5f} +- "
            f"{point.estimation_deviation:.5f}, theory "
            f"{point.solution.estimation_error:.5f}, ratio {point.ratio:.3f}, z {point.z:+.1f}"
            f"{'' if math.isnan(point.slope) else slope}{'' if point.agrees else ' DISAGREES'}\n"
        )
    if broken := [
        str(point.hidden) for point in points if point.solution.status is Status.UNSTABLE
    ]:
        yield f"at m = {', '.join(broken)} {BROKEN_SYMMETRY_LINE}\n"
    yield f"{sum(point.agrees for point in points)} of {len(points)} widths agree\n"
