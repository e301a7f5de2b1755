"""Perfect recovery of the target from noise-free labels (theory note, section 5)."""

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from numeric.maths.ball_roots import Function, Isolation, locate
from numeric.maths.balls import START_BITS, Ball, ball, working
from numeric.maths.domain import fraction, integer
from numeric.proven_laws.law import HasLaw, Law, law_of, require
from numeric.thresholds.interpolation_roots import Excess
from numeric.thresholds.proven_digits import (
    Threshold,
    exact,
    exponent,
    label_numbers,
    proven,
    require_valid_arguments,
)

CHOICE_RECOVERY = "the only root: the odds of the stationary angle increase in it"
CHOICE_LIMITED_RECOVERY = "the only root: the rank limit cuts the noise above the free minimum (replica symmetric, an upper bound)"


def recovery(
    target: HasLaw | Law, tokens: int = 2, digits: int = 50, width: Fraction | float = 1
) -> Threshold:
    """Sample ratio above which noise-free labels determine the target, for beta = beta0 and width at least the target's rank.

    It depends on the target through its share of zero eigenvalues only. Args and raises as `interpolation`.
    Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2; for width >= 1 it equals the minimax risk of denoising a matrix
    of its class: positive semidefinite, symmetric or general (Donoho, Gavish, Montanari 2013, doi 10.1073/pnas.1306110110).

    >>> from attention_erm import MarchenkoPastur, recovery
    >>> [recovery(MarchenkoPastur(kappa0), digits=10).value for kappa0 in (0.25, 0.5, 1)]
    ['0.1469709184', '0.2110874911', '0.2500000000']
    """
    law, tokens, digits = law_of(target), integer("tokens", tokens), integer("digits", digits)
    rank, width = 1 - law.zero_mass, fraction("width", width)
    require(width >= rank, "width", width, f"must be at least the rank ratio {rank} of the target")
    require_valid_arguments("recovery", law, tokens, digits, width)
    generated, numbers = law.generated, label_numbers(law, tokens)
    if rank == 1:
        return exact(
            "recovery",
            generated.recovery_ratio(Fraction(generated.full_rank_energy()), numbers),
            digits,
        )
    if width == rank:
        # No noise eigenvalue fits the rank: the cut is at the upper edge of their semicircle.
        return exact("recovery", generated.bayes_recovery_ratio(law.zero_mass, numbers), digits)

    zero_mass = law.zero_mass

    def stationary(theta: Ball) -> Excess:
        excess = generated.recovery_odds(theta) - ball(generated.target_odds(zero_mass))
        return Excess(excess, generated.recovery_odds_slope(theta))

    def rank_reached(theta: Ball) -> Excess:
        excess = generated.recovery_mass(theta, ball(zero_mass)) - ball(width)
        return Excess(excess, generated.recovery_mass_slope(theta, ball(zero_mass)))

    def free_ratio(theta: Ball) -> Ball:
        return generated.recovery_ratio(
            generated.recovery_energy(theta, ball(zero_mass)), ball(numbers)
        )

    def limited_ratio(theta: Ball) -> Ball:
        energy = generated.recovery_energy(theta, ball(zero_mass))
        slope = generated.recovery_slope(theta, ball(zero_mass))
        return generated.recovery_ratio(
            generated.rank_limited_energy(energy, slope, ball(width)), ball(numbers)
        )

    def root(condition: Function) -> Callable[[], Isolation]:
        return lambda: Isolation([locate(condition, *_angles(condition))], True)

    # The odds are ~ theta^5 for a target of low rank, and diverge towards pi/2 for one of nearly full rank.
    lost = 2 * abs(exponent(rank) - exponent(zero_mass)) + 16
    with working(START_BITS + lost):
        limited = width < 1 and rank_reached(root(stationary)().roots[0]).value > 0
    condition, ratio = (rank_reached, limited_ratio) if limited else (stationary, free_ratio)
    found = proven("recovery", root(condition), condition, ratio, digits, lost)
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
