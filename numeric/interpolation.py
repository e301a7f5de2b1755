"""Condition for interpolation in ball arithmetic, for any target law and width (theory note, section 5)."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from numeric.enclosure import Ball, Unresolved, around, ball, contract, precision, working
from numeric.laws import START_BITS, Law
from numeric.roots import locate


class Energy(NamedTuple):
    """J, dJ/dv and d2J/dv2 at b = 0."""

    J: Ball
    J_v: Ball
    J_vv: Ball

    def union(self, other: "Energy") -> "Energy":
        """The smallest balls that hold both."""
        return Energy(*(mine.union(theirs) for mine, theirs in zip(self, other, strict=True)))


def full_rank_energy(law: Law) -> Callable[[Ball], Energy]:
    """Energy of the positive part of the noisy law, width >= 1."""

    def energy(v: Ball) -> Energy:
        point = law.at(v, arb(0))
        return Energy(*(point.value(name) for name in Energy._fields))

    return energy


def rank_limited_energy(law: Law, width: Fraction) -> Callable[[Ball], Energy]:
    """Energy of the largest eigenvalues only, a share `width` < 1 of them, or of the positive part if that is less."""
    unlimited = full_rank_energy(law)

    def energy(v: Ball) -> Energy:
        excess = law.at(v, arb(0)).value("mass") - ball(width)
        if excess < 0:
            return unlimited(v)
        limited = _limited(law, v, quantile(law, v, width))
        return limited if excess > 0 else limited.union(unlimited(v))

    def _limited(law: Law, v: Ball, Q: Ball) -> Energy:
        generated, point = law.generated, law.at(v, Q)
        J, J_v, J_b, J_bv, J_vv = (point.value(name) for name in ("J", "J_v", "J_b", "J_bv", "J_vv"))
        J_bvv, J_bbv, J_bbb = generated.third_derivatives(point.g)
        # In a gap of the noisy law any quantile serves: let it rest.
        drift = arb(0) if point.g.imag.is_zero() else generated.quantile_drift(J_bbv, J_bbb)
        origin, kappa = arb(0), ball(width)
        J_top, J_v_top, _ = generated.rank_limited(J, J_v, J_b, J_bv, Q, origin, kappa)
        return Energy(J_top, J_v_top, generated.rank_limited_curvature(J_vv, J_bvv, J_bbv, drift, Q, origin))

    return energy


class _InGap(Exception):
    """The mass asked for lies above every point of a gap of the noisy law; `args[0]` is one of them."""


def quantile(law: Law, v: Ball, mass: Fraction) -> Ball:
    """Eigenvalue of the noisy law above which it has this mass, for every v of the ball; any point of a gap that will do.

    Raises:
        Unresolved: the ball v is too wide or the precision too low.
    """

    def excess(v: Ball, Q: Ball) -> tuple[Ball, Ball]:
        point = law.at(v, Q)
        value = point.value("mass") - ball(mass)
        if point.g.imag.is_zero() and value.contains(0):  # exact: outside the support all angles are multiples of pi
            raise _InGap(Q)
        return value, law.generated.third_derivatives(point.g)[2] / 2

    try:
        with working(min(precision(), START_BITS)):
            low, high = _bracket(lambda Q: excess(v.mid(), Q)[0], v)
            root = locate(lambda Q: excess(v.mid(), Q), low, high).mid()
        bits = START_BITS
        while bits < 2 * precision():
            with working(min(bits, precision())):
                value, slope = excess(v.mid(), root)
                root = (root - value / slope).mid()
            bits *= 2
        value, slope = excess(v, root)
        return contract(value, lambda trial: excess(v, trial)[1], root, around, value / slope)
    except _InGap as gap:
        Q = gap.args[0].mid()
        if law.at(v, Q).g.imag.is_zero():
            return Q
        raise Unresolved("the gap of the noisy law closes within the ball v") from None


def _bracket(excess: Callable[[Ball], Ball], v: Ball) -> tuple[Ball, Ball]:
    """Positive positions with more and less mass above them than asked for."""
    low = high = v.mid().sqrt().mid()
    while not excess(high) < 0:
        high = high * 2
    while not excess(low) > 0:
        low = low / 2
    return low, high
