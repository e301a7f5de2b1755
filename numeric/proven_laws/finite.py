"""Laws of finitely many eigenvalues in ball arithmetic, by a path integral with a proven error."""

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction

from flint import acb, arb

from numeric.maths.balls import Ball, ComplexBall, ball, per_precision
from numeric.proven_laws.law import require
from numeric.proven_laws.subordinated import SubordinatedLaw

Atoms = tuple[tuple[Ball, Ball], ...]


class FiniteLaw(SubordinatedLaw):
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
        super().__init__()
        self.zero_mass = zero_mass
        self._count = len(weights)
        # The pairs (eigenvalue, weight) at the working precision.
        self.atoms: Callable[[], Atoms] = per_precision(
            lambda: tuple(zip(eigenvalues(), map(ball, weights), strict=True))
        )

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

    def spread(self, u: ComplexBall) -> ComplexBall:
        """Return -G'(u)."""
        return sum((w / (u - s) ** 2 for s, w in self.atoms()), acb(0))

    def distances(self, centre: Ball) -> tuple[Ball, Ball]:
        """Return the distances of a real point from the nearest and the farthest eigenvalue."""
        distances = [centre - s for s, _ in self.atoms()]
        return (
            min((gap.abs_lower() for gap in distances), key=float),
            max((gap.abs_upper() for gap in distances), key=float),
        )


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
