"""What the error of trained maps is made of, run by run, compared with the theory (theory note,
section 7).
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
#: A share is known no better: which eigenvectors stand for features is a count, and a run may have
#: one more or less than the theory.
RESOLUTION = 0.01


@dataclass(frozen=True)
class ErrorParts:
    """Shares of the test error above that of the best possible predictor.

    `trained`: of each run, shape (runs, parts), in the order of ERROR_PARTS; `theory`: shape
    (parts,), not numbers without a solution.
    """

    trained: np.ndarray
    theory: np.ndarray

    @property
    def means(self) -> list[float]:
        """Return the means over runs."""
        return [float(share) for share in self.trained.mean(axis=0)]

    @property
    def scores(self) -> list[float]:
        """Trained against theory in standard errors, of which RESOLUTION is the least."""
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
        """Return whether no part is further off than chance; so where nothing can be said."""
        return all(math.isnan(z) or abs(z) < BAND for z in self.scores)


@dataclass(frozen=True)
class Limits:
    """What infinitely many samples leave: the best multiple c* of the target, and what c* S0 adds
    to the least test error.
    """

    c_star: float
    mismatch: float


def limits_of(problem: Problem) -> Limits:
    """Return the limits of the parts for Gaussian indices; without label noise there are none.

    Raises OutsideDomain where an average is not resolved.
    """
    c_star = prediction_of(problem).best_multiple().c
    return Limits(c_star, best_prediction(problem).mismatch(c_star))


def error_parts(
    results: Sequence[RunResult], learned: float, limits: Limits, solution: Solution, excess: float
) -> ErrorParts:
    """Return the parts of the excess test error of runs of one setting, with those of the
    theory.

    The `learned` first eigenvectors of S stand for features, the last of them in part, as in the
    theory.
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
    """Shares of overfitting, underfitting and approximation in the distance of a trained map from
    c* S0, shape (3,).
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
    """Return shares of the whole error: the distance contains the excess, the mismatch the rest."""
    return np.append(parts * excess, limits.mismatch) / (excess + limits.mismatch)
