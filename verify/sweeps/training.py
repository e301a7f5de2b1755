"""Sweep of training: heads of several sizes and seeds at each point of a study, and the theory of
their realised problems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_erm.runtime.digests import code_digest
from numeric.engines.processes import use_one_thread
from numeric.engines.task import Task
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.model import packages
from numeric.sweeps.attributes import attributes_of, status_attributes
from numeric.sweeps.axes import Axis, coordinates_of, shape_of
from numeric.sweeps.plan import Block, SweepPlan, Variable, regions, task_key
from numeric.sweeps.theory import TASK_SECONDS, theory_plan
from verify.core.batching import BATCH_MODULE, batch_shape, train_together
from verify.core.data import DataKind
from verify.core.draw import require_memory
from verify.core.measure import RunResult, execute
from verify.core.minimise import DescentStatus
from verify.core.realised_problem import realised_problem
from verify.core.run import Run, Start
from verify.core.target import TargetKind, rank_ratio, target_rank

MEASURED = (
    "m",
    "q",
    "q0",
    "train_error",
    "test_error",
    "best_error",
    "estimation_error",
    "loss",
    "relative_gradient",
)
STATUS_CODES = {status: code for code, status in enumerate(DescentStatus, start=1)}


@dataclass(frozen=True)
class TrainingSettings:
    """Training added to the points of a study: sizes d, runs of each, and method; `theory` states
    whether it is solved as well.
    """

    dims: tuple[int, ...] = (40, 60)
    runs: int = 8
    data: DataKind = DataKind.SEQUENCES
    target: TargetKind = TargetKind.DETERMINISTIC
    minimiser: str = "lbfgs"
    start: Start = Start.RANDOM
    device: str = "cpu"
    entropy: int = 0
    theory: bool = True


def training_plan(
    problems: np.ndarray,
    axes: Sequence[Axis],
    trained: TrainingSettings,
    attributes: Mapping[str, str],
) -> SweepPlan:
    """Return the plan that trains problems, and solves their theory if requested.

    The theory is that of each run's realised numbers of samples, columns and eigenvalues. Its
    variables begin with `theory_` and have no dimension `seed`. A Gaussian target has its mean
    second moment.

    Args:
        problems: array of Problem over `axes`.
        axes: values along each dimension.
        trained: training settings.
        attributes: attributes of the Dataset.

    Raises:
        InvalidParameter: a problem is not trained, or its data do not fit into memory.
    """
    sizes = Axis(("dim",), (trained.dims,))
    over = (*axes, sizes, Axis(("seed",), (tuple(range(trained.runs)),)))
    runs = _runs(problems, trained)
    batches = (BATCH_MODULE,) if trained.device == "cuda" else ()
    code = code_digest(__name__, *packages(), *batches)
    require_memory(runs[..., 0].flat)
    plan = SweepPlan(
        coordinates_of(over),
        training_variables(tuple(axis.dimension for axis in over), _chunks(runs)),
        [_block(runs, region, over, code) for region in regions(shape_of(over), _chunks(runs))],
        attributes,
        code,
    )
    if not trained.theory:
        return plan
    realised = np.array([_realised(run) for run in runs[..., 0].flat], dtype=object).reshape(
        runs.shape[:-1]
    )
    return plan.merged_with(theory_plan(realised, (*axes, sizes), {}, "theory_"))


def training_variables(dimensions: tuple[str, ...], chunks: tuple[int, ...]) -> dict[str, Variable]:
    """Return the variables stored for each trained head."""
    variables = {name: Variable(dimensions, chunks, attributes_of(name)) for name in MEASURED}
    endings = [(status.name.lower(), status.value) for status in STATUS_CODES]
    return {
        **variables,
        "status": Variable(dimensions, chunks, status_attributes("how training ended", endings)),
    }


def train_block(runs: tuple[Run, ...], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return values of the variables of runs; those of a descent that did not converge are missing.

    Args:
        runs: the runs.
        shape: shape of the block.
    """
    use_one_thread()
    results = train_together(runs) if _together(runs[0]) else map(execute, runs)
    rows = [_row(result) for result in results]
    return {name: np.array([row[name] for row in rows]).reshape(shape) for name in rows[0]}


def _together(run: Run) -> bool:
    """Return whether seeds are trained in batches: on a GPU, which one head does not use fully."""
    return run.device == "cuda" and batch_shape(run) is not None


def _row(result: RunResult) -> dict[str, float]:
    converged = result.status is DescentStatus.CONVERGED
    values = {name: float(getattr(result, name)) if converged else math.nan for name in MEASURED}
    return {
        **values,
        "relative_gradient": result.relative_gradient,
        "status": STATUS_CODES[result.status],
    }


def _runs(problems: np.ndarray, trained: TrainingSettings) -> np.ndarray:
    runs = np.empty((*problems.shape, len(trained.dims), trained.runs), dtype=object)
    for index, problem in np.ndenumerate(problems):
        for k, dim in enumerate(trained.dims):
            for seed in range(trained.runs):
                runs[(*index, k, seed)] = Run(
                    problem,
                    dim,
                    trained.target,
                    trained.data,
                    trained.minimiser,
                    trained.entropy,
                    seed,
                    trained.start,
                    device=trained.device,
                )
    return runs


def _chunks(runs: np.ndarray) -> tuple[int, ...]:
    """Return the chunk sizes: as many seeds as the slowest run trains in a minute, or all if
    they are batched.
    """
    first = runs[..., 0]
    seeds = (
        runs.shape[-1]
        if _together(first.flat[0])
        else max(1, int(TASK_SECONDS / max(run.cost for run in first.flat)))
    )
    return (*(1,) * (runs.ndim - 1), min(seeds, runs.shape[-1]))


def _block(runs: np.ndarray, region: tuple[slice, ...], axes: Sequence[Axis], code: str) -> Block:
    asked = tuple(runs[region].flat)
    arguments: tuple[Any, ...] = (asked, runs[region].shape)
    key = task_key("training", [run.key for run in asked], code)
    task = Task(train_block, arguments, sum(run.cost for run in asked), key=key)
    return Block(
        task,
        {axis.dimension: part for axis, part in zip(axes, region, strict=True)},
        "status",
        len(asked),
    )


def _realised(run: Run) -> Any:
    q0 = 1.0
    if run.target_kind is TargetKind.GAUSSIAN:
        q0 = MarchenkoPastur(target_rank(run.dim, rank_ratio(run.problem.target)) / run.dim).q0
    return realised_problem(run, q0)
