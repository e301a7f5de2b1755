"""Test error of any student that knows (m, q) of the target, and the least possible one (theory note, sections 3 and 7).

At two tokens the visible indices (u1, u2) are exchangeable and the loss is a sum over them, so the average needs one component of
each pair only: twice its own share, which the generated loss gives at u2 = u1, p2 = p1. For more tokens see numeric.prediction.row.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from numeric.channel.points import Fields
from numeric.laws.law import Array
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.prediction import row as row_average

_REACH = 9.0  # standard deviations: a mass of 2e-19 is left out
_NODES = (160, 240, 360, 540, 810)  # trapezoidal rules per Gaussian: exponentially accurate for analytic integrands
_ACCURACY = 1e-10  # change of the average from one rule to the next


def prediction_error(m: float, q: float, rho: float, beta: float, beta0: float, tokens: int) -> tuple[float, float]:
    """E ||sigma_beta0(z) - sigma_beta(w)||^2 per sample over the fields (w, z) of overlaps m, q and rho (eigenvalue^2); its error.

    Raises:
        OutsideDomain: m^2 > q rho beyond rounding, or inverse temperatures too large for the quadrature.
    """
    if not m**2 <= q * rho * (1 + 1e-12):
        raise OutsideDomain(f"m = {m}, q = {q}, rho = {rho}: need m^2 <= q rho")
    # Where the student is a multiple of the noise-free target the two differ by rounding.
    fields = Fields.of(m, max(q, m**2 / rho), rho)
    if tokens > 2:
        return row_average.prediction_error(fields, beta, beta0, tokens)
    scale = _component()

    def average(nodes: int) -> float:
        x, weights = _gauss(nodes)
        z, w = fields.target * scale * x, scale * (fields.teacher * x[:, None] + fields.independent * x)
        p = generated.label(z, beta0)[:, None]
        return float(weights @ generated.sample_loss(w, w, p, p, beta) @ weights)

    return _settled(average), _ACCURACY


def multiple_slope(c: float, q0: float, rho: float, beta: float, beta0: float, tokens: int) -> float:
    """Derivative in c of the test error of c S0, unit loss.

    Raises:
        OutsideDomain: inverse temperatures too large for the quadrature.
    """
    fields, scale = Fields.of(q0, q0, rho), _component()
    if tokens > 2:
        return row_average.multiple_slope(c, fields, beta, beta0, tokens)

    def average(nodes: int) -> float:
        x, weights = _gauss(nodes)
        z, h0 = fields.target * scale * x, scale * (fields.teacher * x[:, None] + fields.independent * x)
        p = generated.label(z, beta0)[:, None]
        slope, _ = generated.loss_gradient(c * h0, c * h0, p, p, beta)
        return float(weights @ (2 * slope * h0) @ weights)  # the same from either component

    return _settled(average)


def least_test_error(q0: float, noise: float, beta0: float, tokens: int) -> float:
    """E ||y - E[y | X]||^2 per sample: what the label noise leaves to any predictor; zero without noise inside the softmax.

    Raises:
        OutsideDomain: beta0 too large for the quadrature.
    """
    if tokens > 2:
        return row_average.least_test_error(q0, noise, beta0, tokens)
    signal, noisy = np.sqrt(q0), np.sqrt(generated.noisy_variance(q0, noise) - q0)
    scale = _component()

    def average(nodes: int) -> float:
        x, weights = _gauss(nodes)
        p = generated.label(scale * (signal * x[:, None] + noisy * x), beta0)
        mean = p @ weights
        # The loss is quadratic in the label: its mean less its value at the mean is a variance, whatever the prediction.
        spread = generated.sample_loss(0.0, 0.0, p, p, beta0) @ weights
        return float(weights @ (spread - generated.sample_loss(0.0, 0.0, mean, mean, beta0)))

    return _settled(average)


def mismatch(c: float, q0: float, noise: float, beta: float, beta0: float, tokens: int) -> float:
    """E ||sigma_beta(c h0) - E[y | X]||^2 per sample: what c S0 adds to the least test error.

    Raises:
        OutsideDomain: inverse temperatures too large for the quadrature.
    """
    if tokens > 2:
        return row_average.mismatch(c, q0, noise, beta, beta0, tokens)
    rho = float(generated.noisy_variance(q0, noise))
    error, _ = prediction_error(c * q0, c**2 * q0, rho, beta, beta0, tokens)
    return error - least_test_error(q0, noise, beta0, tokens)


def _settled(average: Callable[[int], float]) -> float:
    """The average by the first rule that the one before it agrees with."""
    before = average(_NODES[0])
    for nodes in _NODES[1:]:
        value = average(nodes)
        if abs(value - before) <= _ACCURACY:
            return value
        before = value
    raise OutsideDomain("test error not resolved by the finest rule: lower beta, beta0 or the overlaps")


@lru_cache(maxsize=8)
def _gauss(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights of a standard Gaussian."""
    x = np.linspace(-_REACH, _REACH, nodes)
    weights = np.exp(-(x**2) / 2)
    return x, weights / weights.sum()


def _component() -> float:
    """Standard deviation per unit of one visible index."""
    L11, L12, _, _ = generated.principal_axes()
    return float(np.hypot(L11, L12))
