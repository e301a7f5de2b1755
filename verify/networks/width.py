"""Quadratic networks along their width beside the finite-d theory: estimation errors, their slopes, training errors.

A network of m hidden units is trained on n Gaussian inputs with labels of a power-law target of d eigenvalues, the same data at every
width of one run. The theory takes these eigenvalues and the width m/d; what is left beside it is of order d/n and 1/d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from numeric.laws.power_law import PowerLaw
from numeric.problem.parameter import InvalidParameter
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.solve import solve
from verify.jobs.pool import Job, Pool
from verify.networks.risk import NetworkRisk, indices
from verify.sensing.samples import deviations, labels_of
from verify.training.minimise import DescentStatus, Lbfgs
from verify.training.target import haar_rotation

MODEL = "quadratic_network"
ALLOWED = 0.05  #: relative difference that finite d and n leave, on top of INTERVAL standard errors
INTERVAL = 2.0
_EVALUATIONS = 300  #: of the risk in one descent


@dataclass(frozen=True)
class Trained:
    """What one run measures at one width: ||S - S0||^2/d, and the mean loss of its samples."""

    estimation_error: float
    train_error: float


@dataclass(frozen=True)
class WidthPoint:
    """One number m of hidden units: the theory, and trained means with their standard errors.

    `slope`, its standard error and `slope_theory` are d log(estimation error)/d log(m) from the width before, not numbers at the
    first.
    """

    hidden: int
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
        """Estimation error, trained over theory."""
        return self.estimation_error / self.solution.estimation_error

    @property
    def z(self) -> float:
        """Difference of estimation errors in standard errors, without correction for finite size."""
        return (self.estimation_error - self.solution.estimation_error) / self.estimation_deviation

    @property
    def slope_z(self) -> float:
        """Difference of slopes in standard errors."""
        return (self.slope - self.slope_theory) / self.slope_deviation

    @property
    def agrees(self) -> bool:
        """Whether the estimation error is that of the theory within ALLOWED, beside what runs scatter by."""
        theory = self.solution.estimation_error
        return abs(self.estimation_error - theory) < ALLOWED * theory + INTERVAL * self.estimation_deviation


def study_width(problem: Problem, hidden: Sequence[int], runs: int, pool: Pool) -> list[WidthPoint]:
    """Train `runs` networks at each of these widths, increasing, and set them beside the theory.

    Args:
        problem: of a power-law target; its own width is not used.

    Raises:
        InvalidParameter: the target is no power law.
        NotConverged: the theory is not solved.
        WorkerError: a descent did not converge.
    """
    if not isinstance(problem.target, PowerLaw):
        raise InvalidParameter("target", problem.target, "has no dimension", "use a power_law")
    dim = problem.target.dim
    problems = [replace(problem, model=MODEL, width=m / dim) for m in hidden]
    measured = pool.results([_job(one, index) for one in problems for index in range(runs)])
    rows = [measured[k * runs : (k + 1) * runs] for k in range(len(hidden))]
    points: list[WidthPoint] = []
    for m, one, row in zip(hidden, problems, rows, strict=True):
        solution = solve(one).unwrap()
        before = (points[-1], rows[len(points) - 1]) if points else None
        estimation, training = (_mean([getattr(run, name) for run in row]) for name in ("estimation_error", "train_error"))
        points.append(WidthPoint(m, solution, runs, *estimation, *training, *_slope(m, solution, row, before)))
    return points


def _slope(
    m: int, solution: Solution, row: Sequence[Trained], before: tuple[WidthPoint, Sequence[Trained]] | None
) -> tuple[float, float, float]:
    """Trained slope from the width before, its standard error over runs, and the slope of the theory."""
    if before is None:
        return math.nan, math.nan, math.nan
    point, others = before
    span = math.log(m / point.hidden)
    pairs = zip(others, row, strict=True)  # of the same data
    slope, error = _mean([math.log(b.estimation_error / a.estimation_error) / span for a, b in pairs])
    return slope, error, math.log(solution.estimation_error / point.solution.estimation_error) / span


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def trained(problem: Problem, index: int) -> Trained:
    """One run.

    Raises:
        RuntimeError: the descent did not converge.
    """
    assert isinstance(problem.target, PowerLaw)
    dim = problem.target.dim
    samples, hidden = round(problem.alpha * dim**2), round(problem.width * dim)
    data, start = (np.random.default_rng([dim, samples, index, *key]) for key in ((), (hidden,)))
    rotation = haar_rotation(dim, data)
    s0 = torch.as_tensor((rotation * problem.target.arrays[0]) @ rotation.T)
    inputs = torch.as_tensor(data.standard_normal((samples, dim)))
    h0 = indices(s0, inputs)
    risk = NetworkRisk(problem, inputs, labels_of(h0[None], problem, data))
    found = Lbfgs(proximal_steps=0).minimise(risk, torch.as_tensor(start.standard_normal((dim, hidden))))  # type: ignore[arg-type]
    if found.status is not DescentStatus.CONVERGED:
        raise RuntimeError(f"{MODEL} of {hidden} hidden units at dim {dim}, run {index}: {found.status.value}")
    weights = torch.as_tensor(found.weights)
    s = weights @ weights.T / math.sqrt(hidden * dim)
    error = float((s - s0).square().sum()) / dim
    return Trained(error, float(risk.losses(indices(s, inputs)).mean()))


def _job(problem: Problem, index: int) -> Job:
    assert isinstance(problem.target, PowerLaw)
    dim = problem.target.dim
    cost = 6e-11 * problem.alpha * problem.width * dim**4 * len(deviations(problem)) * _EVALUATIONS
    return Job(trained, (problem, index), "training", cost, f"{problem.width * dim:.0f} hidden units, run {index}")
