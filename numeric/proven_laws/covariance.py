"""Laws of matrices C^{1/2} S0 C^{1/2} and of blocks of C^{-1} in ball arithmetic, for a target S0
with eigenvectors that are independent of C (theory note, section 13).

Their Stieltjes transform G(u) follows from the transform h weighted by C, which is the root of
E_c[c/D(u, R(h))] = h (step `token_covariance`). Above the real axis it is the only root below it,
because the map of h has its values there; on the real axis it is the only root at which the map has
a slope below one (Denjoy-Wolff).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

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
    working,
)
from numeric.model import balls as generated
from numeric.proven_laws.subordinated import SubordinatedLaw

_HALVINGS = 200  # of the height, on the way from far above the real axis
_STEPS = 50  # of Newton's method at each height
Strength = Callable[[ComplexBall], tuple[ComplexBall, ComplexBall]]


class _Sums(NamedTuple):
    """E_c[c/D] and E_c[c^n/D^2] for n = 0, 1, 2, and the slope of R."""

    transform: ComplexBall
    squares: tuple[ComplexBall, ComplexBall, ComplexBall]
    slope: ComplexBall


class CovarianceLaw(SubordinatedLaw):
    """Law of C^{1/2} S0 C^{1/2} + b (1 - C^{-1}), or of the null space of S0 alone.

    Args:
        covariance: exact eigenvalues of C, of mean one.
        weights: exact weights, positive, with sum one.
        b: exact coefficient of the penalty.
        strength: R-transform of the target with its slope, as a function of h.
        hull: function without arguments that returns bounds of the support.
        moments: function without arguments that returns the mean and the second moment.
        zero_mass: exact fraction of zero eigenvalues of the target.
    """

    def __init__(
        self,
        covariance: Sequence[Fraction],
        weights: Sequence[Fraction],
        b: Fraction,
        strength: Strength,
        hull: Callable[[], tuple[Ball, Ball]],
        moments: Callable[[], tuple[Ball, Ball]],
        zero_mass: Fraction,
    ) -> None:
        super().__init__()
        self._pairs = per_precision(
            lambda: [(ball(c), ball(w)) for c, w in zip(covariance, weights, strict=True)]
        )
        self._b, self._strength, self.zero_mass = b, strength, zero_mass
        self._hull, self._moments = per_precision(hull), per_precision(moments)
        self._size = len(covariance)
        self._last: ComplexBall | None = None  # transform at the last point, near the next one

    def __len__(self) -> int:
        """Return the number of eigenvalues of C."""
        return self._size

    def __repr__(self) -> str:
        return f"law of a covariance with {self._size} eigenvalues"

    def moments(self) -> tuple[Ball, Ball]:
        """Return the mean and the second moment."""
        return self._moments()

    def distances(self, centre: Ball) -> tuple[Ball, Ball]:
        """Return bounds of the distances of a real point from the support."""
        low, high = self._hull()
        outside = max(low - centre, centre - high, key=float)
        farthest = max((centre - low).abs_upper(), (high - centre).abs_upper(), key=float)
        return (outside.abs_lower() if outside > 0 else arb(0)), farthest

    def _sums(self, u: ComplexBall, h: ComplexBall) -> _Sums:
        strength, slope = self._strength(h)
        b, total, squares = ball(self._b), acb(0), [acb(0), acb(0), acb(0)]
        for c, w in self._pairs():
            inverse = 1 / generated.covariance_denominator(u, strength, b, c)
            total += w * c * inverse
            square = w * inverse**2
            for power in range(3):
                squares[power] += square * c**power
        return _Sums(total, (squares[0], squares[1], squares[2]), slope)

    def _step(self, u: ComplexBall, h: ComplexBall) -> ComplexBall:
        sums = self._sums(u, h)
        return (h - sums.transform) / (1 - sums.slope * sums.squares[2])

    def _start(self, u: ComplexBall) -> ComplexBall:
        """Return an approximate transform, by Newton's method from far above the real axis."""
        with working(START_BITS):
            low, high = self._hull()
            height = 4 * max(abs(float(low)), abs(float(high)), abs(float(u.real.mid())))
            h = 1 / acb(u.real.mid(), u.imag.mid() + height)
            for _ in range(_HALVINGS):
                h = self._near(u.mid() + acb(0, height), h)
                if height < 2.0 ** (-START_BITS // 2) or height < 0.25 * float(u.imag):
                    break
                height /= 2
            return self._near(u.mid(), h)

    def _near(self, u: ComplexBall, h: ComplexBall) -> ComplexBall:
        """Return the transform at u from that at a point near it, without proof."""
        for _ in range(_STEPS):
            change = self._step(u, h).mid()
            onward = (h - change).mid()
            if not onward.is_finite() or (u.imag > 0 and not onward.imag < 0):
                onward = ((h + self._sums(u, h).transform) / 2).mid()
            moved, h = (onward - h).abs_upper(), onward
            if moved < h.abs_upper() * 2.0 ** (-START_BITS // 2):
                break
        return h

    def transform(self, u: ComplexBall) -> ComplexBall:
        """Return the proven transform h weighted by C at u.

        Raises:
            Unresolved: u is too close to the support for the precision or the width of the ball.
        """
        is_real = u.imag.contains(0)
        starts = [] if self._last is None or is_real else [self._last]
        reason: Unresolved | None = None
        for start in (*starts, None):
            try:
                h = self._proven(u, self._start(u) if start is None else start, is_real)
            except Unresolved as error:
                reason = error
                continue
            self._last = h.mid()
            return h
        raise reason or Unresolved("no transform found")

    def _proven(self, u: ComplexBall, start: ComplexBall, is_real: bool) -> ComplexBall:
        centre = polish(lambda h: self._step(u.mid(), h), acb(start.real) if is_real else start, 64)

        def slope(h: ComplexBall) -> ComplexBall:
            sums = self._sums(u, h)
            return 1 - sums.slope * sums.squares[2]

        excess = centre - self._sums(u, centre).transform
        h = contract(excess, slope, centre, around_complex, excess / slope(centre))
        if is_real:  # the root continues that at the real centre, which is real
            h = acb(h.real) if u.imag.is_zero() else h
            if not slope(h).real > 0:
                raise Unresolved("the real transform is not proven to be physical")
        elif not (u.imag > 0 and h.imag < 0):
            raise Unresolved("the transform is not proven to lie below the real axis")
        return h

    def stieltjes(self, u: ComplexBall) -> ComplexBall:
        """Return G(u)."""
        strength, _ = self._strength(self.transform(u))
        b = ball(self._b)
        terms = (w / generated.covariance_denominator(u, strength, b, c) for c, w in self._pairs())
        return sum(terms, acb(0))

    def spread(self, u: ComplexBall) -> ComplexBall:
        """Return -G'(u), with the change of h along u."""
        sums = self._sums(u, self.transform(u))
        zeroth, first, second = sums.squares
        return zeroth + sums.slope * first**2 / (1 - sums.slope * second)


def free_product(
    covariance: Sequence[Fraction], weights: Sequence[Fraction], kappa0: Fraction, scale: Fraction
) -> CovarianceLaw:
    """Return the law of C^{1/2} S0 C^{1/2} for a Marchenko-Pastur target S0.

    Args:
        covariance: exact eigenvalues of C, of mean one.
        weights: exact weights, positive, with sum one.
        kappa0: rank ratio of the target.
        scale: factor of the target.
    """
    law = per_precision(lambda: generated.law_parameters(ball(kappa0), ball(scale)))

    def hull() -> tuple[Ball, Ball]:
        rate, r = law()
        # (1 + sqrt(kappa0))^2/r bounds the target; products of norms bound the whitened one.
        return arb(0), ball(max(covariance)) * (1 + rate.sqrt()) ** 2 / r

    def moments() -> tuple[Ball, Ball]:
        mean, square = generated.target_moments(*law())
        excess = sum(w * c**2 for c, w in zip(covariance, weights, strict=True)) - 1
        return mean, square + mean**2 * ball(Fraction(excess))

    def strength(h: ComplexBall) -> tuple[ComplexBall, ComplexBall]:
        found: tuple[ComplexBall, ComplexBall] = generated.r_transform(h, *law())
        return found

    zero_mass = max(Fraction(0), 1 - kappa0)
    return CovarianceLaw(covariance, weights, Fraction(0), strength, hull, moments, zero_mass)


def null_block(
    covariance: Sequence[Fraction], weights: Sequence[Fraction], zero_mass: Fraction
) -> CovarianceLaw:
    """Return the law of C^{-1} - 1 on a random null space of C^{1/2} S0 C^{1/2}.

    Args:
        covariance: exact eigenvalues of C, of mean one.
        weights: exact weights, positive, with sum one.
        zero_mass: exact fraction of zero eigenvalues, positive.
    """

    def hull() -> tuple[Ball, Ball]:
        return 1 / ball(max(covariance)) - 1, 1 / ball(min(covariance)) - 1

    def moments() -> tuple[Ball, Ball]:
        raise NotImplementedError("moments of a block are not needed")

    def strength(h: ComplexBall) -> tuple[ComplexBall, ComplexBall]:
        found: tuple[ComplexBall, ComplexBall] = generated.null_transform(h, ball(zero_mass))
        return found

    return CovarianceLaw(covariance, weights, Fraction(-1), strength, hull, moments, zero_mass)
