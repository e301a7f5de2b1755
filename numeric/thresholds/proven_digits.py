"""Thresholds with proven digits.

An isolated root of the condition in ball arithmetic gives a decimal string that is correct for
every point of the ball.
"""

from collections.abc import Callable
from fractions import Fraction

from numeric.maths.ball_roots import Function, Isolation, refine
from numeric.maths.balls import (
    START_BITS,
    Ball,
    Unresolved,
    ball,
    decimal,
    digit_bits,
    working,
)
from numeric.thresholds.setting import Setting, Threshold

_GUARD = 24  # extra bits
_ATTEMPTS = 5  # the extra bits double at each attempt


def exact_threshold(setting: Setting, value: Fraction) -> Threshold:
    """Return a threshold that is a rational number with new tokens in every sample.

    Args:
        setting: setting of the threshold.
        value: critical sample ratio with new tokens.

    Raises:
        Unresolved: the precision limit is reached.
    """
    if setting.vocabulary is not None and value > setting.vocabulary.free:

        def attempt(guard: int) -> Threshold | None:
            with working(digit_bits(setting.digits) + guard):
                found = decimal(setting.samples_worth(ball(value)), setting.digits)
            choice = f"exact with new tokens: {value}"
            return setting.threshold((found,), True, choice) if found else None

        return at_rising_precision(setting, attempt, 0)
    text = decimal(value, setting.digits)
    assert text is not None  # the digits of a fraction always exist
    return setting.threshold((text,), True, f"exact: {value}")


def exponent(value: Fraction) -> int:
    """Return the binary exponent of a positive fraction, also outside the range of float."""
    return value.numerator.bit_length() - value.denominator.bit_length()


def prove_threshold(
    setting: Setting,
    isolated: Callable[[], Isolation],
    condition: Function,
    ratio: Callable[[Ball], Ball],
    lost: int,
    choice: str,
    bound: Fraction | None = None,
) -> Threshold:
    """Return the threshold, the largest sample ratio at a root of the condition.

    The precision increases until the balls prove the digits.

    Args:
        setting: setting of the threshold.
        isolated: function that isolates the roots of the condition.
        condition: function whose roots are candidates for the threshold.
        ratio: sample ratio with new tokens at a root.
        lost: bits lost by cancellation.
        choice: reason why the largest ratio is the threshold.
        bound: upper bound on the sample ratio.

    Raises:
        Unresolved: the precision limit is reached.
    """
    digits = setting.digits

    def attempt(guard: int) -> Threshold | None:
        with working(START_BITS + guard):
            found = isolated()
        with working(digit_bits(digits) + guard):
            at_roots = (ratio(refine(condition, root, guard)) for root in found.roots)
            ratios = [setting.samples_worth(alpha) for alpha in at_roots]
            ratios.sort(key=float, reverse=True)
            roots = [decimal(value, digits) for value in ratios]
        values = tuple(value for value in roots if value)
        if not values or len(values) < len(roots):
            return None
        binds = str(bound) if bound is not None and ball(bound) < ratios[0] else None
        return setting.threshold(values, found.complete, choice, binds)

    return at_rising_precision(setting, attempt, lost)


def at_rising_precision(
    setting: Setting, attempt: Callable[[int], Threshold | None], lost: int
) -> Threshold:
    """Return the threshold of the first attempt that proves its digits.

    Args:
        setting: setting of the threshold.
        attempt: function of the number of guard bits; returns None if the digits are not proven.
        lost: bits lost by cancellation.

    Raises:
        Unresolved: the precision limit is reached.
    """
    reason: Unresolved | None = None
    for number in range(_ATTEMPTS):
        try:
            found = attempt(lost + _GUARD * 2**number)
        except Unresolved as error:
            reason = error
            continue
        if found:
            return found
    cause = reason or "the ball stays too wide"
    raise Unresolved(f"{setting.kind}: {setting.digits} digits could not be proven ({cause})")
