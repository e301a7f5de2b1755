"""Interpolation of noisy labels if tokens come from a finite vocabulary (theory note, section 14).

Labels fix the scores of a connected component of samples up to one constant. In a finite component,
which is a tree, all equations are independent, and the training loss can vanish as with new tokens.
Noise differs between samples that share a token, so that it costs more: its energy is
tr(K^-1 K_new), with K the covariance of the equations and K_new the part of single samples. This is
interpolation of new tokens with larger noise. In a giant component labels contradict each other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly

from numeric.maths.balls import START_BITS, Ball, Unresolved, ball, digit_bits, working
from numeric.model import call
from numeric.thresholds.vocabulary import VocabularyEquations

_FIRST, _MOST = 16, 2**18  # terms of a sum over sizes of components
_LOST = 12  # logarithm of the factors beside the exponential of these terms
_GUARD = 32  # extra bits
_MORE_DIGITS = 6  # of values from which the digits of a root follow
_SEARCH_BITS = 24  # relative accuracy of the search for a root
_STEPS = 30  # of the secant method

OfNewTokens = Callable[[Fraction, int], str]


@dataclass(frozen=True)
class RepeatedNoise:
    """Noise of labels whose samples share tokens.

    Attributes:
        equations: equations of the labels.
    """

    equations: VocabularyEquations

    def interpolation(
        self, noise: Fraction, of_new: OfNewTokens, least: Fraction, digits: int
    ) -> Ball:
        """Return an enclosure of the sample ratio at which noisy labels are no longer fitted.

        The threshold of new tokens decreases with the noise, and the factor of the noise increases
        with the sample ratio. So the signs of their difference at both ends enclose the root.

        Args:
            noise: variance of the label noise.
            of_new: threshold of new tokens, as a function of noise and digits.
            least: its limit at infinite noise, below that of the giant component.
            digits: significant digits of the enclosure.

        Raises:
            Unresolved: the precision does not suffice.
        """
        from scipy.optimize import brentq  # thresholds of new tokens do without SciPy

        more = digits + _MORE_DIGITS

        def threshold(factor: Ball) -> Fraction:
            return Fraction(of_new(noise * _fraction(factor), more))

        def gap(alpha: Fraction, bits: int = _SEARCH_BITS) -> Fraction:
            return threshold(self.factor(alpha, bits).mid()) - alpha

        with working(START_BITS):
            onset, low = self.equations.free, least
            high = min(Fraction(of_new(noise, more)), (low + onset) / 2)
            while gap(high) > 0:  # components grow without bound towards the onset
                low, high = high, (high + onset) / 2
            rough = brentq(lambda x: float(gap(Fraction(x))), float(low), float(high))
        close, margin = Fraction(1, 10**more), Fraction(1, 10 ** (digits + 2))
        with working(digit_bits(more) + _GUARD):
            bits = digit_bits(more)
            root = _secant(lambda x: gap(x, bits), Fraction(rough), close)
            low, high = root * (1 - margin), root * (1 + margin)
            rounding = 10 * close  # of a value with `more` digits, whose first may be 1
            above = threshold(self.factor(low, bits).upper()) * (1 - rounding) > low
            below = threshold(self.factor(high, bits).lower()) * (1 + rounding) < high
            if not (above and below):
                raise Unresolved("the digits of the root are not proven")
            return ball(low).union(ball(high))

    def factor(self, alpha: Fraction, bits: int) -> Ball:
        """Return the factor by which sharing tokens raises the energy of the noise.

        A branch of the tree has 1 + (T-1) j tokens, with j samples; j has the law of all offspring
        of a branching process (Dwass, doi 10.2307/3212112). The sum over branches of all tokens of
        a sample is cut off. Each term is at most twice the precision of the component plus one,
        whose mean is known.

        Args:
            alpha: sample ratio below that of the giant component.
            bits: relative accuracy.

        Raises:
            Unresolved: too many terms would be needed.
        """
        tokens = self.equations.tokens
        degree = ball(alpha * tokens / self.equations.ratio)
        children = float(degree * (tokens - 1))
        decay = children - 1 - math.log(children)  # of the law of large branches
        size = _FIRST + round((bits * math.log(2) + _LOST) / decay)
        while size <= _MOST:
            found = self._factor(degree, 1 / (1 - degree * (tokens - 1)), size)
            if found.rad() <= abs(found.mid()) * arb(2) ** -bits:
                return found
            size *= 2
        raise Unresolved("components of samples are too large to sum over")

    def _factor(self, degree: Ball, mean: Ball, size: int) -> Ball:
        tokens = self.equations.tokens
        pairs = tokens * (tokens - 1) // 2
        law, term = [], arb(1)
        for samples in range(size):
            count = 1 + (tokens - 1) * samples
            weight = (degree * count) ** samples * term if samples else arb(1)
            law.append((-degree * count).exp() * weight / count)
            term = term / (samples + 1)
        of_branch = [self._precision(arb(1 + (tokens - 1) * j)) for j in range(size)]
        once, others = arb_poly(law), arb_poly([1])
        for _ in range(tokens - 1):
            others = _cut(others * once, size)
        squares = arb_poly([p * x**2 for p, x in zip(law, of_branch, strict=True)])
        of_squares, of_samples = _cut(squares * others, size), _cut(once * others, size)
        # The precision of a branch is linear in its tokens: sums depend on the sum of tokens.
        start = self._precision(arb(0))
        partial, counted = arb(0), arb(0)
        for j in range(size):
            all_tokens = arb(tokens + (tokens - 1) * j)
            whole = self._precision(all_tokens) + (tokens - 1) * start + pairs
            weight = of_samples[j]
            partial += (2 * tokens * of_squares[j] + pairs * weight) / whole
            counted += weight * (2 * whole + 1)
        mean_whole = tokens * self._precision(mean) + pairs
        rest = (2 * mean_whole + 1 - counted).abs_upper()
        cut = arb(rest / 2, rest / 2)
        numbers = tokens + pairs - 1
        return (2 * mean_whole - pairs - partial - cut) / numbers

    def _precision(self, count: Ball) -> Ball:
        """Return the precision of the constant of a branch of a number of tokens."""
        tokens = {"T": arb(self.equations.tokens)}
        return call(self.equations.generated.branch_precision, (count,), tokens)


def _cut(series: arb_poly, size: int) -> arb_poly:
    return arb_poly([series[j] for j in range(min(size, series.degree() + 1))])


def _fraction(value: Ball) -> Fraction:
    """Return the exact value of a number without radius."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _secant(function: Callable[[Fraction], Fraction], start: Fraction, close: Fraction) -> Fraction:
    """Return an approximate root.

    Args:
        function: decreasing function.
        start: point near the root.
        close: relative size of the last step.

    Raises:
        Unresolved: the steps do not become small.
    """
    last, root = start * (1 + Fraction(1, 10**6)), start
    of_last, value = function(last), function(root)
    bits = close.denominator.bit_length() + _GUARD
    for _ in range(_STEPS):
        if value == of_last:
            return root
        step = value * (root - last) / (of_last - value)
        last, of_last = root, value
        root = _rounded(root + step, bits)
        if abs(step) <= close * root:
            return root
        value = function(root)
    raise Unresolved("the secant method does not converge")


def _rounded(value: Fraction, bits: int) -> Fraction:
    """Return the value with this number of bits after the point."""
    return Fraction(round(value * 2**bits), 2**bits)
