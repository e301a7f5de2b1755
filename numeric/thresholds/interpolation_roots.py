"""Condition for interpolation in ball arithmetic, with bounds on its roots (theory note, section
5).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from numeric.maths.balls import Ball, ball
from numeric.proven_laws.law import Law, over


class Energy(NamedTuple):
    """Energy J, dJ/dv and d2J/dv2 at b = 0."""

    J: Ball
    J_v: Ball
    J_vv: Ball

    def union(self, other: "Energy") -> "Energy":
        """Return the smallest balls that contain both."""
        return Energy(*(mine.union(theirs) for mine, theirs in zip(self, other, strict=True)))


class Residual(NamedTuple):
    """Value of E(v) - q0 - Delta/2 and its slope in v, with v and the energy there."""

    value: Ball
    slope: Ball
    v: Ball
    energy: Energy


class Excess(NamedTuple):
    """Difference between a quantity and its required value, and the slope."""

    value: Ball
    slope: Ball


@dataclass(frozen=True)
class Condition:
    """The function of v whose roots are the candidates for the interpolation threshold."""

    law: Law
    noise: Fraction
    energy: Callable[[Ball], Energy]

    def __call__(self, v: Ball) -> Residual:
        """Return the residual over the ball v."""
        generated, energy = self.law.generated, self.energy(v)
        _, q0 = self.law.moments()
        value = generated.interpolation_residual(energy.J, energy.J_v, v, ball(self.noise), q0)
        return Residual(value, generated.interpolation_slope(energy.J_vv, v), v, energy)

    def excludes(self, left: Residual, right: Residual) -> bool:
        """Return whether the values at two points prove that there is no root between them.

        E = J - v J_v increases by at most half the increase of J, and E/delta does not increase
        (derive/passes/limits/projections.py).

        Args:
            left: residual at the smaller v.
            right: residual at the larger v.
        """
        generated = self.law.generated
        level = generated.interpolation_level(self.law.moments()[1], ball(self.noise))
        near, far = (left, right) if left.value < 0 else (right, left)
        growth = generated.interpolation_growth(left.energy.J, right.energy.J)
        stretched = generated.interpolation_stretched(near.value, level, near.v, far.v)
        if left.value < 0:
            return bool(left.value + growth < 0 or stretched < 0)
        return bool(right.value - growth > 0 or stretched > 0)

    def bounds(self, width: Fraction) -> tuple[Ball, Ball]:
        """Return an interval of v that contains all roots, for this rank limit of the student."""
        generated, (t0, q0) = self.law.generated, self.law.moments()
        theta = arb.pi() / 2
        # Any angle with less mass above it gives a valid trace.
        while not generated.semicircle_top(theta)[0] <= ball(width):
            theta = theta * 15 / 16
        least, most = generated.interpolation_bounds(
            q0, t0, generated.semicircle_top(theta)[1], ball(self.noise)
        )
        return least.mid() / 2, most.mid() * 2


def full_rank_energy(law: Law) -> Callable[[Ball], Energy]:
    """Return the energy of the positive part of the noisy law, for width >= 1."""

    def energy(v: Ball) -> Energy:
        point = over(law, v, arb(0))
        return Energy(*(point.value(name) for name in Energy._fields))

    return energy
