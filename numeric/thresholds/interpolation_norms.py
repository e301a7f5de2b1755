"""Interpolation threshold of tokens whose norms are not Gaussian, for isotropic tokens.

Source: theory note, sections 5 and 13; step `interpolation_norms`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from numeric.maths.ball_roots import locate, refine
from numeric.maths.ball_systems import Linearised, System, Vector, newton, proven_near
from numeric.maths.balls import START_BITS, Ball, Unresolved, ball, decimal, digit_bits, working
from numeric.proven_laws.energy import energy_of
from numeric.proven_laws.law import Law
from numeric.thresholds.interpolation_roots import Condition
from numeric.thresholds.proven_digits import at_rising_precision, exact_threshold
from numeric.thresholds.setting import Setting, Threshold

_LOST = 128  # bits that the steps of the continuation may lose
_FIRST, _LEAST = Fraction(1, 8), Fraction(1, 2**30)  # steps of a continuation, relative to it

CHOICE = (
    "the greatest sample ratio along the continuation from Gaussian norms; the replica-symmetric "
    "training loss can vanish up to the greatest value over v and the multiple of the covariance"
)


@dataclass(frozen=True)
class NormEquations:
    """Equations of the threshold in the noise v and the multiple of the covariance.

    Attributes:
        law: law of the target.
        level: second moment of the target with its label noise, eigenvalue^2.
        gain: (2 - w) times the mean share of scores of a token with itself.
    """

    law: Law
    level: Ball
    gain: Ball

    def system(self, at: Vector) -> Linearised:
        """Return the residuals with their slopes."""
        v, shift = at
        energy, generated = energy_of(self.law, False, v, -shift), self.law.generated
        t0, _ = self.law.moments()
        values = generated.interpolation_norms(
            *(energy.J, energy.J_v, energy.J_b, v, shift, t0, self.level, self.gain)
        )
        slopes = generated.interpolation_norms_slopes(
            *(energy.J_v, energy.J_b, energy.J_vv, energy.J_bv, energy.mass),
            *(v, shift, t0, self.gain),
        )
        return Linearised(tuple(values), (tuple(slopes[:2]), tuple(slopes[2:])))


def interpolation_of_norms(setting: Setting, condition: Condition) -> Threshold:
    """Return the sample ratio below which the training loss can be zero.

    The root is followed from Gaussian norms.

    Args:
        setting: setting of the threshold.
        condition: condition of the threshold for Gaussian norms.

    Raises:
        Unresolved: the digits could not be proven.
    """
    law, numbers, gain = setting.law, setting.numbers, setting.norm_gain
    if gain == 1:  # S and S + c 1 have the same labels: only parameters count, not S >= 0
        return exact_threshold(setting, law.generated.interpolation_ratio(Fraction(1), numbers))

    def equations(gain: Fraction) -> NormEquations:
        level = law.generated.interpolation_level(law.moments()[1], ball(setting.noise))
        return NormEquations(law, level, ball(gain))

    def attempt(guard: int) -> Threshold | None:
        with working(START_BITS + guard):
            low, high = condition.bounds(setting.width)
            start = refine(condition, locate(condition, low, high), guard)
            root = _followed(lambda gain: equations(gain).system, gain, start)
        with working(digit_bits(setting.digits) + guard):
            system = equations(gain).system
            v, shift = proven_near(system, newton(system, root))
            free = energy_of(law, False, v, -shift).J_v
            ratio = law.generated.interpolation_ratio(free, ball(numbers))
            text = decimal(ratio, setting.digits)
        return setting.threshold((text,), False, CHOICE) if text else None

    return at_rising_precision(setting, attempt, _LOST)


def _followed(system: Callable[[Fraction], System], gain: Fraction, start: Ball) -> Vector:
    """Return a point near the root at a gain, by steps from the gain 0 of Gaussian norms.

    Args:
        system: equations at a gain.
        gain: the gain.
        start: noise v at gain 0, eigenvalue^2, where the multiple of the covariance is 0.

    Raises:
        Unresolved: the steps become too short.
    """
    done, step, point = Fraction(0), _FIRST, (start.mid(), arb(0))
    while done < 1:
        trial = min(Fraction(1), done + step)
        try:
            point = newton(system(trial * gain), point)
        except Unresolved:
            step /= 2
            if step < _LEAST:
                raise
            continue
        done, step = trial, 2 * step
    return point
