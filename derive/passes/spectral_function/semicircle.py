"""Unit semicircle law above a point in closed form: the law of the noise alone."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step

theta, eta = sym("theta eta")


@cache
def semicircle_top() -> tuple[sp.Expr, sp.Expr]:
    """Return mass and trace of the unit semicircle law above 2 cos(theta), 0 < theta < pi/2."""
    mass, trace = semicircle_above(lambda x: sp.S.One, theta), semicircle_above(lambda x: x, theta)
    return sp.expand(mass), sp.expand(trace)


def semicircle_above(weight: Callable[[sp.Expr], sp.Expr], angle: sp.Symbol) -> sp.Expr:
    """Return the integral of weight(x) over the unit semicircle law above 2 cos(angle), in the
    angle psi of x = 2 cos(psi).

    Args:
        weight: the function of x.
        angle: angle of the lower limit.
    """
    psi = sp.Symbol("psi", positive=True)
    density = 2 * sp.sin(psi) ** 2 / sp.pi
    return sp.integrate(sp.expand(density * weight(2 * sp.cos(psi))), (psi, 0, angle))


class Bulk(NamedTuple):
    """J and J_v of a semicircle of unit variance above the fraction cos(phi) of its edge."""

    J: sp.Expr
    J_v: sp.Expr


@cache
def energy_above() -> Bulk:
    """Return the closed forms in the angle phi."""
    phi = sp.Symbol("phi", positive=True)
    square = semicircle_above(lambda x: (x - 2 * sp.cos(phi)) ** 2, phi)
    # J = v f(phi) with cos(phi) = b/(2 sqrt v): at fixed b the angle grows by cos/(2 v sin).
    return Bulk(square, square + sp.diff(square, phi) * sp.cos(phi) / (2 * sp.sin(phi)))


@cache
def edge_powers() -> Bulk:
    """Return the leading powers of J/v and J_v for a threshold at a fraction eta below the edge, b
    = 2 delta (1 - eta).
    """
    (phi,) = energy_above().J.free_symbols
    leading = (_leading_term(form, phi) for form in energy_above())
    return Bulk(
        *(term.subs(phi, sp.sqrt(2 * eta)) for term in leading)
    )  # phi^2/2 = eta at leading order


@cache
def edge_mass() -> sp.Expr:
    """Return the leading power of the mass of the semicircle above 2 delta (1 - eta)."""
    phi = sp.Symbol("phi", positive=True)
    return _leading_term(semicircle_above(lambda x: sp.Integer(1), phi), phi).subs(
        phi, sp.sqrt(2 * eta)
    )


@cache
def cut_powers() -> Bulk:
    """Return J/(v kappa) and J_v/kappa of only the largest fraction kappa -> 0 of the eigenvalues,
    at b = 2 delta (1 - eta).

    J is rank-limited at a quantile Q = 2 cos(phi) close to the edge, in units of delta = 1. J_v
    follows by scaling, from J = v f(b/sqrt(v)).
    """
    phi, b = sp.symbols("phi b", positive=True)
    mass = semicircle_above(lambda x: sp.Integer(1), phi)
    energy = sp.factor(
        _leading_term(semicircle_above(lambda x: (x - b) ** 2, phi), phi) / _leading_term(mass, phi)
    )
    response = sp.factor(energy - b * sp.diff(energy, b) / 2)
    return Bulk(*(sp.factor(form.subs(b, 2 * (1 - eta))) for form in (energy, response)))


def _leading_term(form: sp.Expr, x: sp.Symbol, known: int = 8) -> sp.Expr:
    """Return the lowest power of x in a quotient of polynomials in x, sin(k x) and cos(k x), from
    their Taylor polynomials.
    """
    taylor = {f: sp.series(f(x), x, 0, known).removeO() for f in (sp.sin, sp.cos)}

    def lowest(part: sp.Expr) -> sp.Expr:
        for function, series in taylor.items():
            part = part.replace(function, lambda angle, series=series: series.subs(x, angle))
        *_, ((power,), coefficient) = sp.Poly(part, x).terms()
        if power >= known:
            raise DerivationError(f"{form} vanishes up to {x}^{known}")
        return coefficient * x**power

    numerator, denominator = sp.fraction(sp.together(form))
    return lowest(numerator) / lowest(denominator)


def open_bulk() -> Bulk:
    """Return J/v and J_v for a threshold far below delta."""
    (phi,) = energy_above().J.free_symbols
    return Bulk(*(form.subs(phi, sp.pi / 2) for form in energy_above()))


def step() -> Step:
    """Return the step of the semicircle."""
    mass, moment = semicircle_top()
    return Step(
        "semicircle",
        "Semicircle of the noise alone",
        r"The eigenvalues of a symmetric Gaussian matrix above $2\cos\theta$, by the angle of "
        r"$x=2\cos\psi$.",
        (Display(r"\mu", mass), Display("c", moment)),
        (
            Function(
                "semicircle_top",
                "mass and trace of the unit semicircle above 2 cos(theta)",
                (theta,),
                (Output("mass", r"\mu", mass), Output("trace", r"c", moment)),
            ),
        ),
    )
