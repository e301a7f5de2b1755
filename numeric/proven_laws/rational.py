"""Laws with a rational inverse Stieltjes transform in ball arithmetic: sums of free Poisson laws,
in closed form.
"""

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from typing import Any

from flint import acb, acb_poly, arb

from numeric import model
from numeric.maths.balls import (
    START_BITS,
    Ball,
    ComplexBall,
    Unresolved,
    around_complex,
    ball,
    contract,
    per_precision,
    polish,
    precision,
)
from numeric.maths.domain import fraction
from numeric.proven_laws.law import require


class RationalLaw:
    """Law whose inverse Stieltjes transform z(g) is rational.

    Args:
        name: name of a generated model, which has this law as its target.
        parameters: function without arguments that returns the parameters of z(g) at the working
            precision.
        zero_mass: exact fraction of zero eigenvalues.
        text: the law as text, for messages and results.
    """

    def __init__(
        self, name: str, parameters: Callable[[], Sequence[Ball]], zero_mass: Fraction, text: str
    ) -> None:
        self.model, self.generated = name, model.functions("balls", name)
        self._own = self.generated  # functions of the law, also with the equations of other models
        self.zero_mass, self._text = zero_mass, text
        self._parameters = per_precision(lambda: tuple(parameters()))

    def __repr__(self) -> str:
        return self._text

    def of_model(self, name: str) -> "RationalLaw":
        """Return the same law with the equations of another model."""
        found = copy(self)
        found.model, found.generated = name, model.functions("balls", name)
        return found

    def moments(self) -> tuple[Ball, Ball]:
        """Return the mean and the second moment."""
        return self._own.target_moments(*self._parameters())

    def at(self, v: Ball, x: Ball) -> "RationalPoint":
        """Return the noisy law at x. Use `over` for wide balls.

        The root is proven to be the physical one: z(g) = x has at most one root below the real
        axis. If it has none, the physical root is the only real root at which z decreases (it is
        the Denjoy-Wolff point of g -> 1/(x - v g - R(g)) on the lower half-plane).

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position, eigenvalue.

        Raises:
            Unresolved: the root is too close to an edge of the support for the precision or the
                width of the balls.
        """
        parameters = self._parameters()
        powers = self._own.resolvent_polynomial(v, x, *parameters)  # highest power first
        coefficients = acb_poly(list(powers)[::-1])
        slope = coefficients.derivative()
        starts, bits = _isolated_roots(coefficients)
        for start in starts:
            g = polish(lambda root: coefficients(root) / slope(root), start, bits)
            # Use z, not the polynomial, because balls of v and x hardly grow in z.
            excess = self._own.inverse_stieltjes(g, v, *parameters) - x

            def z_slope(trial: ComplexBall) -> ComplexBall:
                return self._own.resolvent_slope(trial, v, *parameters)

            g = contract(excess, z_slope, g, around_complex, excess / z_slope(g))
            if start.imag.is_zero():  # the trial ball is symmetric and has one root, so it is real
                g = acb(g.real)
            if g.imag < 0 or (start.imag.is_zero() and z_slope(g).real < 0):
                return RationalPoint(self._own, g, v, x, parameters)
        raise Unresolved("no root of the resolvent polynomial carries the proof of its branch")


class RationalPoint:
    """Noisy law at one position, in closed form."""

    def __init__(
        self, generated: Any, g: ComplexBall, v: Ball, x: Ball, parameters: tuple[Ball, ...]
    ) -> None:
        self.g, self._generated, self._arguments = g, generated, (g, v, x, *parameters)

    def value(self, name: str) -> Ball:
        """Return J, J_v, J_b, J_vv, J_bv or mass at b = x."""
        return getattr(self._generated, f"spectral_{name}")(*self._arguments)


def _isolated_roots(polynomial: Any) -> tuple[list[ComplexBall], int]:
    """Return approximate roots, and the number of bits at which Newton steps from them stay
    separate.

    The roots are those of the polynomial with the centres of its coefficients. Roots below the real
    axis come first, then the real ones.

    Raises:
        Unresolved: two roots cannot be separated at the working precision.
    """
    middle = acb_poly([coefficient.mid() for coefficient in polynomial.coeffs()])
    bits = START_BITS
    while bits <= max(precision(), START_BITS):
        if roots := _separated_roots(middle, bits):
            below = [root.mid() for root in roots if root.imag < 0]
            real = [acb(root.real.mid()) for root in roots if root.imag.contains(0)]
            return below + real, 2 * bits
        bits *= 2
    raise Unresolved("two roots of the resolvent polynomial are too close to be separated")


def _separated_roots(polynomial: Any, bits: int) -> list[ComplexBall]:
    """Return disjoint balls of all roots of a real polynomial; empty if they overlap.

    A ball that meets the real axis is also disjoint from the mirror images of the others.
    """
    try:
        roots = list(polynomial.roots(tol=arb(2) ** (-bits // 2), maxprec=4 * bits))
    except ValueError:  # the balls overlap
        return []
    for k, root in enumerate(roots):
        others = roots[:k] + roots[k + 1 :]
        if root.imag.contains(0) and any(map(root.conjugate().overlaps, others)):
            return []
    return roots


def rational_law(name: str, **settings: Fraction) -> RationalLaw:
    """Return the law of the target of a generated model for exact settings.

    Args:
        name: name of a generated model.
        **settings: settings of the target.

    Raises:
        ValueError: a setting is not positive.
    """
    generated = model.functions("balls", name)
    require(all(value > 0 for value in settings.values()), "settings", settings, "must be positive")
    zero_mass = max(Fraction(0), model.call(generated.zero_mass, (), settings))

    def parameters() -> Sequence[Ball]:
        balls = {key: ball(value) for key, value in settings.items()}
        return tuple(model.call(generated.law_parameters, (), balls))

    given = ", ".join(f"{key}={value}" for key, value in settings.items())
    return RationalLaw(name, parameters, zero_mass, f"target of {name}({given})")


def exact_marchenko_pastur(kappa0: Fraction | float) -> RationalLaw:
    """Return the law of the target S0 = W0 W0^T/sqrt(m0 d) with rank ratio kappa0 > 0."""
    return rational_law(model.DEFAULT, kappa0=fraction("kappa0", kappa0), scale=Fraction(1))
