"""Plan of a study of scaling laws: heads to train, and the theory for Gaussian indices and for the
indices of the runs.

Weight decay follows a law along d (numeric.problem.decay_law), so one name means the same regime at
every size.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from numeric.engines.task import Task
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem
from numeric.studies.scaling import ScalingPoint, power_law_of
from verify.core.pool import Steps
from verify.core.run import Run
from verify.core.scaling_curve import scaling_curve_task
from verify.core.sequences import gaussian_theory_applies, problem_with_exact_features


@dataclass(frozen=True)
class ScalingPlan:
    """Heads to train: `base` with each law of weight decay, at each n/d^2 and size (d, number of
    runs).

    Attributes:
        spectra: n/d^2 and number of runs of the spectra at the largest size.
        tiles: number of cells of the phase diagram in each direction, with a local slope of the
            theory in each; 0 for no diagram.
    """

    base: Run
    decays: tuple[DecayLaw, ...]
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    spectra: tuple[tuple[float, int], ...] = ()
    tiles: int = 0

    def runs(self) -> list[Run]:
        """Return every run of the curves."""
        return [
            run
            for decay in self.decays
            for dim, count in self.sizes
            for alpha in self.alphas
            for run in self._runs(decay, dim, alpha, count)
        ]

    def spectrum_runs(self) -> dict[tuple[DecayLaw, float], list[Run]]:
        """Return the runs of each spectrum, by law of weight decay and n/d^2; runs of a curve are
        reused.
        """
        dim = self.sizes[-1][0]
        return {
            (decay, alpha): self._runs(decay, dim, alpha, count)
            for decay in self.decays
            for alpha, count in self.spectra
        }

    def _runs(self, decay: DecayLaw, dim: int, alpha: float, count: int) -> list[Run]:
        first = self.run_at(dim, decay).varied(alpha=alpha)
        return [first.varied(index=index) for index in range(count)]

    def run_at(self, dim: int, decay: DecayLaw) -> Run:
        """Return `base` at one size and law of weight decay.

        Args:
            dim: size d.
            decay: law of the weight decay.
        """
        return self.base.varied(dim=dim, lambda_=decay.at(dim))

    def places(self) -> list[SizeAndDecay]:
        """Return the sizes and laws of weight decay at which heads are trained."""
        return [(dim, decay) for decay in self.decays for dim, _ in self.sizes]

    def samples(self, dim: int) -> list[int]:
        """Return the numbers of samples at one size, of curves and of spectra, increasing."""
        spectra = [alpha for alpha, _ in self.spectra] if dim == self.sizes[-1][0] else []
        return sorted(
            {self.base.varied(dim=dim, alpha=alpha).samples for alpha in (*self.alphas, *spectra)}
        )

    def decay_of(self, run: Run) -> DecayLaw:
        """Return the law of the weight decay of a run."""
        return next(decay for decay in self.decays if decay.at(run.dim) == run.problem.lambda_)

    @property
    def gamma(self) -> Fraction:
        """Return the exponent of the target."""
        return Fraction(str(power_law_of(self.base.problem).gamma))

    def theory_applies(self, dim: int, samples: int) -> bool:
        """Return whether the theory holds for the indices of the runs.

        Args:
            dim: d.
            samples: n.
        """
        return gaussian_theory_applies(self.base.data, dim, samples)

    def theory_applies_at_every_size(self, dim: int, samples: int) -> bool:
        """Return whether the theory holds at the same n/d^2 of every size, as a finite-size
        extrapolation needs.

        Args:
            dim: d.
            samples: n.
        """
        return all(
            self.theory_applies(other, round(samples * (other / dim) ** 2))
            for other, _ in self.sizes
        )

    def problem_with_exact_features(self, dim: int, decay: DecayLaw) -> Problem:
        """Return the problem for the indices of the runs: on token sequences leading features are
        treated exactly.

        Args:
            dim: d.
            decay: law of the weight decay.
        """
        return problem_with_exact_features(self.run_at(dim, decay))


SizeAndDecay = tuple[int, DecayLaw]


class PointTheory(NamedTuple):
    """Theory at one size, law of weight decay and number of samples, for Gaussian indices and for
    the indices of the runs.

    The latter is not reliable where samples do not resolve it, for example next to S = 0.
    """

    gaussian: ScalingPoint
    own: ScalingPoint

    @property
    def learned(self) -> float:
        """Return the number of eigenvalues of S that represent features."""
        return (self.own if self.own.solution.trusted else self.gaussian).features

    @property
    def whole_feature(self) -> bool:
        """Return whether a whole feature is learned. Below, S is zero in most runs, and its
        overlaps have no scatter.
        """
        return self.own.solution.trusted and self.learned >= 1


PointKey = tuple[int, float, int]  #: size d, weight decay, samples


def point_key(run: Run) -> PointKey:
    """Return size, weight decay and number of samples of a run."""
    return run.dim, run.problem.lambda_, run.samples


def theory_tasks(plan: ScalingPlan) -> list[Task]:
    """Return the jobs of `theories`."""
    return [job for place in plan.places() for job in _place_tasks(plan, *place)]


def theories(plan: ScalingPlan) -> Steps[dict[PointKey, PointTheory]]:
    """Return the theory at every trained point.

    Raises NoAnswer if the theory of Gaussian indices has none.
    """
    found = {}
    for dim, decay in plan.places():
        curves = yield _place_tasks(plan, dim, decay)
        for n, gaussian, own in zip(plan.samples(dim), *curves, strict=True):
            gaussian.solution.unwrap()
            found[dim, decay.at(dim), n] = PointTheory(gaussian, own)
    return found


def _place_tasks(plan: ScalingPlan, dim: int, decay: DecayLaw) -> list[Task]:
    """Return the tasks of the theory for Gaussian indices and for the indices of the runs.

    On Gaussian-equivalent data both are the same task.
    """
    problems = plan.run_at(dim, decay).problem, plan.problem_with_exact_features(dim, decay)
    return [scaling_curve_task(problem, plan.samples(dim)) for problem in problems]
