"""Perfect recovery if tokens come from a finite vocabulary (theory note, section 14).

The independent equations span a random subspace, so that only their number counts: n samples are
worth as many samples of new tokens as have this number of equations.
"""

from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

from flint import arb

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_roots import locate, refine
from numeric.maths.balls import START_BITS, Ball, Unresolved, ball, working
from numeric.model import call
from numeric.thresholds.interpolation_roots import Excess

_MOST_SAMPLES = 10**6  # of each token
_LOST_BITS = 64  # where few tokens repeat, terms of order one cancel


@dataclass(frozen=True)
class VocabularyEquations:
    """Independent equations of samples whose tokens come from a vocabulary.

    Attributes:
        ratio: nu = N/d^2, number of tokens over d^2.
        generated: generated ball arithmetic of the model.
        tokens: T.
        numbers: count D of numbers in a label.
    """

    ratio: Fraction
    generated: ModuleType
    tokens: int
    numbers: Fraction

    @property
    def free(self) -> Fraction:
        """Sample ratio below which the equations of all samples are independent."""
        given = {"T": Fraction(self.tokens)}
        return Fraction(*call(self.generated.vocabulary_onset, (), given)) * self.ratio

    def worth(self, alpha: Ball) -> Ball:
        """Return the sample ratio that has as many independent equations as `alpha` with new
        tokens.

        Args:
            alpha: sample ratio with new tokens, an enclosure.

        Raises:
            InvalidParameter: no number of samples has so many equations.
            Unresolved: the precision does not tell on which side of `free` the ratio is.
        """
        free = ball(self.free)
        if alpha <= free:
            return alpha
        if not alpha > free:
            raise Unresolved("repetitions begin within the error of the sample ratio")
        wanted = alpha * ball(self.numbers / self.ratio)  # equations per token

        def excess(branch_log: Ball) -> Excess:
            found, slope = self._call("vocabulary_equations", branch_log)
            return Excess(found - wanted, slope)

        with working(START_BITS):
            low, high = arb(2) ** -(START_BITS // 2), arb(_MOST_SAMPLES)
            if not excess(high).value > 0:
                rule = f"has too few tokens: {_MOST_SAMPLES} samples of each do not determine S0"
                raise InvalidParameter("vocabulary", float(self.ratio), rule, "use a larger one")
            root = locate(excess, low, high)
        branch_log = refine(excess, root, _LOST_BITS)
        return ball(self.ratio) * self._call("vocabulary_samples", branch_log)

    def _call(self, name: str, *arguments: Ball) -> Any:
        return call(getattr(self.generated, name), arguments, {"T": arb(self.tokens)})
