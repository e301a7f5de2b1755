"""What a study of emerging features trains, and what the theory beside it is asked."""

from __future__ import annotations

from dataclasses import dataclass

from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem
from verify.core.run import Run
from verify.core.sequences import gaussian_theory_applies, problem_with_exact_features


@dataclass(frozen=True)
class EmergencePlan:
    """Heads to train: `base` at each n/d^2 and size (d, number of runs), and how many `features` are followed."""

    base: Run
    decay: DecayLaw
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    features: int

    def at(self, dim: int) -> Run:
        """`base` at one size."""
        return self.base.varied(dim=dim, lambda_=self.decay.at(dim))

    def runs(self, dim: int) -> list[list[Run]]:
        """The runs of one size at each number of samples, increasing."""
        count = dict(self.sizes)[dim]
        return [
            [self.at(dim).varied(alpha=alpha, index=index) for index in range(count)]
            for alpha in sorted(self.alphas)
        ]

    def problem(self, dim: int) -> Problem:
        """What the theory is asked: on token sequences with the leading features kept exactly."""
        return problem_with_exact_features(self.at(dim))

    def theory_applies(self, dim: int, samples: float) -> bool:
        """Whether the theory holds for the runs' own indices at so many samples."""
        return gaussian_theory_applies(self.base.data, dim, samples)
