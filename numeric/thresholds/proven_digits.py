"""Thresholds with proven digits.

An isolated root of the condition in ball arithmetic gives a decimal string that is correct for
every point of the ball.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_roots import Function, Isolation, refine
from numeric.maths.balls import (
    BITS_PER_DIGIT,
    START_BITS,
    Ball,
    Unresolved,
    ball,
    decimal,
    working,
)
from numeric.maths.domain import integer
from numeric.model import MatrixClass, call, structure
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.law import HasLaw, Law, law_of, require

MAX_DIGITS = 10_000  # takes one second for a law in closed form
MAX_WORK = 500_000  # digits times eigenvalues of a finite list: takes some minutes
_GUARD = 24  # extra bits
_ATTEMPTS = 5  # the extra bits double at each attempt


@dataclass(frozen=True)
class Threshold:
    """A critical sample ratio alpha = n/d^2 (dimensionless).

    value: decimal string, all `digits` significant digits proven in ball arithmetic.
    roots: proven decimal values at all roots of the condition.
    complete: there are provably no further roots.
    choice: reason why `value` is the threshold.
    upper_bound: exact sample ratio from a count of parameters, above which the training loss is
        positive even beyond replica symmetry; None if it does not bind.
    """

    kind: str
    value: str
    digits: int
    roots: tuple[str, ...]
    complete: bool
    choice: str
    upper_bound: str | None = None

    def __float__(self) -> float:
        return float(self.value)


def exact_threshold(kind: str, value: Fraction, digits: int) -> Threshold:
    """Return a threshold that is a rational number.

    Args:
        kind: name of the threshold.
        value: critical sample ratio.
        digits: significant digits.
    """
    text = decimal(value, digits)
    assert text is not None  # the digits of a fraction always exist
    return Threshold(kind, text, digits, (text,), True, f"exact: {value}")


def exponent(value: Fraction) -> int:
    """Return the binary exponent of a positive fraction, also outside the range of float."""
    return value.numerator.bit_length() - value.denominator.bit_length()


def prove_threshold(
    kind: str,
    isolated: Callable[[], Isolation],
    condition: Function,
    ratio: Callable[[Ball], Ball],
    digits: int,
    lost: int,
    choice: str,
    bound: Fraction | None = None,
) -> Threshold:
    """Return the threshold, the largest sample ratio at a root of the condition.

    The precision increases until the balls prove the digits.

    Args:
        kind: name of the threshold.
        isolated: function that isolates the roots of the condition.
        condition: function whose roots are candidates for the threshold.
        ratio: sample ratio at a root.
        digits: significant digits.
        lost: bits lost by cancellation.
        choice: reason why the largest ratio is the threshold.
        bound: upper bound on the sample ratio.

    Raises:
        Unresolved: the precision limit is reached.
    """
    reason: Unresolved | None = None
    for attempt in range(_ATTEMPTS):
        guard = lost + _GUARD * 2**attempt
        try:
            with working(START_BITS + guard):
                found = isolated()
            with working(max(START_BITS, round(digits * BITS_PER_DIGIT)) + guard):
                ratios = [ratio(refine(condition, root, guard)) for root in found.roots]
                ratios.sort(key=float, reverse=True)
                roots = [decimal(value, digits) for value in ratios]
        except Unresolved as error:
            reason = error
            continue
        values = tuple(value for value in roots if value)
        if values and len(values) == len(roots):
            binds = str(bound) if bound is not None and ball(bound) < ratios[0] else None
            return Threshold(kind, values[0], digits, values, found.complete, choice, binds)
    raise Unresolved(
        f"{kind}: {digits} digits could not be proven ({reason or 'the ball stays too wide'})"
    )


class Arguments(NamedTuple):
    """Valid arguments of a threshold; `numbers` is the count D of numbers in a label."""

    law: Law
    numbers: Fraction
    digits: int


def require_valid_arguments(
    kind: str, target: HasLaw | Law, tokens: int, digits: int, width: Fraction = Fraction(1)
) -> Arguments:
    """Check the arguments that all kinds of thresholds have in common.

    Args:
        kind: name of the threshold.
        target: law of the eigenvalues of the target.
        tokens: T.
        digits: significant digits.
        width: rank limit of the student.

    Raises:
        ValueError: an argument is invalid.
    """
    law, tokens, digits = law_of(target), integer("tokens", tokens), integer("digits", digits)
    model, shape = law.model, structure(law.model)
    require(tokens >= 2, "tokens", tokens, "must be at least 2")
    if reason := shape.missing_thresholds.get(kind):
        raise InvalidParameter(
            "model", model, f"has no {kind} threshold: {reason}", "choose another"
        )
    if tokens != 2 and not shape.takes_tokens:
        rule = f"is not a setting of the model {model}, whose file fixes it"
        raise InvalidParameter("tokens", tokens, rule, "leave it out")
    if width != 1 and "kappa" not in shape.penalty_settings:
        rule = f"is not a setting of the model {model}"
        raise InvalidParameter("width", width, rule, "leave it at 1")
    if width < 1 and shape.matrix is not MatrixClass.POSITIVE:
        rule = "must be at least 1 if eigenvalues of either sign are learned"
        raise InvalidParameter("width", width, rule, "use 1")
    require(1 <= digits <= MAX_DIGITS, "digits", digits, f"must be from 1 to {MAX_DIGITS}")
    if isinstance(law, FiniteLaw):
        rule = f"times {len(law)} eigenvalues must not exceed {MAX_WORK}"
        require(digits * len(law) <= MAX_WORK, "digits", digits, rule)
        if shape.matrix is MatrixClass.POSITIVE:
            least = min((s for s, _ in law.atoms()), key=float)
            rule = f"must not be negative: {model} has positive targets"
            require(not least < 0, "eigenvalues", float(least), rule)
    require(law.zero_mass < 1, "law", "all eigenvalues 0", "the target must not be zero")
    numbers = Fraction(call(law.generated.label_numbers, (), {"T": Fraction(tokens)}))
    return Arguments(law, numbers, digits)
