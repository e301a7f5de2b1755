"""What a study of scaling laws trains, and the theory beside it: for Gaussian indices, and for the law of the runs' own.

Weight decay follows a law (numeric.problem.decay_law), so that one name means the same regime at every size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from numeric.problem.decay_law import DecayLaw
from numeric.studies.scaling import ScalingPoint, ScalingProblem, scaling_curve
from verify.jobs.pool import Job, Pool
from verify.training.data import DataKind
from verify.training.run import Run

#: Samples for each dimension from which the theory of n ~ d^2 is judged on token sequences. The noise in S, a sum of n products of
#: tokens, is semicircular up to d/n: excess errors are 3 per cent off at n = 2.5 d, 2 at 5 d, .5 at 10 d, whatever d
#: (docs/performance.md).
LEAST_RATIO = 10
SECONDS, SECONDS_LEADING = 0.12, 10.0  #: of a point of the theory, without and with these, for the order of jobs
LEADING = 8  #: features kept exactly beside sequences: with twice as many the excess error changes by less than 2e-3


@dataclass(frozen=True)
class ScalingPlan:
    """Which heads to train: `base` with each law of weight decay, at each n/d^2 and size (d, number of runs).

    `spectra`: n/d^2 and number of runs for which spectra are compared at the largest size; `tiles`: each way of the phase diagram,
    with a local slope of the theory in the middle of each, no diagram if 0.
    """

    base: Run
    decays: tuple[DecayLaw, ...]
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    spectra: tuple[tuple[float, int], ...] = ()
    tiles: int = 0

    def runs(self) -> list[Run]:
        """Every run of the curves."""
        return [
            run
            for decay in self.decays
            for dim, count in self.sizes
            for alpha in self.alphas
            for run in self._runs(decay, dim, alpha, count)
        ]

    def spectrum_runs(self) -> dict[tuple[DecayLaw, float], list[Run]]:
        """The runs of each spectrum, by law of weight decay and n/d^2; the same as those of a curve where they coincide."""
        dim = self.sizes[-1][0]
        return {
            (decay, alpha): self._runs(decay, dim, alpha, count)
            for decay in self.decays
            for alpha, count in self.spectra
        }

    def _runs(self, decay: DecayLaw, dim: int, alpha: float, count: int) -> list[Run]:
        first = dataclasses.replace(self.base, dim=dim, alpha=alpha, lambda_=decay.at(dim))
        return [dataclasses.replace(first, index=index) for index in range(count)]

    def decay_of(self, run: Run) -> DecayLaw:
        """The law that the weight decay of a run follows."""
        return next(decay for decay in self.decays if decay.at(run.dim) == run.lambda_)

    def problem(self, dim: int, decay: DecayLaw) -> ScalingProblem:
        """What the theory solves beside the runs of one size and law."""
        base = self.base
        if base.power_law is None:
            raise ValueError("the target is no power law")
        return ScalingProblem(base.power_law, dim, decay.at(dim), base.noise, beta=base.beta, beta0=base.beta0)

    def problems(self, dim: int, decay: DecayLaw) -> tuple[ScalingProblem, ScalingProblem]:
        """`problem` and `own_problem`, which on Gaussian-equivalent data are the same."""
        return self.problem(dim, decay), self.own_problem(dim, decay)

    def places(self) -> list[SizeAndDecay]:
        """Sizes and laws of weight decay at which heads are trained."""
        return [(dim, decay) for decay in self.decays for dim, _ in self.sizes]

    def samples(self, dim: int, decay: DecayLaw) -> list[int]:
        """Numbers of samples there, of curves and of spectra, increasing."""
        groups = [group for (law, _), group in self.spectrum_runs().items() if law == decay]
        runs = [*self.runs(), *(run for group in groups for run in group)]
        return sorted({run.samples for run in runs if run.dim == dim and self.decay_of(run) == decay})

    def judges(self, dim: int, samples: int) -> bool:
        """Whether the theory holds for the runs' own indices at so many samples."""
        return self.base.data is not DataKind.SEQUENCES or samples >= LEAST_RATIO * dim

    def judges_at_every_size(self, dim: int, samples: int) -> bool:
        """Whether it does at the same n/d^2 of every size, for a finite-size estimate."""
        return all(self.judges(other, round(samples * (other / dim) ** 2)) for other, _ in self.sizes)

    def own_problem(self, dim: int, decay: DecayLaw) -> ScalingProblem:
        """The problem with the law of the runs' own indices: on token sequences with leading features kept exactly."""
        sequences = self.base.data is DataKind.SEQUENCES
        return dataclasses.replace(self.problem(dim, decay), leading=kept_exactly(dim) if sequences else 0)


SizeAndDecay = tuple[int, DecayLaw]


class Theory(NamedTuple):
    """Points at one size, law of weight decay and number of samples: for Gaussian indices, and for the law of the runs' own.

    The latter is not trusted where samples do not resolve it, as next to S = 0.
    """

    gaussian: ScalingPoint
    own: ScalingPoint
    c_star: float  #: the multiple of the target of least test error, for the runs' own indices

    @property
    def learned(self) -> float:
        """Number of eigenvalues of S that stand for features."""
        return (self.own if self.own.solution.trusted else self.gaussian).features

    @property
    def whole_feature(self) -> bool:
        """Whether one is learned: before, S is zero in most runs or all, and its overlaps have no scatter to judge by."""
        return self.own.solution.trusted and self.learned >= 1


Key = tuple[int, float, int]  #: size d, weight decay, samples


def kept_exactly(dim: int) -> int:
    """Number of features whose indices keep their law: some are left for the Gaussian rest."""
    return min(LEADING, dim // 2)


def key_of(run: Run) -> Key:
    """Where a run belongs."""
    return run.dim, run.lambda_, run.samples


def theory_jobs(plan: ScalingPlan) -> list[Job]:
    """The jobs that `theories` asks for."""
    return [curve_job(problem, plan.samples(*place)) for place in plan.places() for problem in plan.problems(*place)]


def theories(plan: ScalingPlan, pool: Pool) -> Iterator[tuple[Key, Theory]]:
    """The theory wherever heads are trained.

    Raises NoAnswer if that of Gaussian indices has none.
    """
    for place in plan.places():
        samples = plan.samples(*place)
        asked, own = plan.problems(*place)
        curve, exact = pool.results([curve_job(problem, samples) for problem in (asked, own)])
        for n, gaussian, expected in zip(samples, curve.points, exact.points, strict=True):
            gaussian.solution.unwrap()
            yield (asked.dim, asked.lambda_, n), Theory(gaussian, expected, exact.c_star)


class TheoryCurve(NamedTuple):
    """Points along the samples, and the multiple of the target that infinitely many would teach."""

    points: tuple[ScalingPoint, ...]
    c_star: float


def theory_curve(asked: ScalingProblem, samples: Sequence[float]) -> TheoryCurve:
    """The theory at increasing numbers of samples.

    Raises NoAnswer if the best multiple of the target cannot be found.
    """
    return TheoryCurve(tuple(scaling_curve(asked, samples)), asked.prediction().best_multiple().c)


def curve_job(asked: ScalingProblem, samples: Sequence[float]) -> Job:
    """`theory_curve` as a job."""
    seconds = (SECONDS_LEADING if asked.leading else SECONDS) * len(samples)
    name = f"theory curve at d = {asked.dim}, lambda {asked.lambda_:g}"
    return Job(theory_curve, (asked, tuple(map(float, samples))), "scaling laws", seconds, name)
