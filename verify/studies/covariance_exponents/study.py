"""Slopes of heads trained on tokens with a power-law covariance, of the theory at equal d and n,
and the exponent that follows.

Heads of full width are trained on Gaussian-equivalent data: leading features of token sequences
have indices that are not Gaussian at these sizes, and their exact treatment is derived for
isotropic tokens only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.task import Task
from numeric.laws.covariance.power_law import PowerLawCovariance
from numeric.problem.problem import Problem
from numeric.saddle.curve import learning_curve
from numeric.studies.regimes import LEAST_GAMMA, Regime, covariance_regimes, regimes
from verify.core.data import DataKind
from verify.core.draw import require_memory
from verify.core.intervals import INTERVAL_PROBABILITY, Interval, pooled
from verify.core.measure import RunResult
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.scores import require_converged
from verify.core.slopes import log_slope, octave, trained_slope
from verify.core.store import Store
from verify.core.theory import ACCURACY

#: Path n = d^x, lambda = d^y inside the cell that the decay limits; at gamma = 3/4 the slope is
#: within 8 % of the exponent from d = 40 on.
SAMPLE_POWER, DECAY_POWER = 2.2, 0.45
#: Difference of slopes allowed in addition to the scatter between runs: finite size at d = 28,
#: where errors are a few percent off and change over an octave of n.
ALLOWED_DIFFERENCE = 0.03
_COST = 5.0  #: seconds of the theory at one size


@dataclass(frozen=True)
class CovarianceSlopePlan:
    """Heads to train.

    Attributes:
        gamma: exponent of the target.
        a: exponent of the covariance.
        sizes: (d, number of runs).
        noise, entropy, device, shuffle_labels: parameters of every run.

    Raises:
        InvalidParameter: the path leaves the cell that the weight decay limits, or gamma is at most
            1/2, so that there is no isotropic exponent to compare with.
    """

    gamma: Fraction
    a: Fraction
    sizes: tuple[tuple[int, int], ...]
    noise: float = 0.5
    entropy: int = 0
    device: str = "cpu"
    shuffle_labels: bool = False

    def __post_init__(self) -> None:
        if self.gamma <= LEAST_GAMMA:
            rule = "must exceed 1/2, to compare with isotropic tokens"
            raise InvalidParameter("gamma", str(self.gamma), rule, "try 3/4")
        if not self.cell.id.startswith("spikes") or self.cell.limit != "decay":
            path = f"n = d^{SAMPLE_POWER}, lambda = d^{DECAY_POWER}"
            rule = f"leaves the cell of weight decay on the path {path}"
            raise InvalidParameter("gamma", str(self.gamma), rule, "try 3/4")

    @property
    def cell(self) -> Regime:
        """Return the cell of the path."""
        cells = covariance_regimes(self.gamma, self.a)
        return max(cells, key=lambda cell: cell.margin(SAMPLE_POWER, DECAY_POWER, 1.0))

    @property
    def exponent(self) -> Fraction:
        """Return the derived exponent of the samples in the risk."""
        return self.cell.risk[0]

    @property
    def isotropic(self) -> Fraction:
        """Return the exponent of isotropic tokens in the cell of weight decay."""
        return next(cell for cell in regimes(self.gamma) if cell.id == "spikes.decay").risk[0]

    def samples(self, dim: int) -> tuple[int, int]:
        """Return both numbers of samples of a slope."""
        return octave(dim**SAMPLE_POWER)

    def problem(self, dim: int, samples: int) -> Problem:
        """Return the problem at one size and number of samples."""
        target = PowerLawCovariance(float(self.gamma), float(self.a), dim)
        return Problem(samples / dim**2, target, dim**DECAY_POWER, self.noise)

    def runs(self, dim: int, count: int) -> list[list[Run]]:
        """Return the runs of one size: one list for each index, with a run for each number of
        samples.
        """
        fields: dict[str, Any] = {
            "data": DataKind.GAUSSIAN_EQUIVALENT,
            "entropy": self.entropy,
            "device": self.device,
            "shuffle_labels": self.shuffle_labels,
        }
        return [
            [Run(self.problem(dim, n), dim, index=index, **fields) for n in self.samples(dim)]
            for index in range(count)
        ]


@dataclass(frozen=True)
class CovarianceSlope:
    """Slope over an octave of n at one size.

    Attributes:
        dim: size d.
        samples: numbers of samples.
        runs: number of runs at each.
        trained: slope of the trained estimation errors with an interval of 95 %.
        theory: slope of the theory at the same d and n.
        level: mean trained error / theory.
    """

    dim: int
    samples: tuple[int, int]
    runs: int
    trained: Interval
    theory: float
    level: float

    @property
    def agrees(self) -> bool:
        """Return whether trained and theory slopes agree up to ALLOWED_DIFFERENCE."""
        return self.theory in self.trained.widened(ALLOWED_DIFFERENCE)


@dataclass(frozen=True)
class CovarianceSlopeOutcome:
    """Slopes of a plan.

    Attributes:
        plan: the plan.
        slopes: one for each size.
        estimate: trained slopes plus the distance of the theory's slope from the exponent.
    """

    plan: CovarianceSlopePlan
    slopes: tuple[CovarianceSlope, ...]
    estimate: Interval

    @property
    def excludes_isotropic(self) -> bool:
        """Return whether the interval excludes the exponent of isotropic tokens."""
        return float(self.plan.isotropic) not in self.estimate

    @property
    def agrees(self) -> bool:
        """Return whether all slopes agree, and the isotropic exponent is excluded."""
        return self.excludes_isotropic and all(slope.agrees for slope in self.slopes)


def study_covariance_slopes(
    plan: CovarianceSlopePlan, folder: Path
) -> Steps[CovarianceSlopeOutcome]:
    """Train what `folder` lacks and compare slopes with the theory.

    Args:
        plan: heads to train.
        folder: folder of finished runs.

    Raises:
        NoAnswer: the theory has no answer, or too few runs converged.
        InvalidParameter: the data of a run do not fit into memory.
    """
    store = Store(folder, RunResult)
    groups = {dim: plan.runs(dim, count) for dim, count in plan.sizes}
    runs = [run for group in groups.values() for pair in group for run in pair]
    require_memory(runs)
    solving = [
        Task(_theory_errors, (plan, dim), _COST, f"theory of the slope at dim {dim}", "exponents")
        for dim in groups
    ]
    found = iter((yield [*(training_task(run, store) for run in runs), *solving]))
    results = {
        dim: [[next(found) for _ in pair] for pair in group] for dim, group in groups.items()
    }
    slopes = tuple(
        _slope(plan, dim, results[dim], errors) for dim, errors in zip(groups, found, strict=True)
    )
    exponent = float(plan.exponent)
    estimates = [slope.trained.shifted(exponent - slope.theory) for slope in slopes]
    return CovarianceSlopeOutcome(plan, slopes, pooled(estimates))


def _theory_errors(plan: CovarianceSlopePlan, dim: int) -> list[float]:
    problem = plan.problem(dim, plan.samples(dim)[0])
    alphas = [samples / dim**2 for samples in plan.samples(dim)]
    curve = learning_curve(problem, alphas, accuracy=ACCURACY)
    return [solution.unwrap().estimation_error for solution in curve]


def _slope(
    plan: CovarianceSlopePlan,
    dim: int,
    group: Sequence[Sequence[RunResult]],
    theory: Sequence[float],
) -> CovarianceSlope:
    for results in zip(*group, strict=True):
        require_converged(results)
    errors = np.array([[result.estimation_error for result in pair] for pair in group])
    samples, rng = plan.samples(dim), np.random.default_rng(plan.entropy)
    return CovarianceSlope(
        dim,
        samples,
        len(group),
        trained_slope(samples, errors, rng, INTERVAL_PROBABILITY),
        float(log_slope(samples, np.array(theory))),
        float(np.mean(errors.mean(axis=0) / np.array(theory))),
    )
