"""Laws of finitely many eigenvalues in ball arithmetic, by a path integral with a proven error."""

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction

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
        self._atoms = per_precision(
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
        found._atoms = per_precision(
            lambda: tuple((sign * s, w / 2) for sign in (1, -1) for s, w in self.atoms())
        )
        return found

    def __len__(self) -> int:
        """Return the number of distinct eigenvalues."""
        return self._count

    def atoms(self) -> tuple[tuple[Ball, Ball], ...]:
        """Return the pairs (eigenvalue, weight) at the working precision."""
        return self._atoms()

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

        u = polish(step, start, START_BITS)
        residual = self._position(u, v) - x
        u = contract(
            residual,
            lambda trial: self._slope(trial, v),
            u,
            around_complex,
            residual / self._slope(u, v),
        )
        if start.imag.is_zero():
            u = acb(u.real)
            if not self._slope(u, v).real > 0:
                raise Unresolved(
                    "the real root of u + v G(u) = x is not proven to be the physical one"
                )
        elif not u.imag > 0:
            raise Unresolved("the root of u + v G(u) = x is not proven to lie above the axis")
        return FinitePoint(self, u, v, x)

    def _approach(self, v: Ball, x: Ball, bits: int) -> ComplexBall:
        """Return an approximate root, by Newton steps as long as they stay above the real axis, and
        else by u <- x - v G(u).
        """
        with working(bits):
            u = acb(x, v.sqrt()).mid()
            for _ in range(_START_STEPS):
                transform = self.stieltjes(u)
                newton = u - (generated.noisy_position(u, transform, v) - x) / self._slope(u, v)
                onward = (
                    newton
                    if newton.is_finite() and newton.imag > 0
                    else generated.subordinate(x, transform, v)
                )
                moved, u = (onward - u).abs_upper(), onward.mid()
                if moved < u.imag * 2.0 ** (-bits // 4):
                    return u
                if u.imag < 2.0 ** (-bits // 4) * self._gap(u.real):
                    return acb(u.real.mid())
        raise Unresolved(
            "the subordination iteration did not settle: too close to an edge of the support"
        )

    def _gap(self, position: Ball) -> Ball:
        """Return the distance to the nearest eigenvalue."""
        gaps = ((position - s).abs_lower() for s, _ in self.atoms())
        return min(gaps, key=float)


class FinitePoint:
    """Noisy law at one position, by a path integral over u with a proven error."""

    def __init__(self, law: FiniteLaw, u: ComplexBall, v: Ball, x: Ball) -> None:
        self.g = law.stieltjes(u)
        self._law, self._u, self._v, self._x = law, u, v, x
        self._values: dict[str, Ball] = {}

    def value(self, name: str) -> Ball:
        """Return J, J_v, J_b, J_vv, J_bv or mass at b = x."""
        if not self._values:
            ends = generated.finite_primitives(self._u, self.g, self._v, self._x)
            paths = path_integral(self._law, self._u, self._v, self._x)
            names = ("J", "J_v", "J_b", "J_vv", "J_bv", "mass")
            for key, end, path in zip(names, ends, paths, strict=True):
                self._values[key] = generated.finite_value(end - path)
        return self._values[name]


def exact_list(eigenvalues: Sequence[Fraction], weights: Sequence[Fraction]) -> FiniteLaw:
    """Return the law of exact eigenvalues; equal ones are merged.

    Args:
        eigenvalues: eigenvalues, in any order.
        weights: one for each eigenvalue; positive, with sum one.

    Raises:
        ValueError: a weight is not positive, or the sum is not one.
    """
    require(
        all(weight > 0 for weight in weights) and sum(weights) == 1,
        "weights",
        weights,
        "must be positive, of sum one",
    )
    merged: dict[Fraction, Fraction] = {}
    for eigenvalue, weight in zip(eigenvalues, weights, strict=True):
        merged[eigenvalue] = merged.get(eigenvalue, Fraction(0)) + weight
    distinct = sorted(merged, reverse=True)
    return FiniteLaw(
        lambda: [ball(value) for value in distinct],
        [merged[value] for value in distinct],
        merged.get(Fraction(0), Fraction(0)),
    )


def exact_power_law(gamma: Fraction, dim: int, second_moment: Fraction) -> FiniteLaw:
    """Return the law of `dim` eigenvalues proportional to k^-gamma (theory note, section 1).

    Args:
        gamma: exponent.
        dim: number d of eigenvalues.
        second_moment: second moment tr S0^2/d, eigenvalue^2.

    Raises:
        ValueError: an argument is not positive.
    """
    require(
        gamma > 0 and dim >= 1 and second_moment > 0,
        "gamma, dim, q0",
        (gamma, dim, second_moment),
        "must be positive",
    )

    def eigenvalues() -> list[Ball]:
        powers = [arb(k) ** -ball(gamma) for k in range(1, dim + 1)]
        energy = sum((value * value for value in powers), arb(0)) / dim
        scale = (ball(second_moment) / energy).sqrt()
        return [scale * value for value in powers]

    return FiniteLaw(eigenvalues, [Fraction(1, dim)] * dim, Fraction(0))
