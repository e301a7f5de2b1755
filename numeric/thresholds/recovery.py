"""Perfect recovery of the target from noise-free labels (theory note, section 5)."""

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_roots import Function, Isolation, locate
from numeric.maths.balls import START_BITS, Ball, ball, working
from numeric.proven_laws.law import HasLaw, Law, over, require
from numeric.proven_laws.subordinated import NullSpace
from numeric.thresholds.interpolation_roots import Excess
from numeric.thresholds.proven_digits import exact_threshold, exponent, prove_threshold
from numeric.thresholds.setting import Setting, Threshold, ThresholdProblem, setting_of

CHOICE_RECOVERY = "the only root: the odds of the stationary angle increase in it"
CHOICE_WEIGHTED_RECOVERY = "the only root: the squared distance from the multiples is convex"
CHOICE_LIMITED_RECOVERY = (
    "the only root: the rank limit cuts the noise above the free minimum "
    "(replica symmetric, an upper bound)"
)


def recovery(
    target: ThresholdProblem | HasLaw | Law,
    tokens: int | None = None,
    digits: int = 50,
    width: Fraction | float | str | None = None,
    *,
    model: str | None = None,
    norms: Fraction | float | str | None = None,
    vocabulary: Fraction | float | str | None = None,
) -> Threshold:
    """Return the sample ratio above which noise-free labels determine the target.

    It holds for beta = beta0 and depends on the target only through its share of zero eigenvalues,
    for isotropic tokens. With a covariance C of the tokens it depends on C^{-1} on the null space.
    For width >= 1 it equals the minimax risk of denoising a matrix of its class: positive
    semidefinite, symmetric or general (Donoho, Gavish, Montanari 2013, doi
    10.1073/pnas.1306110110).

    Source: theory note, section 5; arXiv 2509.24914, Corollary 3.2.

    Args:
        target: a Problem, which states all other arguments except `digits`; or the law of the
            eigenvalues of S0, not all of it at 0, in float64 or exact. Fractions, Decimals and
            texts such as "1/3" are exact; a float is its binary value, with a warning from
            FLOAT_DIGITS digits on.
        tokens: T >= 2; default 2.
        digits: significant digits, 1 to MAX_DIGITS.
        width: rank limit of the student, at least the rank ratio of the target; default 1.
        model: name of a model; default: tied attention, or the model of an exact law.
        norms: variance of the squared norm of a token over tr C^2; of isotropic tokens only, where
            it has no effect.
        vocabulary: nu = N/d^2 for tokens that are drawn from N vectors; default: new tokens in
            every sample.

    Raises:
        ValueError: an argument is invalid.
        Unresolved: the digits could not be proven.

    >>> from attention_erm import MarchenkoPastur, recovery
    >>> [recovery(MarchenkoPastur(kappa0), digits=10).value for kappa0 in (0.25, 0.5, 1)]
    ['0.1469709184', '0.2110874911', '0.2500000000']
    >>> recovery(MarchenkoPastur(0.5), digits=10, vocabulary="1/10").value
    '0.3223343778'
    """
    setting = setting_of(
        "recovery",
        target,
        digits,
        tokens=tokens,
        width=width,
        model=model,
        norms=norms,
        vocabulary=vocabulary,
    )
    law, numbers, width = setting.law, setting.numbers, setting.width
    generated, zero_mass, rank = law.generated, law.zero_mass, 1 - law.zero_mass
    require(width >= rank, "width", width, f"must be at least the rank ratio {rank} of the target")
    if rank == 1 and setting.has_norms and setting.norm_gain == 1:
        rule = "leaves a target of full rank undetermined: the labels do not see multiples of 1"
        raise InvalidParameter("norms", float(setting.norms), rule, "use a target of lower rank")
    if rank == 1:  # the penalty is orthogonal to every direction that the labels leave open
        energy = Fraction(generated.full_rank_energy())
        return exact_threshold(setting, generated.recovery_ratio(energy, numbers))
    if width == rank:
        # No noise eigenvalue fits the rank: the cut is at the upper edge of their semicircle.
        return exact_threshold(setting, generated.bayes_recovery_ratio(zero_mass, numbers))

    if setting.null_space is not None:
        return _weighted_recovery(setting, setting.null_space())

    def stationary(theta: Ball) -> Excess:
        excess = generated.recovery_odds(theta) - ball(generated.target_odds(zero_mass))
        return Excess(excess, generated.recovery_odds_slope(theta))

    def rank_reached(theta: Ball) -> Excess:
        excess = generated.recovery_mass(theta, ball(zero_mass)) - ball(width)
        return Excess(excess, generated.recovery_mass_slope(theta, ball(zero_mass)))

    def ratio(theta: Ball) -> Ball:
        energy = generated.recovery_energy(theta, ball(zero_mass))
        if limited:
            slope = generated.recovery_slope(theta, ball(zero_mass))
            energy = generated.rank_limited_energy(energy, slope, ball(width))
        return generated.recovery_ratio(energy, ball(numbers))

    # The odds are ~ theta^5 for a target of low rank, and diverge at pi/2 for nearly full rank.
    lost = 2 * abs(exponent(rank) - exponent(zero_mass)) + 16
    with working(START_BITS + lost):
        limited = width < 1 and rank_reached(_root(stationary)().roots[0]).value > 0
    condition = rank_reached if limited else stationary
    choice = CHOICE_LIMITED_RECOVERY if limited else CHOICE_RECOVERY
    return prove_threshold(setting, _root(condition), condition, ratio, lost, choice)


def _weighted_recovery(setting: Setting, null: NullSpace) -> Threshold:
    """Return the threshold for tokens with a covariance, from its inverse on the null space.

    Raises:
        InvalidParameter: a rank limit acts on the learned noise.
    """
    generated, numbers = setting.law.generated, setting.numbers
    law, edge = null.law, arb(-1)  # the law is shifted by -1

    def square() -> Ball:
        return ball(null.inverse_square)  # at the working precision

    def energy(v: Ball) -> tuple[Ball, ...]:
        point = over(law, v, edge)
        return tuple(point.value(name) for name in ("J", "J_v", "J_vv"))

    def stationary(v: Ball) -> Excess:
        return Excess(*generated.weighted_recovery_condition(*energy(v), v, square()))

    def ratio(v: Ball) -> Ball:
        least = generated.weighted_recovery_energy(energy(v)[0], v, square())
        return generated.recovery_ratio(least, ball(numbers))

    def isolated() -> Isolation:
        low = high = arb(1)
        while not stationary(low).value < 0:
            low = low / 4
        while not stationary(high).value > 0:
            high = high * 4
        return Isolation([locate(stationary, low, high)], True)

    if setting.width < 1:
        with working(START_BITS):
            learned = 1 - over(law, isolated().roots[0].mid(), edge).value("mass")
        if not learned < ball(setting.width):
            rule = (
                f"must be at least {float(learned):.6g}, the rank that is learned at the threshold"
            )
            way_out = "use a larger width, or isotropic tokens"
            raise InvalidParameter("width", float(setting.width), rule, way_out)
    # The condition subtracts terms of the size of the inverse square.
    lost = 2 * abs(exponent(null.inverse_square)) + 16
    return prove_threshold(setting, isolated, stationary, ratio, lost, CHOICE_WEIGHTED_RECOVERY)


def _root(condition: Function) -> Callable[[], Isolation]:
    """Return a function that isolates the root of an increasing condition in (0, pi/2)."""

    def isolated() -> Isolation:
        low = gap = arb(1) / 2
        while not condition(low).value < 0:
            low = low / 2
        while not condition(arb.pi() / 2 - gap).value > 0:
            gap = gap / 2
        return Isolation([locate(condition, low, (arb.pi() / 2 - gap).mid())], True)

    return isolated
