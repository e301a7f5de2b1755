"""Target plus a multiple of the identity, which norms of tokens add to what is denoised (theory
note, section 13; step `token_norms`).
"""

from dataclasses import dataclass
from typing import NoReturn, Self

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.target import CovarianceTarget, ThresholdedTarget
from numeric.laws.law import BoundedDifference, Energy, Target, denoising_error_of
from numeric.proven_laws.law import Law


@dataclass(frozen=True)
class LiftedTarget(ThresholdedTarget):
    """Law of S0 + shift, whose overlaps and errors are those of S0.

    In whitened matrices the shift is a multiple of the covariance C. Without a covariance it moves
    the threshold.

    Attributes:
        target: law of S0.
        shift: coefficient of C, eigenvalue.
    """

    target: Target
    shift: float

    @property
    def t0(self) -> float:
        """Mean eigenvalue of S0."""
        return self.target.t0

    @property
    def zero_mass(self) -> float:
        """Fraction of zero eigenvalues of S0."""
        return self.target.zero_mass

    @property
    def q0(self) -> float:
        """Second moment of S0, eigenvalue^2."""
        return self.target.q0

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target and the shift."""
        return type(self)(self.target.scaled(factor), factor * self.shift)

    def exact(self) -> Law:
        """Raise InvalidParameter: the law is not proven."""
        self.refuse("proven digits")

    def refuse(self, what: str) -> NoReturn:
        """Raise InvalidParameter for what is not derived for these norms.

        Args:
            what: description of it.
        """
        rule = f"has tokens of other norms than Gaussian ones, for which {what} is not derived"
        raise InvalidParameter("target", self.target, rule, "use Gaussian norms")

    def at_threshold(self, b: float, shift: float = 0.0) -> tuple[Target, float]:
        """Return the law whose noisy eigenvalues above a threshold are learned, and the threshold;
        see `Target.at_threshold`.
        """
        return self.target.at_threshold(b, self.shift + shift)

    def upper_edge(self, v: float) -> float:
        """Return the coefficient b from which on no eigenvalue is learned, 0 if none is at any.

        Args:
            v: variance of the semicircle, eigenvalue^2.
        """
        return self.threshold_edge(v, 0.0, abs(self.shift) + self.target.upper_edge(v))

    def energy(self, v: float, b: float, width: float) -> Energy:
        """Return J and its derivatives, that in the shift included, with a rank limit.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: coefficient of C^{-1}, eigenvalue.
            width: largest fraction of eigenvalues that counts.
        """
        if isinstance(self.target, CovarianceTarget):
            return self.target.energy(v, b, width, self.shift)
        found = self.target.energy(v, b - self.shift, width)
        return found._replace(J_shift=-found.J_b)

    def denoising_error(self, v: float, b: float, energy: Energy) -> BoundedDifference:
        """Return ||S/c - S0||^2/d.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            b: coefficient of C^{-1}, eigenvalue.
            energy: the value of `energy` at this threshold.
        """
        if isinstance(self.target, CovarianceTarget):
            # The error contains the slopes as their sum with these coefficients alone.
            slope = b * energy.J_b + self.shift * energy.J_shift
            return denoising_error_of(energy._replace(J_b=slope), self.q0, v, 1.0)
        return self.target.denoising_error(v, b - self.shift, energy)
