"""Interpolation: sample ratio below which the training loss can be zero (theory note, section 5)."""

from fractions import Fraction

from numeric.maths.ball_roots import Isolation, isolate, locate
from numeric.maths.balls import Ball, ball
from numeric.maths.domain import fraction, integer
from numeric.model import MatrixClass, structure
from numeric.proven_laws.finite import FiniteLaw
from numeric.proven_laws.law import HasLaw, Law, law_of, require
from numeric.thresholds.interpolation_roots import Condition, full_rank_energy
from numeric.thresholds.proven_digits import (
    Threshold,
    exact,
    exponent,
    label_numbers,
    proven,
    require_valid_arguments,
)
from numeric.thresholds.rank_limited_energy import rank_limited_energy

MAX_BOXES = 20_000  # of the search for all roots at width < 1, in closed form: ten seconds
MAX_FINITE_BOXES = (
    600  # the same for a finite list of up to ten eigenvalues; longer ones share them out
)

CHOICE_FULL = (
    "the only root: E(v) - q0 = delta psi(delta) with psi >= 0 not decreasing for width >= 1"
)
CHOICE_LIMITED = (
    "the largest: replica-symmetrically the training loss can vanish if and only if 2 D alpha v <= J(v) - q0 - Delta/2 for some "
    "v; the roots are the stationary points of that bound on alpha, and its greatest value is the threshold"
)


def interpolation_limit(target: HasLaw | Law, tokens: int = 2, digits: int = 50) -> Threshold:
    """Limit of `interpolation` as the label noise goes to 0, for a student as wide as it likes: a rational number.

    It depends on the target through its share of zero eigenvalues only, and is above recovery: between the two, labels with hardly any
    noise are still fitted, and nothing but the target fits them without it.

    Args and raises as `interpolation`. Source: theory note, section 5: statistical dimension of the cone of positive directions.
    """
    law, tokens, digits = law_of(target), integer("tokens", tokens), integer("digits", digits)
    require_valid_arguments("interpolation", law, tokens, digits, Fraction(1))
    numbers = label_numbers(law, tokens)
    if structure(law.model).matrix is not MatrixClass.POSITIVE:
        return exact("interpolation", law.generated.interpolation_count(numbers), digits)
    return exact("interpolation", law.generated.interpolation_limit(law.zero_mass, numbers), digits)


def interpolation(
    target: HasLaw | Law,
    noise: Fraction | float,
    tokens: int = 2,
    digits: int = 50,
    width: Fraction | float = 1,
) -> Threshold:
    """Sample ratio below which the training loss can be zero, for label noise Delta > 0.

    Where eigenvalues of either sign are learned it is the number of parameters over that of labels, whatever target and noise.

    Args:
        target: law of the eigenvalues of S0, not all of it at 0: exact, or in float64. A MarchenkoPastur of Fractions is the law of
            these; floats, and eigenvalues of lists and power laws, are taken as their binary values.
        noise: Delta > 0, variance of the label noise inside the softmax.
        tokens: T >= 2.
        digits: significant digits asked for, 1 to MAX_DIGITS (digits times eigenvalues up to MAX_WORK for finite lists).
        width: kappa > 0, rank limit of the student; for kappa < 1 the value is replica symmetric.

    Raises:
        ValueError: an argument outside its domain.
        Unresolved: the digits could not be proven.

    Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2.

    >>> from attention_erm import MarchenkoPastur, interpolation
    >>> interpolation(MarchenkoPastur(0.5), noise=1, digits=30).value
    '0.145550525072427670500169002204'
    """
    law, tokens, digits = law_of(target), integer("tokens", tokens), integer("digits", digits)
    noise, width = fraction("noise", noise), fraction("width", width)
    require(
        noise > 0,
        "noise",
        noise,
        "must be positive for the interpolation threshold; use recovery() at zero noise",
    )
    require(width > 0, "width", width, "must be positive")
    require_valid_arguments("interpolation", law, tokens, digits, width)
    numbers = label_numbers(law, tokens)
    if structure(law.model).matrix is not MatrixClass.POSITIVE:
        return exact("interpolation", law.generated.interpolation_count(numbers), digits)
    condition = Condition(
        law, noise, rank_limited_energy(law, width) if width < 1 else full_rank_energy(law)
    )

    def ratio(v: Ball) -> Ball:
        return law.generated.interpolation_ratio(condition.energy(v).J_v, ball(numbers))

    def isolated() -> Isolation:
        low, high = condition.bounds(width)
        if width >= 1:
            return Isolation([locate(condition, low, high)], True)
        most = (
            max(100, MAX_FINITE_BOXES * 10 // (10 + len(law)))
            if isinstance(law, FiniteLaw)
            else MAX_BOXES
        )
        return isolate(condition, low, high, condition.excludes, most)

    # E - q0 is compared with Delta/2 and falls with it.
    lost = max(0, -2 * exponent(noise))
    found = proven("interpolation", isolated, condition, ratio, digits, lost)
    if width >= 1:
        return Threshold(
            "interpolation", found.values[0], digits, found.values, found.complete, CHOICE_FULL
        )
    bound = law.generated.manifold_bound(width, numbers)
    binds = str(bound) if ball(bound) < found.largest else None
    return Threshold(
        "interpolation",
        found.values[0],
        digits,
        found.values,
        found.complete,
        CHOICE_LIMITED,
        binds,
    )
