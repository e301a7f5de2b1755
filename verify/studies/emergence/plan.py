"""Plan of a study of emerging features: heads to train, and problems of the theory."""

from __future__ import annotations

from dataclasses import dataclass

from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem
from verify.core.run import Run
from verify.core.sequences import gaussian_theory_applies, problem_with_exact_features


@dataclass(frozen=True)
class EmergencePlan:
    """Heads to train.

    Attributes:
        base: run with all other parameters.
        decay: law of the weight decay along d.
        alphas: sample ratios n/d^2.
        sizes: (d, number of runs).
        features: number of features measured.
    """

    base: Run
    decay: DecayLaw
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    features: int

    def at(self, dim: int) -> Run:
        """Return `base` at one size."""
        return self.base.varied(dim=dim, lambda_=self.decay.at(dim))

    def runs(self, dim: int) -> list[list[Run]]:
        """Return the runs of one size at each number of samples, increasing."""
        count = dict(self.sizes)[dim]
        return [
            [self.at(dim).varied(alpha=alpha, index=index) for index in range(count)]
            for alpha in sorted(self.alphas)
        ]

    def problem(self, dim: int) -> Problem:
        """Return the problem of the theory; for token sequences the leading features are kept
        exactly.
        """
        return problem_with_exact_features(self.at(dim))

    def theory_applies(self, dim: int, samples: float) -> bool:
        """Return whether the theory applies to the index distribution of the runs.

        Args:
            dim: size d.
            samples: number n of samples.
        """
        return gaussian_theory_applies(self.base.data, dim, samples)
