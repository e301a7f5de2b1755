"""The Bayes-optimal estimation error from the same labels, and what empirical risk minimisation pays against it.

Theory note, section 5; generated step `bayes`.
"""

import numpy as np
import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.law import Target, edge_grid
from numeric.maths.domain import OutsideDomain
from numeric.model import DEFAULT, call, functions, structure

_POINTS = 2000  # per bulk: the cube of a square-root edge is smooth enough for 1e-9 of the integral
_SEARCH = (
    1e-14,
    1e6,
)  # bracket of v over the second moment: beyond it float64 keeps no digit of the balance


def cubed_density(v: float, target: Target) -> float:
    """Integral of rho^3 over the noisy law of variance v (1/eigenvalue^2)."""
    total = 0.0
    for low, high in target.support(v):
        x, weights = edge_grid(low, high, _POINTS)
        total += float(np.sum(weights * target.density(v, x) ** 3))
    return total


def require_bayes(model: str) -> None:
    """Raises InvalidParameter for a model without a Bayes optimum."""
    if reason := structure(model).missing_thresholds.get("bayes"):
        raise InvalidParameter("model", model, f"has no Bayes optimum: {reason}", "choose another")


def bayes_error(
    alpha: float, target: Target, noise: float, tokens: int = 2, model: str = DEFAULT
) -> float:
    """Least estimation error E|S - S0|^2/d (eigenvalue^2) at sample ratio alpha = n/d^2 and label noise Delta.

    Labels of any finite inverse temperature serve alike: the noise is inside the softmax, which is invertible.

    Raises:
        ValueError: an argument outside its domain.
        InvalidParameter: a model without a Bayes optimum.
        OutsideDomain: the parameters are beyond double precision.
    """
    if not (alpha > 0 and noise >= 0 and tokens >= 2):
        raise ValueError(
            f"alpha = {alpha}, noise = {noise}, tokens = {tokens}: must be positive, not negative, at least 2"
        )
    require_bayes(model)
    generated, q0 = functions("float64", model), target.q0
    numbers = float(call(generated.label_numbers, (), {"T": tokens}))

    def excess(log_v: float) -> float:
        v = np.exp(log_v)
        return (
            float(generated.bayes_sample_ratio(v, cubed_density(v, target), noise, numbers)) - alpha
        )

    low, high = (np.log(end * q0) for end in _SEARCH)
    if excess(low) <= 0:
        if noise > 0:
            raise OutsideDomain(f"alpha = {alpha:g}: the optimal error is below double precision")
        return 0.0  # beyond Bayes-optimal recovery
    if excess(high) >= 0:
        raise OutsideDomain(f"alpha = {alpha:g}: too few samples for double precision")
    v = float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-12)))
    return float(generated.bayes_error(v, cubed_density(v, target)))
