"""A threshold with proven digits: from an isolated root of its condition to a decimal string that every point of the ball shares."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_roots import Function, Isolation, refine
from numeric.maths.balls import BITS_PER_DIGIT, START_BITS, Ball, Unresolved, decimal, working
from numeric.model import MatrixClass, call, structure
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.law import Law, require

MAX_DIGITS = 10_000  # a second for a law in closed form
MAX_WORK = 500_000  # digits times eigenvalues of a finite list: some minutes
_GUARD = 24  # bits beyond the digits asked for
_ATTEMPTS = 5  # doublings of the guard: more lost bits than these mean that something else is wrong


@dataclass(frozen=True)
class Threshold:
    """A critical sample ratio alpha = n/d^2 (dimensionless).

    `value`: decimal string, each of its `digits` significant digits proven in ball arithmetic. `roots`: the values at all
    roots of its condition, likewise; `complete`: proven that there is no other; `choice`: why `value` is the one.
    `upper_bound`: an exact sample ratio beyond which the training loss is positive whatever the replica-symmetric value, by counting
    parameters (None where it does not bind).
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


def exact(kind: str, value: Fraction, digits: int) -> Threshold:
    """A threshold that is a rational number."""
    text = decimal(value, digits)
    assert text is not None  # a fraction always has its digits
    return Threshold(kind, text, digits, (text,), True, f"exact: {value}")


class Proven(NamedTuple):
    """Decimal values at every root, largest first; the largest as a ball; whether it is proven that no root is missing."""

    values: tuple[str, ...]
    largest: Ball
    complete: bool


def exponent(value: Fraction) -> int:
    """Binary exponent of a positive fraction, also outside the range of float."""
    return value.numerator.bit_length() - value.denominator.bit_length()


def proven(
    kind: str,
    isolated: Callable[[], Isolation],
    condition: Function,
    ratio: Callable[[Ball], Ball],
    digits: int,
    lost: int,
) -> Proven:
    """Decimal values of `ratio` at every root of `condition`, largest first; the largest as a ball; whether no root is missing.

    The precision is raised until the balls prove the digits.

    Raises:
        Unresolved: it was raised in vain.
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
                values = [decimal(value, digits) for value in ratios]
        except Unresolved as error:
            reason = error
            continue
        if values and None not in values:
            return Proven(tuple(value for value in values if value), ratios[0], found.complete)
    raise Unresolved(
        f"{kind}: {digits} digits could not be proven ({reason or 'the ball stays too wide'})"
    )


def require_valid_arguments(
    kind: str, law: Law, tokens: int, digits: int, width: Fraction = Fraction(1)
) -> None:
    """What every kind of threshold asks of its arguments.

    Raises:
        ValueError: an argument outside its domain.
    """
    require(tokens >= 2, "tokens", tokens, "must be at least 2")
    _require_derived(kind, law.model, tokens, width)
    require(1 <= digits <= MAX_DIGITS, "digits", digits, f"must lie from 1 to {MAX_DIGITS}")
    if isinstance(law, FiniteLaw):
        work = digits * len(law)
        require(
            work <= MAX_WORK,
            "digits",
            digits,
            f"times {len(law)} eigenvalues must not exceed {MAX_WORK}",
        )
        if structure(law.model).matrix is MatrixClass.POSITIVE:
            least = min((s for s, _ in law.atoms()), key=float)
            require(
                not least < 0,
                "eigenvalues",
                float(least),
                f"must not be negative: {law.model} has positive targets",
            )
    require(law.zero_mass < 1, "law", "all eigenvalues 0", "the target must not be zero")


def _require_derived(kind: str, model: str, tokens: int, width: Fraction) -> None:
    shape = structure(model)
    if reason := shape.missing_thresholds.get(kind):
        raise InvalidParameter(
            "model", model, f"has no {kind} threshold: {reason}", "choose another"
        )
    if tokens != 2 and not shape.takes_tokens:
        raise InvalidParameter(
            "tokens",
            tokens,
            f"is no setting of the model {model}, whose file states it",
            "leave it out",
        )
    if width != 1 and "kappa" not in shape.penalty_settings:
        raise InvalidParameter(
            "width", width, f"is no setting of the model {model}", "leave it at 1"
        )
    if width < 1 and shape.matrix is not MatrixClass.POSITIVE:
        rule = "must be 1 or more where eigenvalues of either sign are learned: a rank limit cuts both ends"
        raise InvalidParameter("width", width, rule, "use 1")


def label_numbers(law: Law, tokens: int) -> Fraction:
    """Numbers D that a label carries."""
    return Fraction(call(law.generated.label_numbers, (), {"T": Fraction(tokens)}))
