"""Interpolation and recovery thresholds at any number of digits (theory note, section 5; generated step `thresholds`).

The digits are checked, not proven in ball arithmetic: the root is found at two working precisions that must agree, and
the residual over the slope at the root must be below the last digit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mpmath.ctx_mp import MPContext

from generated.tied_attention import multiprecision as generated
from numeric.scalar_root import LOW_DIGITS, Context, Real, bracketed, refine

MAX_DIGITS = 10_000  # seconds; beyond it a threshold takes minutes
_POLYROOTS_DIGITS = 200  # beyond it Newton steps from there are cheaper
_GUARD = 20  # digits lost in the closed forms at moderate parameters, with room to spare


class DigitsNotConfirmed(ArithmeticError):
    """The two working precisions disagree within the digits asked for."""


@dataclass(frozen=True)
class Threshold:
    """A critical sample ratio alpha = n/d^2 (dimensionless) as a decimal string of `digits` correct significant digits."""

    kind: str
    value: str
    digits: int
    residual: str

    def __float__(self) -> float:
        return float(self.value)


def interpolation(kappa0: Fraction, noise: Fraction, tokens: int = 2, digits: int = 50) -> Threshold:
    """Sample ratio below which the training loss can be zero, for width kappa >= 1 and label noise Delta > 0.

    Args:
        kappa0: rank ratio of the target, > 0.
        noise: Delta > 0, variance of the label noise inside the softmax.
        tokens: T >= 2.
        digits: significant digits asked for, 1 to MAX_DIGITS.

    Raises:
        ValueError: an argument outside its domain.
        DigitsNotConfirmed: two precisions disagree; ask for fewer digits.

    Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2.
    """
    _require(
        noise > 0, "noise", noise, "must be positive for the interpolation threshold; use recovery() at zero noise"
    )
    _require(kappa0 > 0, "kappa0", kappa0, "must be positive")
    _require(tokens >= 2, "tokens", tokens, "must be at least 2")

    # J - v J_v - q0 = Delta/2: a small Delta cancels, and for kappa0 > 1 the root lies as close to where it starts to grow.
    lost = 2 * len(str(noise.denominator // noise.numerator + 1))

    def condition(mp: Context, v: Real) -> tuple[Real, Real]:
        values = _Spectrum(mp, v, kappa0)
        residual = generated.interpolation_residual(mp, values.J, values.J_v, v, _real(mp, noise), values.q0)
        return residual, generated.interpolation_slope(mp, values.J_vv, v)

    def ratio(mp: Context, v: Real) -> Real:
        return generated.interpolation_ratio(mp, _Spectrum(mp, v, kappa0).J_v, generated.label_numbers(mp, tokens))

    def bracket(mp: Context) -> tuple[Real, Real]:
        low = high = mp.mpf(1)
        while condition(mp, high)[0] <= 0:
            high *= 4
        while condition(mp, low)[0] >= 0:
            low /= 4
        return low, high

    return _solve("interpolation", condition, ratio, bracket, digits, lost)


def recovery(kappa0: Fraction, tokens: int = 2, digits: int = 50) -> Threshold:
    """Sample ratio above which noise-free labels determine the target, for beta = beta0 and width kappa >= kappa0.

    Args and raises as `interpolation`. Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2; it equals the
    minimax risk of positive semidefinite denoising (Donoho, Gavish, Montanari 2013).
    """
    _require(kappa0 > 0, "kappa0", kappa0, "must be positive")
    _require(tokens >= 2, "tokens", tokens, "must be at least 2")
    if kappa0 >= 1:
        mp = context(digits + _GUARD)
        value = generated.recovery_ratio_full_rank(mp, mp.mpf(1) * generated.label_numbers(mp, tokens))
        return Threshold("recovery", decimal(mp, value, digits), digits, "0")

    lost = len(str(kappa0.denominator // kappa0.numerator + 1))  # odds ~ theta^5 cancel at small theta

    def condition(mp: Context, theta: Real) -> tuple[Real, Real]:
        excess = generated.recovery_odds(mp, theta) - generated.target_odds(mp, _real(mp, kappa0))
        return excess, generated.recovery_odds_slope(mp, theta)

    def ratio(mp: Context, theta: Real) -> Real:
        return generated.recovery_ratio(mp, theta, _real(mp, kappa0), generated.label_numbers(mp, tokens))

    def bracket(mp: Context) -> tuple[Real, Real]:
        low, gap = mp.mpf(1), mp.mpf(1)
        while condition(mp, low)[0] >= 0:
            low /= 2
        while condition(mp, mp.pi / 2 - gap)[0] <= 0:
            gap /= 2
        return low, mp.pi / 2 - gap

    return _solve("recovery", condition, ratio, bracket, digits, lost)


class _Spectrum:
    """Values of the spectral function at b = 0, computed when asked for."""

    def __init__(self, mp: Context, v: Real, kappa0: Fraction) -> None:
        self._mp, self._v, self._kappa0 = mp, v, _real(mp, kappa0)
        self._r = generated.inverse_jump(mp, self._kappa0, mp.mpf(1))
        self._g = physical_root(mp, v, mp.mpf(0), self._kappa0, self._r)

    def _value(self, name: str) -> Real:
        return getattr(generated, f"spectral_{name}")(self._mp, self._g, self._v, 0, self._kappa0, self._r)

    @property
    def J(self) -> Real:
        return self._value("J")

    @property
    def J_v(self) -> Real:
        return self._value("J_v")

    @property
    def J_vv(self) -> Real:
        return self._value("J_vv")

    @property
    def q0(self) -> Real:
        return generated.target_moments(self._mp, self._kappa0, self._r)[1]


def physical_root(mp: Context, v: Real, b: Real, kappa0: Real, r: Real) -> Any:
    """Stieltjes transform g of the noisy law at b, with the proof of its branch: Im g < 0, or z'(g) < 0 and g real.

    Raises:
        ArithmeticError: no root of the resolvent polynomial carries the proof.
    """
    coefficients = generated.resolvent_polynomial(mp, v, b, kappa0, r)
    coarse = min(mp.dps, _POLYROOTS_DIGITS)
    with mp.workdps(coarse):
        roots = mp.polyroots([+value for value in coefficients], maxsteps=200, extraprec=2 * mp.prec)
        g = _proven_branch(mp, roots, v, kappa0, r)
    for _ in range((mp.dps // coarse).bit_length() + 1):  # each Newton step doubles the digits
        value, slope = mp.polyval(coefficients, g, derivative=True)
        g = g - value / slope
    return g


def _proven_branch(mp: Context, roots: list[Any], v: Real, kappa0: Real, r: Real) -> Any:
    for g in roots:
        if mp.im(g) < -(mp.mpf(10) ** (-mp.dps // 2)) * abs(g):  # a double root is known to half the digits
            return g
    real = [mp.re(g) for g in roots]
    falling = [g for g in real if generated.resolvent_slope(mp, g, v, kappa0, r) < 0]
    if len(falling) != 1:
        raise ArithmeticError(f"{len(falling)} real roots with z'(g) < 0 at v = {mp.nstr(v, 10)}: expected one")
    return mp.mpc(falling[0])


def decimal(mp: Context, value: Real, digits: int) -> str:
    """The value rounded to `digits` significant digits, in positional notation, trailing zeros kept."""
    return str(mp.nstr(value, digits, strip_zeros=False, min_fixed=-mp.inf, max_fixed=mp.inf))


def _solve(
    kind: str,
    condition: Callable[[Context, Real], tuple[Real, Real]],
    ratio: Callable[[Context, Real], Real],
    bracket: Callable[[Context], tuple[Real, Real]],
    digits: int,
    lost: int,
) -> Threshold:
    """Find the root at two precisions and read the threshold off it."""
    _require(1 <= digits <= MAX_DIGITS, "digits", digits, f"must lie from 1 to {MAX_DIGITS}")
    mp = context(LOW_DIGITS + lost)
    low, high = bracket(mp)
    start = bracketed(lambda x: condition(mp, x), low, high, mp.mpf(10) ** (-LOW_DIGITS // 2 - lost // 2))

    def at(precision: int) -> tuple[Context, Real, Real]:
        working = context(precision)
        root = refine(working, lambda x: condition(working, x), working.mpf(start), precision - lost, lost)
        value, slope = condition(working, root)
        return working, ratio(working, root), abs(value / (slope * root))

    precision = digits + lost + _GUARD
    mp, value, residual = at(precision)
    _, check, _ = at(precision + digits // 10 + _GUARD)
    allowed = mp.mpf(10) ** (-digits)
    if abs(value - check) > allowed * abs(check) / 10 or residual > allowed:
        raise DigitsNotConfirmed(f"{kind}: {mp.nstr(value, 20)} and {mp.nstr(check, 20)} differ within {digits} digits")
    return Threshold(kind, decimal(mp, check, digits), digits, mp.nstr(residual, 3))


def context(digits: int) -> Context:
    """A fresh context: precision is never global."""
    mp = MPContext()
    mp.dps = digits
    return mp


def _real(mp: Context, value: Fraction) -> Real:
    return mp.mpf(value.numerator) / value.denominator


def _require(holds: bool, name: str, value: object, rule: str) -> None:
    if not holds:
        raise ValueError(f"{name} = {value}: {rule}")
