"""The interpolation threshold by a second route: mpmath quadrature of the density of the noisy law,
no closed form, no balls.

It shares with `numeric.thresholds.interpolation` only the cubic for the Stieltjes transform and the
condition for interpolation; tests and the benchmark compare the two. A new context carries the
precision; nothing global is touched.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Any

from mpmath.ctx_mp import MPContext

from tests.oracles.multiprecision import multiprecision_functions

Context = Any  # an mpmath context: mpmath ships no types
Real = Any  # its real numbers
_GUARD = 15  # digits that quadrature and root search lose


def interpolation_by_quadrature(
    kappa0: Fraction, noise: Fraction, tokens: int = 2, digits: int = 15
) -> Real:
    """Interpolation threshold of a Marchenko-Pastur target at width >= 1, to about `digits` digits
    (an mpmath number).

    With rho the density at b = 0 and g its Stieltjes transform, J = int_0 x^2 rho and J_v = 2 int_0
    x Re(g) rho (Burgers' equation, theory note, section 4).
    """
    generated = multiprecision_functions()
    mp = MPContext()
    mp.dps = digits + _GUARD
    law = generated.law_parameters(mp, _real(mp, kappa0), mp.mpf(1))
    _, q0 = generated.target_moments(mp, *law)

    def energies(v: Real) -> tuple[Real, Real]:
        both = _integral(
            mp, lambda x, g: mp.mpc(x**2, 2 * x * mp.re(g)) * generated.density(mp, g), v, law
        )
        return both.real, both.imag

    def residual(v: Real) -> Real:
        J, J_v = energies(v)
        return generated.interpolation_residual(mp, J, J_v, v, _real(mp, noise), q0)

    v = mp.findroot(
        residual, (mp.mpf(1), mp.mpf(2)), solver="secant", tol=mp.mpf(10) ** (-2 * digits)
    )
    return generated.interpolation_ratio(mp, energies(v)[1], generated.label_numbers(mp, tokens))


def positive_support(mp: Context, v: Real, law: tuple[Real, ...]) -> list[tuple[Real, Real]]:
    """Intervals of the positive axis between edges of the support; the density vanishes on those
    outside it.
    """
    generated = multiprecision_functions()
    critical = mp.polyroots(
        list(generated.edge_polynomial(mp, v, *law)), maxsteps=300, extraprec=2 * mp.prec
    )
    real = [mp.re(g) for g in critical if abs(mp.im(g)) < mp.mpf(10) ** (-mp.dps // 2) * abs(g)]
    edges = sorted(mp.re(generated.inverse_stieltjes(mp, g, v, *law)) for g in real)
    ends = [mp.mpf(0), *(edge for edge in edges if edge > 0)]
    return list(pairwise(ends))


def physical_root(mp: Context, v: Real, b: Real, law: tuple[Real, ...]) -> Any:
    """Stieltjes transform g of the noisy law at b: Im g < 0, or g real with z'(g) < 0."""
    generated = multiprecision_functions()
    coefficients = generated.resolvent_polynomial(mp, v, b, *law)
    roots = mp.polyroots([+value for value in coefficients], maxsteps=300, extraprec=2 * mp.prec)
    lowest = min(roots, key=mp.im)
    if mp.im(lowest) < -(mp.mpf(10) ** (-mp.dps // 2)) * abs(
        lowest
    ):  # a double root is known to half the digits
        return lowest
    return mp.mpc(
        min((mp.re(g) for g in roots), key=lambda g: generated.resolvent_slope(mp, g, v, *law))
    )


def _integral(mp: Context, integrand: Any, v: Real, law: tuple[Real, ...]) -> Any:
    """Tanh-sinh quadrature of a complex integrand, piece by piece: the density has square roots at
    the edges.
    """
    pieces = positive_support(mp, v, law)
    return mp.fsum(
        mp.quad(lambda x: integrand(x, physical_root(mp, v, x, law)), piece) for piece in pieces
    )


def _real(mp: Context, value: Fraction) -> Real:
    return mp.mpf(value.numerator) / value.denominator
