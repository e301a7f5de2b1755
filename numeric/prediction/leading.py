"""Test errors where leading features are kept exactly: averages over sequences' own law of their indices (theory note, section 10).

Every map is judged on the same points, so that differences of test errors scatter far less than the errors themselves.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from numeric.channel.index import TokenIndex, token_index
from numeric.channel.points import Fields, Sampling, gaussians
from numeric.channel.rules import split
from numeric.laws.law import Array
from numeric.maths.domain import OutsideDomain
from numeric.prediction.best_multiple import FACTORS
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

SAMPLING = Sampling(1 << 15)  # excess errors of order .1 then scatter by 2e-3 of them
TOLERANCE = 1e-6  # of the logarithm of the best multiple: its error is then known to the square of that


def prediction_errors(overlaps: Overlaps, problem: Problem) -> Array:
    """E ||sigma_beta0(z) - sigma_beta(w)||^2 per sample of a student with these overlaps, shape (replicates,).

    Each point is taken with both signs of what only the student sees.
    """
    students, target = _indices(split(overlaps, problem).fields(), token_index(problem.tokens))
    labels = softmax(problem.beta0 * target, axis=-1)
    losses = [np.sum((softmax(problem.beta * one, axis=-1) - labels) ** 2, axis=(1, 2)) for one in students]
    return np.asarray(np.mean(losses, axis=0).reshape(SAMPLING.replicates, -1).mean(axis=1))


def best_multiple(problem: Problem) -> tuple[float, Array]:
    """The multiple c* of the target of least test error, and that error by replicates; weight decay and samples do not enter.

    Raises:
        OutsideDomain: the minimum is outside the range searched.
    """
    return _best_multiple(replace(problem, alpha=1.0, lambda_=1.0))


@lru_cache(maxsize=16)
def _best_multiple(problem: Problem) -> tuple[float, Array]:
    s, _ = problem.features

    def errors(c: float) -> Array:
        return prediction_errors(Overlaps(c * problem.q0, c**2 * problem.q0, 0.0, learned=tuple(c * s)), problem)

    low, high = np.log(FACTORS) + np.log(problem.beta0 / problem.beta)
    found = minimize_scalar(
        lambda log: float(errors(np.exp(log)).mean()),
        bounds=(low, high),
        method="bounded",
        options={"xatol": TOLERANCE},
    )
    if min(found.x - low, high - found.x) < 0.01:
        raise OutsideDomain(f"no best multiple of the target between {np.exp(low):g} and {np.exp(high):g}")
    c = float(np.exp(found.x))
    return c, errors(c)


def _indices(fields: Fields, index: TokenIndex) -> tuple[list[Array], Array]:
    """Indices of the student with either sign of gamma2, and of the target, at every point, each of shape (points, T, T)."""
    even, features, tokens = index.visible_symmetric, len(fields.target_features), len(index.scale)
    points = gaussians(2 * even + features * tokens, SAMPLING)
    gamma1, gamma2 = (points[:, k * even : (k + 1) * even] @ index.visible.T for k in (0, 1))
    z = points[:, 2 * even :].reshape(len(points), features, tokens)

    def at(gaussian: Array, shares: Array) -> Array:
        products = np.einsum("k,nka,nkb->nab", shares, z, z) - shares.sum() * np.eye(tokens)
        return index.scale * gaussian[:, index.component] + products

    seen, unseen = fields.teacher * gamma1, fields.independent * gamma2
    students = [at(seen + sign * unseen, fields.student_features) for sign in (1, -1)]
    return students, at(fields.target * gamma1, fields.target_features)
