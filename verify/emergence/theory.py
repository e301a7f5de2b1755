"""Theory of features along the number of samples: their overlaps, and where each leaves the bulk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numeric.maths.domain import NoAnswer
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.studies.scaling import power_law_of, scaling_curve
from numeric.studies.sequential_recovery import FeatureOverlaps, feature_overlaps, sequential_recovery


class Leaves(NamedTuple):
    """Theory of one feature: it leaves the bulk at `samples`, where its squared overlap has the value `level`."""

    samples: float
    level: float


@dataclass(frozen=True)
class EmergenceTheory:
    """Solutions at numbers of samples where there are any, and when each feature leaves the bulk, None where not between these."""

    samples: tuple[int, ...]
    solutions: tuple[Solution, ...]
    leaves: tuple[Leaves | None, ...]


def emergence_theory(problem: Problem, samples: tuple[int, ...], count: int) -> EmergenceTheory:
    """The theory at these numbers of samples, and where each of the first `count` features leaves the bulk.

    Raises NoAnswer where none of the points is solved.
    """
    points = [point for point in scaling_curve(problem, [float(n) for n in samples]) if point.solution.trusted]
    if not points:
        raise NoAnswer(f"no point of the theory is solved at d = {power_law_of(problem).dim}; train at more samples")
    return EmergenceTheory(
        tuple(round(point.samples) for point in points),
        tuple(point.solution for point in points),
        tuple(
            None if one.after is None or one.before is None else _leaves(problem, one.feature, one.after, one.before)
            for one in sequential_recovery(problem, points, range(1, count + 1))
        ),
    )


def _leaves(problem: Problem, feature: int, after: float, before: float) -> Leaves | None:
    samples = math.sqrt(after * before)
    (point,) = scaling_curve(problem, [samples])
    if not point.solution.trusted:
        return None
    return Leaves(samples, float(feature_overlaps(point.solution, feature).aligned[-1]))


def overlap_line(problem: Problem, samples: tuple[float, ...], count: int) -> tuple[np.ndarray, FeatureOverlaps]:
    """Numbers of samples where the theory is solved, and overlaps there, arrays of shape (samples, count)."""
    points = [point for point in scaling_curve(problem, samples) if point.solution.trusted]
    held, aligned = zip(*(feature_overlaps(point.solution, count) for point in points), strict=True)
    return np.array([point.samples for point in points]), FeatureOverlaps(np.array(held), np.array(aligned))
