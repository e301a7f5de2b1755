"""Laws whose noisy law follows from their own Stieltjes transform by subordination, in ball
arithmetic: J by a path integral with a proven error.
"""

from abc import ABC, abstractmethod
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

from flint import acb

from numeric.maths.balls import (
    START_BITS,
    Ball,
    ComplexBall,
    Unresolved,
    around_complex,
    contract,
    polish,
    precision,
    working,
)
from numeric.model import DEFAULT, functions
from numeric.model import balls as generated
from numeric.proven_laws.path_integral import path_integral

_START_STEPS = 200  # maximum number; the damped iteration is slow near an edge of the support


class SubordinatedLaw(ABC):
    """Law with a known Stieltjes transform G."""

    zero_mass: Fraction

    def __init__(self) -> None:
        self.model: str = DEFAULT
        self.generated: Any = generated

    def of_model(self, name: str) -> Self:
        """Return the same law with the equations of another model."""
        found = copy(self)
        found.model, found.generated = name, functions("balls", name)
        return found

    @abstractmethod
    def moments(self) -> tuple[Ball, Ball]:
        """Return the mean and the second moment."""

    @abstractmethod
    def stieltjes(self, u: ComplexBall) -> ComplexBall:
        """Return G(u) of the target."""

    @abstractmethod
    def spread(self, u: ComplexBall) -> ComplexBall:
        """Return -G'(u)."""

    @abstractmethod
    def distances(self, centre: Ball) -> tuple[Ball, Ball]:
        """Return a lower bound of the distance of a real point from the support, 0 inside of its
        hull, and an upper bound of its distance from any point of the support.
        """

    def _position(self, u: ComplexBall, v: Ball) -> ComplexBall:
        return generated.noisy_position(u, self.stieltjes(u), v)

    def _slope(self, u: ComplexBall, v: Ball) -> ComplexBall:
        """Return the derivative of the position in u."""
        return generated.noisy_slope(self.spread(u), v)

    def at(self, v: Ball, x: Ball) -> "SubordinatedPoint":
        """Return the noisy law at x, from the root of u = x - v G(u).

        The root u is proven to be the physical one: it is the only root above the real axis, or, if
        there is none, the only real root with -v G'(u) < 1 (Denjoy-Wolff).

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position, eigenvalue.

        Raises:
            Unresolved: x is too close to an edge of the support for the precision or the width of
                the balls.
        """
        try:
            return self._proven_from(self._approach(v.mid(), x.mid(), START_BITS), v, x)
        except Unresolved:  # near an edge of the support the start must be more accurate
            return self._proven_from(self._approach(v.mid(), x.mid(), precision()), v, x)

    def _proven_from(self, start: ComplexBall, v: Ball, x: Ball) -> "SubordinatedPoint":
        def step(u: ComplexBall) -> ComplexBall:
            return (self._position(u, v.mid()) - x.mid()) / self._slope(u, v.mid())

        def slope(u: ComplexBall) -> ComplexBall:
            return self._slope(u, v)

        u = polish(step, start, START_BITS)
        residual = self._position(u, v) - x
        u = contract(residual, slope, u, around_complex, residual / slope(u))
        if start.imag.is_zero():
            u = acb(u.real)
            if not slope(u).real > 0:
                raise Unresolved("the real root of u + v G(u) = x is not proven to be physical")
        elif not u.imag > 0:
            raise Unresolved("the root of u + v G(u) = x is not proven to lie above the axis")
        return SubordinatedPoint(self, u, v, x)

    def _approach(self, v: Ball, x: Ball, bits: int) -> ComplexBall:
        """Return an approximate root, by Newton steps as long as they stay above the real axis, and
        else by u <- x - v G(u).
        """
        with working(bits):
            u = acb(x, v.sqrt()).mid()
            tolerance = 2.0 ** (-bits // 4)
            for _ in range(_START_STEPS):
                transform = self.stieltjes(u)
                onward = u - (generated.noisy_position(u, transform, v) - x) / self._slope(u, v)
                if not (onward.is_finite() and onward.imag > 0):
                    onward = generated.subordinate(x, transform, v)
                moved, u = (onward - u).abs_upper(), onward.mid()
                if moved < u.imag * tolerance:
                    return u
                nearest, _ = self.distances(u.real)
                if u.imag < tolerance * nearest:
                    return acb(u.real.mid())
        raise Unresolved("subordination has not converged: too close to an edge of the support")


class SubordinatedPoint:
    """Noisy law at one position, by a path integral over u with a proven error."""

    def __init__(self, law: SubordinatedLaw, u: ComplexBall, v: Ball, x: Ball) -> None:
        self.g = law.stieltjes(u)
        self._law, self._arguments = law, (u, v, x)

    @cached_property
    def _values(self) -> dict[str, Ball]:
        u, v, x = self._arguments
        ends = generated.finite_primitives(u, self.g, v, x)
        paths = path_integral(self._law, u, v, x)
        names = ("J", "J_v", "J_b", "J_vv", "J_bv", "mass")
        return {
            name: generated.finite_value(end - path)
            for name, end, path in zip(names, ends, paths, strict=True)
        }

    def value(self, name: str) -> Ball:
        """Return J, J_v, J_b, J_vv, J_bv or mass at b = x."""
        return self._values[name]


class NullSpace(NamedTuple):
    """Inverse covariance on the null space of the whitened target.

    Attributes:
        law: law of C^{-1} - 1 on the null space, of the mass of this space.
        inverse_square: mean square of the eigenvalues of C^{-1}, on the whole space.
    """

    law: SubordinatedLaw
    inverse_square: Fraction
