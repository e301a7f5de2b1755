"""Interpolation, recovery and Bayes-optimal recovery thresholds with proven digits (theory note, section 5)."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from numeric.maths.ball_roots import Function, Isolation, isolate, locate, refine
from numeric.maths.balls import BITS_PER_DIGIT, START_BITS, Ball, Unresolved, ball, decimal, working
from numeric.model import balls as generated
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.law import Law, require
from numeric.thresholds.condition import Condition, Excess, full_rank_energy, rank_limited_energy

MAX_DIGITS = 10_000  # a second for a law in closed form
MAX_WORK = 500_000  # digits times eigenvalues of a finite list: some minutes
MOST_BOXES = 20_000  # of the search for all roots at width < 1, in closed form: ten seconds
MOST_FINITE_BOXES = 600  # the same for a finite list of up to ten eigenvalues; longer ones share them out
_GUARD = 24  # bits beyond the digits asked for
_ATTEMPTS = 5  # doublings of the guard: more lost bits than these mean that something else is wrong

CHOICE_FULL = "the only root: E(v) - q0 = delta psi(delta) with psi >= 0 not decreasing for width >= 1"
CHOICE_RECOVERY = "the only root: the odds of the stationary angle increase in it"
CHOICE_LIMITED_RECOVERY = (
    "the only root: the rank limit cuts the noise above the free minimum (replica symmetric, an upper bound)"
)
CHOICE_LIMITED = (
    "the largest: replica-symmetrically the training loss can vanish if and only if 2 D alpha v <= J(v) - q0 - Delta/2 for some "
    "v; the roots are the stationary points of that bound on alpha, and its greatest value is the threshold"
)


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


def interpolation(
    law: Law, noise: Fraction, tokens: int = 2, digits: int = 50, width: Fraction = Fraction(1)
) -> Threshold:
    """Sample ratio below which the training loss can be zero, for label noise Delta > 0.

    Args:
        law: eigenvalue law of the target, not all of it at 0.
        noise: Delta > 0, variance of the label noise inside the softmax.
        tokens: T >= 2.
        digits: significant digits asked for, 1 to MAX_DIGITS (digits times eigenvalues up to MAX_WORK for finite lists).
        width: kappa > 0, rank limit of the student; for kappa < 1 the value is replica symmetric.

    Raises:
        ValueError: an argument outside its domain.
        Unresolved: the digits could not be proven.

    Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2.
    """
    noise, width = Fraction(noise), Fraction(width)  # a float is taken as its exact binary value
    require(noise > 0, "noise", noise, "must be positive for the interpolation threshold; use recovery() at zero noise")
    require(width > 0, "width", width, "must be positive")
    _require_common(law, tokens, digits)
    condition = Condition(law, noise, rank_limited_energy(law, width) if width < 1 else full_rank_energy(law))

    def ratio(v: Ball) -> Ball:
        return generated.interpolation_ratio(condition.energy(v).J_v, generated.label_numbers(ball(tokens)))

    def isolated() -> Isolation:
        low, high = condition.bounds(width)
        if width >= 1:
            return Isolation([locate(condition, low, high)], True)
        most = max(100, MOST_FINITE_BOXES * 10 // (10 + len(law))) if isinstance(law, FiniteLaw) else MOST_BOXES
        return isolate(condition, low, high, condition.excludes, most)

    # E - q0 is compared with Delta/2 and falls with it.
    lost = max(0, -2 * _exponent(noise))
    found = _proven("interpolation", isolated, condition, ratio, digits, lost)
    if width >= 1:
        return Threshold("interpolation", found.values[0], digits, found.values, found.complete, CHOICE_FULL)
    bound = generated.manifold_bound(width, generated.label_numbers(Fraction(tokens)))
    binds = str(bound) if ball(bound) < found.largest else None
    return Threshold("interpolation", found.values[0], digits, found.values, found.complete, CHOICE_LIMITED, binds)


def recovery(law: Law, tokens: int = 2, digits: int = 50, width: Fraction = Fraction(1)) -> Threshold:
    """Sample ratio above which noise-free labels determine the target, for beta = beta0 and width at least the target's rank.

    It depends on the target through its share of zero eigenvalues only. Args and raises as `interpolation`.
    Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2; for width >= 1 it equals the minimax risk of positive
    semidefinite denoising (Donoho, Gavish, Montanari 2013, doi 10.1073/pnas.1306110110).
    """
    rank, width = 1 - law.zero_mass, Fraction(width)
    require(width >= rank, "width", width, f"must be at least the rank ratio {rank} of the target")
    _require_common(law, tokens, digits)
    numbers = generated.label_numbers(Fraction(tokens))
    if rank == 1:
        return _exact("recovery", generated.recovery_ratio(Fraction(generated.full_rank_energy()), numbers), digits)
    if width == rank:
        # No noise eigenvalue fits the rank: the cut is at the upper edge of their semicircle.
        return _exact("recovery", generated.bayes_recovery_ratio(law.zero_mass, numbers), digits)

    zero_mass = law.zero_mass

    def stationary(theta: Ball) -> Excess:
        excess = generated.recovery_odds(theta) - ball(generated.target_odds(zero_mass))
        return Excess(excess, generated.recovery_odds_slope(theta))

    def rank_reached(theta: Ball) -> Excess:
        excess = generated.recovery_mass(theta, ball(zero_mass)) - ball(width)
        return Excess(excess, generated.recovery_mass_slope(theta, ball(zero_mass)))

    def free_ratio(theta: Ball) -> Ball:
        return generated.recovery_ratio(generated.recovery_energy(theta, ball(zero_mass)), ball(numbers))

    def limited_ratio(theta: Ball) -> Ball:
        energy = generated.recovery_energy(theta, ball(zero_mass))
        slope = generated.recovery_slope(theta, ball(zero_mass))
        return generated.recovery_ratio(generated.rank_limited_energy(energy, slope, ball(width)), ball(numbers))

    def root(condition: Function) -> Callable[[], Isolation]:
        return lambda: Isolation([locate(condition, *_angles(condition))], True)

    # The odds are ~ theta^5 for a target of low rank, and diverge towards pi/2 for one of nearly full rank.
    lost = 2 * abs(_exponent(rank) - _exponent(zero_mass)) + 16
    with working(START_BITS + lost):
        limited = width < 1 and rank_reached(root(stationary)().roots[0]).value > 0
    condition, ratio = (rank_reached, limited_ratio) if limited else (stationary, free_ratio)
    found = _proven("recovery", root(condition), condition, ratio, digits, lost)
    choice = CHOICE_LIMITED_RECOVERY if limited else CHOICE_RECOVERY
    return Threshold("recovery", found.values[0], digits, found.values, found.complete, choice)


def _angles(condition: Function) -> tuple[Ball, Ball]:
    """Angles in (0, pi/2) where an increasing condition is negative and positive."""
    low = gap = arb(1) / 2
    while not condition(low).value < 0:
        low = low / 2
    while not condition(arb.pi() / 2 - gap).value > 0:
        gap = gap / 2
    return low, (arb.pi() / 2 - gap).mid()


def bayes(law: Law, tokens: int = 2, digits: int = 50) -> Threshold:
    """Sample ratio above which the Bayes-optimal estimator recovers the target from noise-free labels.

    Args and raises as `recovery`. Source: theory note, section 5; arXiv 2509.24914.
    """
    _require_common(law, tokens, digits)
    value = generated.bayes_recovery_ratio(law.zero_mass, generated.label_numbers(Fraction(tokens)))
    return _exact("bayes", value, digits)


def _exact(kind: str, value: Fraction, digits: int) -> Threshold:
    """A threshold that is a rational number."""
    text = decimal(value, digits)
    assert text is not None  # a fraction always has its digits
    return Threshold(kind, text, digits, (text,), True, f"exact: {value}")


class _Proven(NamedTuple):
    values: tuple[str, ...]
    largest: Ball
    complete: bool


def _exponent(value: Fraction) -> int:
    """Binary exponent of a positive fraction, also outside the range of float."""
    return value.numerator.bit_length() - value.denominator.bit_length()


def _proven(
    kind: str,
    isolated: Callable[[], Isolation],
    condition: Function,
    ratio: Callable[[Ball], Ball],
    digits: int,
    lost: int,
) -> _Proven:
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
            return _Proven(tuple(value for value in values if value), ratios[0], found.complete)
    raise Unresolved(f"{kind}: {digits} digits could not be proven ({reason or 'the ball stays too wide'})")


def _require_common(law: Law, tokens: int, digits: int) -> None:
    require(tokens >= 2, "tokens", tokens, "must be at least 2")
    require(1 <= digits <= MAX_DIGITS, "digits", digits, f"must lie from 1 to {MAX_DIGITS}")
    if isinstance(law, FiniteLaw):
        work = digits * len(law)
        require(work <= MAX_WORK, "digits", digits, f"times {len(law)} eigenvalues must not exceed {MAX_WORK}")
    require(law.zero_mass < 1, "law", "all eigenvalues 0", "the target must not be zero")
