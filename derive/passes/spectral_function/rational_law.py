"""Spectral function J(v, b) and its derivatives in closed form from z(g) (theory note, section 4).

mu_v, the free convolution of the target law with a semicircle of variance v, has the inverse
Stieltjes transform z(g) = z0(g) + v g. On the real axis, approached from above, Im g <= 0. With x =
z(g) and dx = z'(g) dg,

    J = int_b^inf (x - b)^2 dmu_v = -(1/pi) Im int_b (z - b)^2 g dz = -(1/(3 pi)) Im int^{g_b} (z -
    b)^3 dg

by parts. The integrand is rational in g and vanishes at g_b, the physical root of z(g) = b, so that
derivatives in v and b act under the integral sign. Only imaginary parts of logarithms remain; these
are angles whose range follows from the half-plane.
"""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.elementary import AngleAbove, AngleBelow, ImaginaryPart
from derive.language.errors import DerivationError
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.setting import notation_of
from derive.language.step import Display, Function, Output, Step, outputs, scalar
from derive.language.target import Target

b, g, v = sym("b g v")


class Antiderivative(NamedTuple):
    """Integral over g of a rational function: a rational part, and the coefficient of log w for
    each w linear in g.
    """

    rational: sp.Expr
    logarithms: dict[sp.Expr, sp.Expr]


def integrate_rational(integrand: sp.Expr) -> Antiderivative:
    """Integrate a polynomial in g and inverses of linear functions of g, by partial fractions of
    each monomial.

    Raises:
        DerivationError: a pole is not linear in g.
    """
    polynomial: dict[sp.Expr, sp.Expr] = {}
    rational: dict[sp.Expr, sp.Expr] = {}
    logarithms: dict[sp.Expr, sp.Expr] = {}
    for monomial in _monomials(integrand):
        for base, exponent, coefficient in _partial_fractions(monomial):
            slope = sp.diff(base, g)
            if exponent == -1:
                logarithms[base] = logarithms.get(base, 0) + coefficient / slope
            else:
                parts = polynomial if exponent >= 0 else rational
                power = base ** (exponent + 1)
                parts[power] = parts.get(power, 0) + coefficient / (slope * (exponent + 1))

    def tidy(coefficient: sp.Expr) -> sp.Expr:
        return sp.factor_terms(sp.cancel(sp.together(sp.expand(coefficient))))

    total = sp.Add(
        *(tidy(coefficient) * power for power, coefficient in {**polynomial, **rational}.items())
    )
    return Antiderivative(
        total, {base: tidy(coefficient) for base, coefficient in logarithms.items()}
    )


def _monomials(integrand: sp.Expr) -> list[sp.Expr]:
    """Return the terms of the expanded integrand; denominators are powers of linear functions that
    are positive for small g > 0.
    """
    bases = sorted(
        {power.base for power in integrand.atoms(sp.Pow) if power.exp.is_negative and power.has(g)},
        key=str,
    )
    inverses = {base: sp.Symbol(f"inverse{k}") for k, base in enumerate(bases)}
    signs = {base: -1 if base.subs(g, 0).could_extract_minus_sign() else 1 for base in bases}
    polynomial = sp.expand(
        integrand.subs({1 / base: signs[base] * inverse for base, inverse in inverses.items()})
    )
    linear = {inverse: signs[base] * base for base, inverse in inverses.items()}

    def with_denominators(term: sp.Expr) -> sp.Expr:
        powers = [factor.as_base_exp() for factor in term.as_ordered_factors()]
        return sp.Mul(
            *(linear[base] ** -power if base in linear else base**power for base, power in powers)
        )

    return [with_denominators(term) for term in sp.Add.make_args(polynomial)]


def _partial_fractions(monomial: sp.Expr) -> list[tuple[sp.Expr, int, sp.Expr]]:
    """Return the terms coefficient * base^exponent of a monomial in g and inverses of linear
    functions of g.
    """
    constant, factor = monomial.as_independent(g, as_Add=False)
    numerator: sp.Expr = sp.Integer(1)
    poles: dict[sp.Expr, int] = {}
    for base, exponent in factor.as_powers_dict().items():
        if not exponent.is_Integer or sp.diff(base, g).has(g):
            raise DerivationError(f"cannot integrate {monomial}: its pole is not linear in g")
        if exponent > 0:
            numerator *= base**exponent
        else:
            poles[base] = -int(exponent)
    denominator = sp.Mul(*(base**order for base, order in poles.items()))
    quotient, _ = sp.div(sp.Poly(numerator, g), sp.Poly(denominator, g))
    terms = [
        (g, k, constant * coefficient) for (k,), coefficient in quotient.terms() if coefficient != 0
    ]
    for base, order in poles.items():
        slope = sp.diff(base, g)
        rest = numerator / sp.Mul(
            *(other**power for other, power in poles.items() if other != base)
        )
        for k in range(order):  # Taylor coefficients of the rest at the pole, in powers of the base
            taylor = (sp.diff(rest, g, k) / (sp.factorial(k) * slope**k)).subs(
                g, sp.solve(base, g)[0]
            )
            terms.append((base, k - order, constant * taylor))
    return terms


def angle(base: sp.Expr) -> sp.Expr:
    """Return Im log of `base`, continued from large x, where 0 < g < every positive pole and all
    logarithms are real.
    """
    slope = sp.diff(base, g)
    return AngleBelow(base) if slope == 1 else AngleAbove(base)


def imaginary_part(antiderivative: Antiderivative) -> sp.Expr:
    """Return Im of the antiderivative at g in the closed lower half-plane; it is zero for x beyond
    the right edge of the support.
    """
    angles = [coefficient * angle(base) for base, coefficient in antiderivative.logarithms.items()]
    return ImaginaryPart(antiderivative.rational) + sp.Add(*angles)


def noisy_inverse(target: Target) -> sp.Expr:
    """Return z(g) of the target law convolved with a semicircle of variance v."""
    return target.inverse_stieltjes + v * g


class Spectral(NamedTuple):
    """Closed forms at the physical root g of z(g) = b."""

    J: sp.Expr
    J_v: sp.Expr
    J_b: sp.Expr
    J_vv: sp.Expr
    J_bv: sp.Expr
    mass: sp.Expr


def spectral_integrands(excess: sp.Expr) -> Spectral:
    """Return the integrands F such that -(1/pi) Im int^{g_b} F dg is J, its derivatives, and the
    mass above b = J_bb/2.

    `excess` is z - b.
    """
    third = excess**3 / 3
    return Spectral(
        J=third,
        J_v=sp.diff(third, v),
        J_b=sp.diff(third, b),
        J_vv=sp.diff(third, v, 2),
        J_bv=sp.diff(third, b, v),
        mass=sp.diff(third, b, 2) / 2,
    )


@cache
def antiderivatives(target: Target) -> tuple[Antiderivative, ...]:
    """Return the integrals of rational functions of g for J, its derivatives and the mass, in the
    order of `Spectral`.
    """
    return tuple(map(integrate_rational, spectral_integrands(noisy_inverse(target) - b)))


def closed_forms(target: Target) -> Spectral:
    """Return J, its derivatives and the mass."""
    return Spectral(*(-imaginary_part(found) / sp.pi for found in antiderivatives(target)))


def moments(target: Target) -> tuple[sp.Expr, sp.Expr]:
    """Return the mean and the second moment of the target law, from the free cumulants in R(g) = k1
    + k2 g + ...
    """
    mean = sp.cancel(target.r_transform).subs(g, 0)
    variance = sp.cancel(sp.diff(target.r_transform, g)).subs(g, 0)
    return mean, sp.expand(variance + mean**2)


def resolvent_polynomial(target: Target) -> sp.Poly:
    """Return the polynomial in g whose roots solve z(g) = b."""
    return sp.Poly(sp.numer(sp.together(noisy_inverse(target) - b)), g)


def edge_polynomial(target: Target) -> sp.Poly:
    """Return the polynomial for z'(g) = 0, whose real roots with z(g) real are the edges of the
    support.
    """
    return sp.Poly(sp.numer(sp.together(sp.diff(noisy_inverse(target), g))), g)


def law_functions(target: Target) -> tuple[Function, ...]:
    """Return the functions for the target law, and for the noisy law through its inverse Stieltjes
    transform.
    """
    law, z = target.parameters, noisy_inverse(target)
    mean, second = moments(target)
    # Cancelled part by part: R stays accurate where 1/g diverges.
    free_sum = sp.Add(*map(sp.factor, sp.Add.make_args(sp.expand(target.r_transform))))

    def coefficients(polynomial: sp.Poly, letter: str) -> tuple[Output, ...]:
        powers = range(polynomial.degree(), -1, -1)
        values = zip(powers, polynomial.all_coeffs(), strict=True)
        return outputs({str(k): sp.expand(x) for k, x in values}, letter + "_{}", letter + "{}")

    return (
        Function(
            "law_parameters",
            "parameters of the target law from the settings of the problem",
            target.settings,
            tuple(
                Output(str(name), notation_of(name).latex, value)
                for name, value in target.parameters_in_settings().items()
            ),
        ),
        scalar(
            "zero_mass",
            "mass of the target law at 0, if positive",
            target.settings,
            r"\mu_0",
            target.zero_mass.subs(target.parameters_in_settings()),
        ),
        Function(
            "target_moments",
            "mean and second moment of the target law",
            law,
            (Output("t0", "t_0", mean), Output("q0", "q_0", second)),
        ),
        Function(
            "resolvent_polynomial",
            "coefficients in g, highest first, of z(g) = b",
            (v, b, *law),
            coefficients(resolvent_polynomial(target), "a"),
        ),
        Function(
            "edge_polynomial",
            "coefficients in g, highest first, of z'(g) = 0",
            (v, *law),
            coefficients(edge_polynomial(target), "e"),
        ),
        scalar("inverse_stieltjes", "z(g), real on the support", (g, v, *law), "z(g)", z),
        scalar(
            "resolvent_slope",
            "dz/dg; negative at the physical real root",
            (g, v, *law),
            "z'(g)",
            sp.diff(z, g),
        ),
        Function(
            "r_transform",
            "R-transform of the target law, and its slope",
            (g, *law),
            (Output("R", "R(g)", free_sum), Output("R_slope", "R'(g)", sp.diff(free_sum, g))),
        ),
        scalar(
            "density",
            "density of the noisy law at x = z(g)",
            (g,),
            r"\rho(x)",
            -ImaginaryPart(g) / sp.pi,
        ),
    )


def energy_functions(target: Target) -> tuple[Function, ...]:
    """Return the functions for the spectral function and its derivatives."""
    lefts = {
        "J": "J",
        "J_v": "J_v",
        "J_b": "J_b",
        "J_vv": "J_{vv}",
        "J_bv": "J_{bv}",
        "mass": r"\mu_v(x>b)",
    }
    return (
        *(
            Function(
                f"spectral_{name}",
                f"{name} of the noisy law at the physical root g of z(g) = b",
                (g, v, b, *target.parameters),
                (Output(f"spectral_{name}", lefts[name], form),),
                cancels=True,
            )
            for name, form in closed_forms(target)._asdict().items()
        ),
    )


def step(model: Model) -> Step:
    """Return the step for the spectral function in closed form."""
    return Step(
        "spectral",
        "Spectral function in closed form",
        r"$\mu_v$ is the target law plus a free semicircle of variance $v$, with inverse Stieltjes "
        r"transform $z(g)$. By parts, "
        r"$J=-\tfrac1{3\pi}\operatorname{Im}\int^{g_b}(z-b)^3\,dg$ up to the physical root $g_b$ "
        r"of $z(g)=b$ "
        r"($\operatorname{Im}g<0$, or $z'(g)<0$ on the real axis), where the integrand vanishes, "
        r"so that derivatives act under "
        r"the integral. $\arg_\mp$ is the angle of a point of the lower (upper) half-plane.",
        (
            Display("z(g)", noisy_inverse(model.target)),
            Display("0", resolvent_polynomial(model.target).as_expr()),
        ),
        law_functions(model.target) + energy_functions(model.target),
    )
