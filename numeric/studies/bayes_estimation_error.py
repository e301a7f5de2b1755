"""Bayes-optimal estimation error for the same data (theory note, section 5; generated step
`bayes`).
"""

import numpy as np
import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.law import Target, edge_grid
from numeric.maths.domain import OutsideDomain
from numeric.model import structure
from numeric.problem.problem import Problem, require_problem

# Nodes per bulk; the cube of a square-root edge is so smooth that the relative error is 1e-9.
_POINTS = 2000
# Bracket of v / second moment; outside, float64 cannot resolve the equation.
_BRACKET = (1e-14, 1e6)


def cubed_density(v: float, target: Target) -> float:
    """Return the integral of the cubed density of the noisy law mu_v (1/eigenvalue^2).

    Args:
        v: variance of the semicircle, eigenvalue^2.
        target: law of the target.
    """
    total = 0.0
    for low, high in target.support(v):
        x, weights = edge_grid(low, high, _POINTS)
        total += float(np.sum(weights * target.density(v, x) ** 3))
    return total


def require_bayes(model: str) -> None:
    """Check that a model has a Bayes optimum.

    Raises:
        InvalidParameter: it has none.
    """
    if reason := structure(model).missing_thresholds.get("bayes"):
        raise InvalidParameter("model", model, f"has no Bayes optimum: {reason}", "choose another")


def bayes_error(problem: Problem) -> float:
    """Return the smallest possible estimation error E|S - S0|^2/d (eigenvalue^2).

    It does not depend on the inverse temperature of the labels: the noise is inside the softmax,
    which is invertible.

    Args:
        problem: the problem; its weight decay, width and inverse temperatures are not used.

    Raises:
        InvalidParameter: the model has no Bayes optimum.
        OutsideDomain: the result is beyond double precision.
    """
    require_problem(problem)
    require_bayes(problem.model)
    problem.require_isotropic("the Bayes optimum")
    alpha, target, noise = problem.alpha, problem.target, problem.noise
    generated, numbers = problem.generated, problem.label_numbers

    def excess(log_v: float) -> float:
        v = np.exp(log_v)
        ratio = generated.bayes_sample_ratio(v, cubed_density(v, target), noise, numbers)
        return float(ratio) - alpha

    low, high = (np.log(end * target.q0) for end in _BRACKET)
    if excess(low) <= 0:
        if noise > 0:
            raise OutsideDomain(f"alpha = {alpha:g}: the optimal error is below double precision")
        return 0.0  # beyond Bayes-optimal recovery
    if excess(high) >= 0:
        raise OutsideDomain(f"alpha = {alpha:g}: too few samples for double precision")
    v = float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-12)))
    return float(generated.bayes_error(v, cubed_density(v, target)))
