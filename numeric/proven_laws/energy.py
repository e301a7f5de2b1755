"""Spectral function of each class of matrices in ball arithmetic (theory note, section 4)."""

from typing import NamedTuple

from flint import arb

from numeric.maths.balls import Ball
from numeric.proven_laws.law import Law, over


class BallEnergy(NamedTuple):
    """J(v, b) with its derivatives, and the learned mass, which is half the second derivative
    in b.
    """

    J: Ball
    J_v: Ball
    J_b: Ball
    J_vv: Ball
    J_bv: Ball
    mass: Ball


def energy_of(law: Law, either_sign: bool, v: Ball, b: Ball) -> BallEnergy:
    """Return the spectral function: int (x - b)_+^2 of the noisy law, or int (|x| - b)_+^2 if
    eigenvalues of either sign are learned.

    Args:
        law: law of the target.
        either_sign: whether eigenvalues of either sign are learned.
        v: variance of the semicircle, eigenvalue^2.
        b: threshold, eigenvalue.

    Raises:
        Unresolved: v is not proven to be positive, or b is too close to an edge of the support.
    """
    top = BallEnergy(*(over(law, v, b).value(name) for name in BallEnergy._fields))
    if not either_sign:
        return top
    pairs = zip(top, energy_below(law, v, b), strict=True)
    return BallEnergy(*(above + below for above, below in pairs))


def energy_below(law: Law, v: Ball, b: Ball) -> BallEnergy:
    """Return the spectral function of the mirrored law, int (-x - b)_+^2: the whole law minus the
    part above -b.

    Args:
        law: law of the target.
        v: variance of the semicircle, eigenvalue^2.
        b: threshold, eigenvalue.

    Raises:
        Unresolved: v is not proven to be positive, or -b is too close to an edge of the support.
    """
    J, J_v, J_b, J_vv, J_bv, mass = (over(law, v, -b).value(name) for name in BallEnergy._fields)
    t0, q0 = law.moments()
    J, J_v, J_b, J_bv, mass = law.generated.complement(J, J_v, J_b, J_bv, mass, v, b, -t0, q0)
    return BallEnergy(J, J_v, J_b, law.generated.complement_curvature(J_vv), J_bv, mass)


def energy_above(law: Law, v: Ball, cut: Ball, b: Ball, width: Ball) -> BallEnergy:
    """Return the spectral function of the eigenvalues above `cut` only.

    Args:
        law: law of the target.
        v: variance of the semicircle, eigenvalue^2.
        cut: quantile of the noisy law above which its mass is `width`.
        b: threshold, eigenvalue.
        width: mass above `cut`, at most 1.

    Raises:
        Unresolved: v is not proven to be positive, or `cut` is too close to an edge of the support.
    """
    generated, point = law.generated, over(law, v, cut)
    J, J_v, J_b, J_vv, J_bv, _ = (point.value(name) for name in BallEnergy._fields)
    _, J_bvv, J_bbv, J_bbb = generated.third_derivatives(point.g)
    # In a gap of the noisy law any quantile is valid; keep it fixed.
    drift = arb(0) if point.g.imag.is_zero() else generated.quantile_drift(J_bbv, J_bbb)
    J_vv = generated.rank_limited_curvature(J_vv, J_bvv, J_bbv, drift, cut, b)
    J, J_v, J_b = generated.rank_limited(J, J_v, J_b, J_bv, cut, b, width)
    # The mass is fixed, and b does not change derivatives in v.
    return BallEnergy(J, J_v, J_b, J_vv, J_bv, width)
