"""Laws of finitely many eigenvalues in ball arithmetic, by a path integral with a proven error."""

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property

from flint import acb, arb

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
    working,
)
from numeric.model import DEFAULT, functions
from numeric.model import balls as generated
from numeric.proven_laws.law import require
from numeric.proven_laws.path_integral import path_integral

Atoms = tuple[tuple[Ball, Ball], ...]
_START_STEPS = 200  # maximum number; the damped iteration is slow near an edge of the support


class FiniteLaw:
    """Law of finitely many eigenvalues with weights.

    Args:
        eigenvalues: function without arguments that returns the distinct eigenvalues at the working
            precision.
        weights: exact weights, positive, with sum one.
        zero_mass: weight of the eigenvalue 0.
    """

    def __init__(
        self,
        eigenvalues: Callable[[], Sequence[Ball]],
        weights: Sequence[Fraction],
        zero_mass: Fraction,
    ) -> None:
        self.model, self.generated = DEFAULT, generated
        self.zero_mass = zero_mass
        self._count = len(weights)
        # The pairs (eigenvalue, weight) at the working precision.
        self.atoms: Callable[[], Atoms] = per_precision(
            lambda: tuple(zip(eigenvalues(), map(ball, weights), strict=True))
        )

    def of_model(self, name: str) -> "FiniteLaw":
        """Return the same law with the equations of another model."""
        found = copy(self)
        found.model, found.generated = name, functions("balls", name)
        return found

    def symmetrised(self) -> "FiniteLaw":
        """Return the law of singular values: each eigenvalue with both signs, with half of its
        weight each.
        """
        found = copy(self)
        found._count = 2 * self._count
        found.atoms = per_precision(
            lambda: tuple((sign * s, w / 2) for sign in (1, -1) for s, w in self.atoms())
        )
        return found

    def __len__(self) -> int:
        """Return the number of distinct eigenvalues."""
        return self._count

    def __repr__(self) -> str:
        return f"{self._count} eigenvalues with weights"

    def moments(self) -> tuple[Ball, Ball]:
        """Return the mean and the second moment."""
        atoms = self.atoms()
        return sum((w * s for s, w in atoms), arb(0)), sum((w * s * s for s, w in atoms), arb(0))

    def stieltjes(self, u: ComplexBall) -> ComplexBall:
        """Return G(u) of the target."""
        return sum((w / (u - s) for s, w in self.atoms()), acb(0))

    def _position(self, u: ComplexBall, v: Ball) -> ComplexBall:
        return generated.noisy_position(u, self.stieltjes(u), v)

    def _slope(self, u: ComplexBall, v: Ball) -> ComplexBall:
        """Return the derivative of the position in u."""
        return generated.noisy_slope(sum((w / (u - s) ** 2 for s, w in self.atoms()), acb(0)), v)

    def at(self, v: Ball, x: Ball) -> "FinitePoint":
        """Return the noisy law at x, from the root of u = x - v G(u).

        The root u is proven to be the physical one: it is the only root above the real axis, or, if
        there is none, the only real root with v sum w/(u - s)^2 < 1 (Denjoy-Wolff).

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

    def _proven_from(self, start: ComplexBall, v: Ball, x: Ball) -> "FinitePoint":
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
        return FinitePoint(self, u, v, x)

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
                nearest = min(((u.real - s).abs_lower() for s, _ in self.atoms()), key=float)
                if u.imag < tolerance * nearest:
                    return acb(u.real.mid())
        raise Unresolved("subordination has not converged: too close to an edge of the support")


class FinitePoint:
    """Noisy law at one position, by a path integral over u with a proven error."""

    def __init__(self, law: FiniteLaw, u: ComplexBall, v: Ball, x: Ball) -> None:
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


def exact_list(eigenvalues: Sequence[Fraction], weights: Sequence[Fraction]) -> FiniteLaw:
    """Return the law of exact eigenvalues; equal ones are merged.

    Args:
        eigenvalues: eigenvalues, in any order.
        weights: one for each eigenvalue; positive, with sum one.

    Raises:
        ValueError: a weight is not positive, or the sum is not one.
    """
    valid = all(weight > 0 for weight in weights) and sum(weights) == 1
    require(valid, "weights", weights, "must be positive, of sum one")
    merged: dict[Fraction, Fraction] = {}
    for eigenvalue, weight in zip(eigenvalues, weights, strict=True):
        merged[eigenvalue] = merged.get(eigenvalue, Fraction(0)) + weight
    distinct = sorted(merged, reverse=True)
    ordered = [merged[value] for value in distinct]
    zero_mass = merged.get(Fraction(0), Fraction(0))
    return FiniteLaw(lambda: list(map(ball, distinct)), ordered, zero_mass)


def exact_power_law(gamma: Fraction, dim: int, second_moment: Fraction) -> FiniteLaw:
    """Return the law of `dim` eigenvalues proportional to k^-gamma (theory note, section 1).

    Args:
        gamma: exponent.
        dim: number d of eigenvalues.
        second_moment: second moment tr S0^2/d, eigenvalue^2.

    Raises:
        ValueError: an argument is not positive.
    """
    given = (gamma, dim, second_moment)
    require(all(value > 0 for value in given), "gamma, dim, q0", given, "must be positive")

    def eigenvalues() -> list[Ball]:
        powers = [arb(k) ** -ball(gamma) for k in range(1, dim + 1)]
        energy = sum((value * value for value in powers), arb(0)) / dim
        scale = (ball(second_moment) / energy).sqrt()
        return [scale * value for value in powers]

    return FiniteLaw(eigenvalues, [Fraction(1, dim)] * dim, Fraction(0))
