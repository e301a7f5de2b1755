"""Test errors where leading features are kept exactly: averages over sequences' own law of their indices (theory note, section 10).

Every map is judged on the same points, so that differences of test errors scatter far less than the errors themselves.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from numeric.averages import fields_of
from numeric.prior import Overlaps
from numeric.problem import Problem
from numeric.target_law import Array
from numeric.token_index import TokenIndex, token_index
from numeric.token_points import Fields, Sampling, gaussians

SAMPLING = Sampling(1 << 15)  # differences of errors then scatter by 2e-3 of them
FACTORS = (0.05, 2.0)  # of beta0/beta, between which the best multiple is sought
TOLERANCE = 1e-6  # of the best multiple: its error is then known to the square of that


def prediction_errors(overlaps: Overlaps, problem: Problem) -> Array:
    """E ||sigma_beta0(z) - sigma_beta(w)||^2 per sample of a student with these overlaps, shape (replicates,)."""
    fields, index = fields_of(overlaps, problem), token_index(problem.tokens)
    student, target = _indices(fields, index)
    gap = softmax(problem.beta * student, axis=-1) - softmax(problem.beta0 * target, axis=-1)
    return np.asarray(np.sum(gap**2, axis=(1, 2)).reshape(SAMPLING.replicates, -1).mean(axis=1))


def best_multiple(problem: Problem) -> tuple[float, Array]:
    """The multiple c* of the target of least test error, and that error by replicates; weight decay and samples do not enter."""
    return _best_multiple(replace(problem, alpha=1.0, lambda_=1.0))


@lru_cache(maxsize=16)
def _best_multiple(problem: Problem) -> tuple[float, Array]:
    s, _ = problem.features

    def errors(c: float) -> Array:
        return prediction_errors(Overlaps(c * problem.q0, c**2 * problem.q0, 0.0, learned=tuple(c * s)), problem)

    unit = problem.beta0 / problem.beta
    found = minimize_scalar(
        lambda c: float(errors(c).mean()), bounds=[factor * unit for factor in FACTORS], method="bounded",
        options={"xatol": TOLERANCE},
    )  # fmt: skip
    return float(found.x), errors(float(found.x))


def _indices(fields: Fields, index: TokenIndex) -> tuple[Array, Array]:
    """Indices of student and target at every point, shape (points, T, T)."""
    even, features, tokens = index.visible_symmetric, len(fields.target_features), len(index.scale)
    points = gaussians(2 * even + features * tokens, SAMPLING)
    gamma1, gamma2 = (points[:, k * even : (k + 1) * even] @ index.visible.T for k in (0, 1))
    z = points[:, 2 * even :].reshape(len(points), features, tokens)
    gaussian = (fields.teacher * gamma1 + fields.independent * gamma2, fields.target * gamma1)
    student, target = (
        index.scale * field[:, index.component]
        + np.einsum("k,nka,nkb->nab", shares, z, z)
        - shares.sum() * np.eye(tokens)
        for field, shares in zip(gaussian, (fields.student_features, fields.target_features), strict=True)
    )
    return student, target
