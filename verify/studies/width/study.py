"""Quadratic networks along their width compared with the theory at finite d: estimation errors,
their slopes, and training errors.

A network of m hidden units is trained on n samples with labels of a power-law target of d
eigenvalues, on the same data at every width of one run. The theory uses these eigenvalues and the
width m/d. On Gaussian-equivalent data it is tested in standard errors. Inputs add a term of order
d/n, the fourth free cumulant of x x^T (theory note, section 10), and may differ by ALLOWED.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.power_law import PowerLaw
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.solve import solve
from verify.core.data import MEMORY_LIMIT
from verify.core.intervals import (
    mean_with_error,
    quotient,
)
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.pool import Steps, training_task
from verify.core.run import record_digest
from verify.core.scores import BAND, normal_score
from verify.core.sensing.risk import SensedRisk
from verify.core.sensing.samples import labels_of, noisy_indices, sensed_labels
from verify.core.sensing.shape import Shape
from verify.core.store import Store
from verify.core.target import haar_rotation
from verify.studies.width.risk import NetworkRisk, indices

MODEL = "quadratic_network"
#: allowed relative difference on inputs at finite n/d, in addition to SCATTER standard errors
ALLOWED = 0.05
SCATTER = 2.0
_EVALUATIONS = 300  #: evaluations of the risk in one descent


class Samples(enum.StrEnum):
    """Samples of the indices: x^T S x of Gaussian inputs x, or tr G S of Gaussian matrices G."""

    INPUTS = "inputs"
    GAUSSIAN_EQUIVALENT = "gaussian-equivalent"


@dataclass(frozen=True)
class NetworkRun:
    """One training at one width; runs of one index have the same data at every width.

    Attributes:
        problem: the problem; its target is a power law.
        index: number of the run.
        samples: kind of samples.
    """

    problem: Problem
    index: int
    samples: Samples

    device: ClassVar[str] = "cpu"

    @property
    def key(self) -> str:
        """Return the key of the stored result."""
        return record_digest(dataclasses.asdict(self) | {"problem": repr(self.problem)})

    @property
    def label(self) -> str:
        """Return the name of the run in messages."""
        return f"{self.problem.width * _dim(self.problem):.0f} hidden units, index {self.index}"

    @property
    def cost(self) -> float:
        """Estimated seconds on one core."""
        dim = _dim(self.problem)
        columns = self.problem.width * dim if self.samples is Samples.INPUTS else dim
        return 6e-11 * self.problem.alpha * dim**3 * columns * _EVALUATIONS


@dataclass(frozen=True)
class TrainedNetwork:
    """Measurements of one run at one width: ||S - S0||^2/d, and the mean loss of its samples."""

    run: NetworkRun
    estimation_error: float
    train_error: float

    def to_json(self) -> dict[str, Any]:
        """Return the values without the run."""
        return {"estimation_error": self.estimation_error, "train_error": self.train_error}

    @classmethod
    def from_json(cls, run: NetworkRun, record: dict[str, Any]) -> TrainedNetwork:
        """Return the result stored as `record`.

        Args:
            run: run of the result.
            record: JSON values.

        Raises:
            TypeError: a value is missing.
        """
        return cls(run, **record)


@dataclass(frozen=True)
class WidthPoint:
    """One number m of hidden units: theory, and trained means with their standard errors.

    `slope`, its standard error and `slope_theory` are d log(estimation error)/d log(m) from the
    previous width; NaN at the first one.
    """

    hidden: int
    samples: Samples
    solution: Solution
    runs: int
    estimation_error: float
    estimation_deviation: float
    train_error: float
    train_deviation: float
    slope: float
    slope_deviation: float
    slope_theory: float

    @property
    def ratio(self) -> float:
        """Return the trained estimation error over the theory's."""
        return self.estimation_error / self.solution.estimation_error

    @property
    def z(self) -> float:
        """Return the difference of estimation errors in standard errors, without correction for
        finite size.
        """
        residual = self.estimation_error - self.solution.estimation_error
        return normal_score(quotient(residual, self.estimation_deviation), self.runs - 1)

    @property
    def slope_z(self) -> float:
        """Return the difference of slopes in standard errors."""
        ratio = quotient(self.slope - self.slope_theory, self.slope_deviation)
        return normal_score(ratio, self.runs - 1)

    @property
    def agrees(self) -> bool:
        """Return whether the estimation error agrees with the theory in standard errors; on inputs
        ALLOWED is added.
        """
        if self.samples is Samples.GAUSSIAN_EQUIVALENT:
            return abs(self.z) < BAND
        theory = self.solution.estimation_error
        return (
            abs(self.estimation_error - theory)
            < ALLOWED * theory + SCATTER * self.estimation_deviation
        )


@dataclass(frozen=True)
class WidthPlan:
    """`runs` networks at each of the widths `hidden`, increasing; `problem` has a power-law target,
    and its width is not used.
    """

    problem: Problem
    hidden: tuple[int, ...]
    runs: int
    samples: Samples = Samples.INPUTS


@dataclass(frozen=True)
class WidthOutcome:
    """One point per width."""

    plan: WidthPlan
    points: tuple[WidthPoint, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every width agrees."""
        return all(point.agrees for point in self.points)


def study_width(plan: WidthPlan, folder: Path) -> Steps[WidthOutcome]:
    """Train networks of every width and compare them with the theory.

    Args:
        plan: the plan.
        folder: folder of finished runs; missing ones are trained.

    Raises:
        InvalidParameter: the samples of a run would not fit.
        NotConverged: the theory is not solved.
    """
    problem, hidden, runs, samples = plan.problem, plan.hidden, plan.runs, plan.samples
    _require_room(problem, samples)
    problems = [replace(problem, width=m / _dim(problem)) for m in hidden]
    theory: list[Solution] = []
    for (
        one
        # each solve starts from the previous one: far from S = 0 a cold start takes longest
    ) in problems:
        theory.append(solve(one, theory[-1] if theory else None).unwrap())
    store = Store(folder, TrainedNetwork, "networks.jsonl")
    networks = [NetworkRun(one, index, samples) for one in problems for index in range(runs)]
    measured = yield [training_task(network, store, train_network) for network in networks]
    points: list[WidthPoint] = []
    for k, (m, solution) in enumerate(zip(hidden, theory, strict=True)):
        row = measured[k * runs : (k + 1) * runs]
        before = (points[-1], measured[(k - 1) * runs : k * runs]) if k else None
        errors, losses = (
            [getattr(run, name) for run in row] for name in ("estimation_error", "train_error")
        )
        slope = _slope(m, solution, errors, before)
        points.append(
            WidthPoint(
                m,
                samples,
                solution,
                runs,
                *mean_with_error(errors),
                *mean_with_error(losses),
                *slope,
            )
        )
    return WidthOutcome(plan, tuple(points))


def _dim(problem: Problem) -> int:
    assert isinstance(problem.target, PowerLaw)  # the command states it
    return problem.target.dim


def _require_room(problem: Problem, samples: Samples) -> None:
    """Raise InvalidParameter if the samples of a run do not fit into memory."""
    dim = _dim(problem)
    numbers = round(problem.alpha * dim**2) * (
        dim if samples is Samples.INPUTS else dim * (dim + 1) // 2
    )
    if 8 * numbers > MEMORY_LIMIT:
        rule = (
            f"asks for {8 * numbers / 2**30:.0f} GiB of samples in a run, at most "
            f"{MEMORY_LIMIT >> 30} are allowed"
        )
        raise InvalidParameter("alpha", problem.alpha, rule, "lower it, or --dim")


def _slope(
    m: int,
    solution: Solution,
    errors: Sequence[float],
    before: tuple[WidthPoint, Sequence[TrainedNetwork]] | None,
) -> tuple[float, float, float]:
    """Return the trained slope from the previous width, its standard error over runs, and the slope
    of the theory.
    """
    if before is None:
        return math.nan, math.nan, math.nan
    point, others = before
    span = math.log(m / point.hidden)
    pairs = zip(others, errors, strict=True)  # on the same data
    slope, deviation = mean_with_error(
        [math.log(error / other.estimation_error) / span for other, error in pairs]
    )
    return (
        slope,
        deviation,
        math.log(solution.estimation_error / point.solution.estimation_error) / span,
    )


def train_network(run: NetworkRun) -> TrainedNetwork:
    """Draw the data of a run, train the network and measure.

    Raises:
        RuntimeError: the descent did not converge.
    """
    problem, index, samples = run.problem, run.index, run.samples
    dim = _dim(problem)
    count, hidden = round(problem.alpha * dim**2), round(problem.width * dim)
    data, start = (np.random.default_rng([dim, count, index, *key]) for key in ((), (hidden,)))
    rotation = haar_rotation(dim, data)
    assert isinstance(problem.target, PowerLaw)  # see _dim
    s0 = torch.as_tensor((rotation * problem.target.arrays[0]) @ rotation.T)
    risk: NetworkRisk | SensedRisk
    if samples is Samples.INPUTS:
        inputs = torch.as_tensor(data.standard_normal((count, dim)))
        labels = labels_of(noisy_indices(indices(s0, inputs)[None], problem, data), problem, data)
        risk = NetworkRisk(problem, inputs, labels)
    else:
        sensing = torch.as_tensor(data.standard_normal((1, count, dim * (dim + 1) // 2)))
        labels = sensed_labels(s0, sensing, problem, data)
        risk = SensedRisk(problem, Shape("positive", True, dim, hidden), sensing, labels)
    initial = torch.as_tensor(start.standard_normal((dim, hidden)))
    found = Lbfgs().minimise(risk, initial)
    if found.status is not DescentStatus.CONVERGED:
        raise RuntimeError(f"{run.label}: {found.status.value}")
    weights = torch.as_tensor(found.weights)
    s = weights @ weights.T / math.sqrt(hidden * dim)
    losses = (found.loss * dim**2 - problem.lambda_ * float(weights.square().sum())) / count
    return TrainedNetwork(run, float((s - s0).square().sum()) / dim, losses)
