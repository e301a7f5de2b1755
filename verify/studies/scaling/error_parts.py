"""Parts of the error of trained maps, run by run, compared with the theory (theory note, section
7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from numeric.model import float64 as generated
from numeric.prediction.prediction import best_prediction, prediction_of
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.studies.decompose import distance_parts
from verify.core.measure import RunResult
from verify.core.scores import BAND, normal_score

ERROR_PARTS = ("overfitting", "underfitting", "approximation", "mismatch")
#: Least uncertainty of a share: the number of eigenvectors that represent features is an integer,
#: and a run may have one more or less than the theory.
RESOLUTION = 0.01


@dataclass(frozen=True)
class ErrorParts:
    """Shares of the test error above that of the best possible predictor.

    Attributes:
        trained: shares of each run, shape (runs, parts), in the order of ERROR_PARTS.
        theory: shape (parts,); NaN without a solution.
    """

    trained: np.ndarray
    theory: np.ndarray

    @property
    def means(self) -> list[float]:
        """Return the means over runs."""
        return [float(share) for share in self.trained.mean(axis=0)]

    @property
    def scores(self) -> list[float]:
        """Return trained minus theory in standard errors, which are at least RESOLUTION."""
        runs = len(self.trained)
        if runs < 2 or not np.isfinite(self.theory).all():
            return [math.nan] * len(ERROR_PARTS)
        errors = np.maximum(self.trained.std(axis=0, ddof=1) / math.sqrt(runs), RESOLUTION)
        return [
            normal_score(float(z), runs - 1)
            for z in (self.trained.mean(axis=0) - self.theory) / errors
        ]

    @property
    def agrees(self) -> bool:
        """Return whether no part differs by more than chance; also where there is nothing to
        compare.
        """
        return all(math.isnan(z) or abs(z) < BAND for z in self.scores)


@dataclass(frozen=True)
class Limits:
    """Limit of infinitely many samples: the best multiple c* of the target, and the excess of c* S0
    over the least test error.
    """

    c_star: float
    mismatch: float


def limits_of(problem: Problem) -> Limits:
    """Return the limits of the parts for Gaussian indices; both vanish without label noise.

    Raises OutsideDomain if an average is not resolved.
    """
    c_star = prediction_of(problem).best_multiple().c
    return Limits(c_star, best_prediction(problem).mismatch(c_star))


def error_parts(
    results: Sequence[RunResult], learned: float, limits: Limits, solution: Solution, excess: float
) -> ErrorParts:
    """Return the parts of the excess test error of runs of one setting, with those of the theory.

    Args:
        results: runs.
        learned: number of first eigenvectors of S that represent features; the last one may count
            partly, as in the theory.
        limits: limits of the parts.
        solution: solution of the theory.
        excess: excess test error of each run.
    """
    trained = [
        _shares(trained_parts(result, learned, limits.c_star), result.excess_error, limits)
        for result in results
    ]
    theory = np.full(len(ERROR_PARTS), math.nan)
    if solution.trusted:
        found = distance_parts(solution, limits.c_star)
        theory = _shares(np.array(found[:3]) / found.distance, excess, limits)
    return ErrorParts(np.array(trained), theory)


def trained_parts(result: RunResult, learned: float, c_star: float) -> np.ndarray:
    """Return the shares of overfitting, underfitting and approximation in the distance of a trained
    map from c* S0, shape (3,).

    Args:
        result: the run.
        learned: number of learned features.
        c_star: best multiple of the target.
    """
    spectra, dim = (result.singular_values, result.run.target_eigenvalues()), result.run.dim
    ranks = np.arange(dim + 1)
    q_top, q0_top = (
        np.interp(learned, ranks, np.concatenate([[0.0], np.cumsum(np.square(x))]) / dim)
        for x in spectra
    )
    gain = (
        float(np.interp(learned, ranks, result.hidden)) / (result.q0 - q0_top)
        if learned < dim
        else 0.0
    )
    *parts, distance = generated.decomposition(
        result.m, result.q, result.q0, q_top, q0_top, gain, c_star
    )
    return np.array([float(part) / float(distance) for part in parts])


def _shares(parts: np.ndarray, excess: float, limits: Limits) -> np.ndarray:
    """Return shares of the whole error: the distance makes up the excess, the mismatch the rest."""
    return np.append(parts * excess, limits.mismatch) / (excess + limits.mismatch)
