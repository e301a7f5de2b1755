"""Spectral function in ball arithmetic, for points at which float64 cancels, at the precision that
each point needs.
"""

import math

from flint import arb

from numeric.laws.law import ACCURATE_BITS, Values
from numeric.maths.balls import Unresolved, working
from numeric.proven_laws.energy import energy_below
from numeric.proven_laws.law import Law

# J ~ x^(7/2) at a fraction x of a bulk below its edge; 200 bits give nine digits at x = 1e-12.
_BITS = (200, 800, 3200)
# Accepted radius, in natural units, of a value that vanishes (J_bv below the support).
_NEGLIGIBLE = 2.0**-100


def exact_values(law: Law, v: float, x: float, mirrored: bool = False) -> Values:
    """Return J, J_v, J_b, J_bv and mass at x, correct almost to double precision.

    Args:
        law: law of the target in ball arithmetic.
        v: variance of the semicircle, eigenvalue^2; its binary value is exact.
        x: position, eigenvalue; its binary value is exact.
        mirrored: evaluate the law of minus the eigenvalues.

    Raises:
        Unresolved: x is too close to an edge of the support, or v is too large, for the highest
            precision.
    """
    units = Values(J=v, J_v=1.0, J_b=math.sqrt(v), J_bv=1 / math.sqrt(v), mass=1.0)
    for bits in _BITS:
        with working(bits):
            try:
                if mirrored:
                    below = energy_below(law, arb(v), arb(x))
                    balls = [getattr(below, name) for name in Values._fields]
                else:
                    point = law.at(arb(v), arb(x))
                    balls = [point.value(name) for name in Values._fields]
            except Unresolved:
                if bits == _BITS[-1]:
                    raise
                continue
            if all(
                ball.rel_accuracy_bits() >= ACCURATE_BITS or ball.rad() <= _NEGLIGIBLE * unit
                for ball, unit in zip(balls, units, strict=True)
            ):
                return Values(*(float(ball) for ball in balls))
    raise Unresolved(
        f"spectral function at v = {v:g}, x = {x:g} not resolved with {_BITS[-1]} bits"
    )
