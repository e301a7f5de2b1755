"""Overlaps along the directions of a visible index, and derivatives of its averaged envelope.

The directions are axes in which the fields of a sample are independent. All have the same overlaps
per unit if tokens are Gaussian. Otherwise the scores of a token with itself vary less, and a
direction has less overlap by their share in it (theory note, section 13; step `token_norms`).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as physics
from numeric.model import structure
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

Array = NDArray[np.float64]
#: Largest overlap whose square is finite: an iteration that diverges exceeds it.
MAX_OVERLAP = 1e150
UNLEARNED = Overlaps(0.0, 0.0, 0.0)  #: order parameters of S = 0


class AxisOverlaps(NamedTuple):
    """Overlaps per unit along each direction, shape (axes,).

    Attributes:
        m: overlap with the target, eigenvalue^2.
        q: second moment of the student, eigenvalue^2.
        rho: second moment of the target with its label noise, eigenvalue^2.
        shares: shares of the scores of a token with itself.
    """

    m: Array
    q: Array
    rho: Array
    shares: Array

    @property
    def fields(self) -> Fields:
        """Fields of a sample along each direction."""
        return Fields.of(self.m, self.q, self.rho)


def axis_overlaps(
    overlaps: Overlaps, problem: Problem, shares: Array, rho: float | None = None
) -> AxisOverlaps:
    """Return the overlaps along each direction.

    Args:
        overlaps: order parameters of the student.
        problem: defines the target and the norms of the tokens.
        shares: shares of the scores of a token with itself, shape (axes,).
        rho: second moment of the target, by default that of the problem.

    Raises:
        OutsideDomain: no student has these overlaps.
    """
    m, q, V, t = overlaps.m, overlaps.q, overlaps.V, overlaps.t
    rho = problem.rho if rho is None else rho
    axes = _along(overlaps, problem, shares, rho)
    valid = V < MAX_OVERLAP and np.all(np.abs(axes.m) < MAX_OVERLAP) and np.all(axes.rho > 0)
    if not (valid and V > 0 and np.all(axes.q - axes.m**2 / axes.rho > 0)):
        rule = f"need 0 < V < {MAX_OVERLAP:g} and q > m^2/rho"
        raise OutsideDomain(f"{rule}, got m = {m!r}, q = {q!r}, V = {V!r}, rho = {rho!r}, t = {t}")
    return axes


def unlearned_rho(problem: Problem, shares: Array, rho: float | None = None) -> Array:
    """Return the second moment of the noisy target along each direction, eigenvalue^2.

    Args:
        problem: defines the target and the norms of the tokens.
        shares: shares of the scores of a token with itself, shape (axes,).
        rho: second moment of the target, by default that of the problem.
    """
    return _along(UNLEARNED, problem, shares, problem.rho if rho is None else rho).rho


def _along(overlaps: Overlaps, problem: Problem, shares: Array, rho: float) -> AxisOverlaps:
    """Return the overlaps along each direction, without a check."""
    m, q, t = overlaps.m, overlaps.q, overlaps.t
    found = m, q, rho
    if problem.has_norms:
        found = physics.axis_overlaps(
            *(m, q, rho, t, problem.norm_overlap, problem.norm_deficit, shares)
        )
    of_m, of_q, of_rho = (np.asarray(value + np.zeros(len(shares))) for value in found)
    return AxisOverlaps(of_m, of_q, of_rho, shares)


def own_shares(model: str) -> Array:
    """Return the shares of scores of a token with itself, in these scores and in those of pairs.

    Args:
        model: name of a model that has such scores.
    """
    own, *_ = structure(model).index_variances
    return np.array([1 / own, 0.0])


class AxisProducts(NamedTuple):
    """Mean products of the dual field and the Gaussians of the fields, shape (axes, ...).

    Attributes:
        axes: overlaps along the directions.
        F1: dual field times the Gaussian that the label sees.
        F2: dual field times the Gaussian that only the student sees.
    """

    axes: AxisOverlaps
    F1: Array
    F2: Array


def envelope_derivatives(
    problem: Problem,
    overlaps: Overlaps,
    products: Iterable[AxisProducts],
    train: Array | float,
    R: Array | float,
) -> tuple[Array, ...]:
    """Return M and its derivatives in m, q, V and t.

    Args:
        problem: defines the target and the norms of the tokens.
        overlaps: order parameters of the student.
        products: mean products along groups of directions.
        train: mean loss at the minimiser.
        R: mean elastic energy, index^2.
    """
    V, nothing = overlaps.V, np.zeros_like(np.asarray(train, dtype=float))
    M, _, _, dM_dV = physics.channel_derivatives(
        overlaps.m, overlaps.q, V, problem.rho, train, R, 0.0, 0.0
    )
    total = [nothing, nothing, nothing]
    for axes, F1, F2 in products:
        m, q, rho, shares = (np.reshape(one, (-1, *[1] * (np.ndim(F1) - 1))) for one in axes)
        _, dM_dm, dM_dq, _ = physics.channel_derivatives(m, q, V, rho, 0.0, 0.0, F1, F2)
        parts = dM_dm, dM_dq, _norm_slope(problem, overlaps, dM_dm, dM_dq, shares)
        total = [whole + np.sum(part, axis=0) for whole, part in zip(total, parts, strict=True)]
    return M, total[0], total[1], dM_dV, total[2]


def unlearned_derivatives(
    problem: Problem,
    products: Iterable[tuple[Array, Array, Array]],
    loss: Array | float,
    R: Array | float,
    curvature: Array | float,
) -> tuple[Array, ...]:
    """Return M and its derivatives in m, q, V and t at S = 0.

    Args:
        problem: defines the target and the norms of the tokens.
        products: second moment of the target, shares, and mean products of the slope of the loss
            and minus the Gaussian that the label sees, for groups of directions.
        loss: mean loss.
        R: mean square of its slope.
        curvature: mean trace of its curvature.
    """
    M, _, dM_dq, dM_dV = physics.unlearned_derivatives(problem.rho, loss, R, 0.0, curvature)
    dM_dm = dM_dt = np.zeros_like(np.asarray(loss, dtype=float))
    for rho, shares, F1 in products:
        rho, shares = (np.reshape(one, (-1, *[1] * (np.ndim(F1) - 1))) for one in (rho, shares))
        _, along, _, _ = physics.unlearned_derivatives(rho, 0.0, 0.0, F1, 0.0)
        dM_dm = dM_dm + np.sum(along, axis=0)
        slope = _norm_slope(problem, UNLEARNED, along, 0.0, shares)
        dM_dt = dM_dt + np.sum(slope, axis=0)
    return M, dM_dm, dM_dq, dM_dV, dM_dt


def _norm_slope(
    problem: Problem, overlaps: Overlaps, dM_dm: Array, dM_dq: Array | float, shares: Array
) -> Array:
    """Return the part of dM/dt of each direction, 0 if tokens have Gaussian norms."""
    if not problem.has_norms:
        return np.zeros_like(dM_dm)
    t0, deficit = problem.norm_overlap, problem.norm_deficit
    return np.asarray(physics.axis_slope(dM_dm, dM_dq, overlaps.t, t0, deficit, shares))
