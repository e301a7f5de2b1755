"""Theory of features along the number of samples: overlaps, and n at which each leaves the bulk."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.studies.scaling import power_law_of, scaling_curve
from numeric.studies.sequential_recovery import (
    FeatureOverlaps,
    feature_overlaps,
    sequential_recovery,
)

LOCATED = 5e-3  #: tolerance of log(n_k), a fifth of the half-width of its interval from 8 runs
_BEYOND = 2.0  #: extension of lines beyond the samples trained, as a factor
#: points of a line per factor 2 of n, with Gaussian indices and with exact leading features
_PER_OCTAVE, _PER_OCTAVE_LEADING = (16, 5)


@dataclass(frozen=True)
class EmergenceTheory:
    """Theory at one size.

    Attributes:
        samples: numbers n of samples of the trained heads at which the theory has a solution.
        solutions: solution at each of them.
        transitions: n at which each feature leaves the bulk, None if outside the line.
        line_samples: n along the line, beyond those trained, shape (points,).
        overlaps: overlaps along the line, shape (points, features).
    """

    samples: tuple[int, ...]
    solutions: tuple[Solution, ...]
    transitions: tuple[float | None, ...]
    line_samples: np.ndarray
    overlaps: FeatureOverlaps


def emergence_theory(problem: Problem, samples: tuple[int, ...], count: int) -> EmergenceTheory:
    """Solve the theory of the first features.

    Args:
        problem: problem at any alpha.
        samples: numbers of samples of the trained heads, increasing.
        count: number of features.

    Raises:
        NoAnswer: none of the points is solved.
    """
    line = set(theory_grid(problem, samples)) | set(map(float, samples))
    points = [point for point in scaling_curve(problem, sorted(line)) if point.solution.trusted]
    trained = {n: point.solution for point in points if (n := round(point.samples)) in samples}
    if not trained:
        raise NoAnswer(
            f"no point of the theory is solved at d = {power_law_of(problem).dim}; train at more "
            "samples"
        )
    recovered = sequential_recovery(problem, points, range(1, count + 1), LOCATED)
    held, aligned = zip(*(feature_overlaps(point.solution, count) for point in points), strict=True)
    return EmergenceTheory(
        tuple(trained),
        tuple(trained.values()),
        tuple(
            math.sqrt(one.after * one.before) if one.after and one.before else None
            for one in recovered
        ),
        np.array([point.samples for point in points]),
        FeatureOverlaps(np.array(held), np.array(aligned)),
    )


def theory_grid(problem: Problem, samples: tuple[int, ...]) -> list[float]:
    """Return the numbers of samples of the line; fewer with leading features, which take seconds.

    Args:
        problem: problem of the theory.
        samples: numbers of samples of the trained heads, increasing.
    """
    first, last = samples[0] / _BEYOND, samples[-1] * _BEYOND
    density = _PER_OCTAVE_LEADING if problem.leading else _PER_OCTAVE
    return [
        float(n) for n in np.geomspace(first, last, math.ceil(density * math.log2(last / first)))
    ]
