"""Running a sweep: solve all points that a store lacks, with any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from attention_erm.runtime.errors import NoAnswer
from attention_erm.runtime.progress import time_bar
from numeric.engines.processes import Processes, exit_if_imported_by_worker
from numeric.engines.task import Engine, Outcome
from numeric.problem.problem import Problem
from numeric.sweeps.axes import axes_of
from numeric.sweeps.plan import SweepPlan
from numeric.sweeps.store import MemoryStore, ZarrStore
from numeric.sweeps.theory import problems_over, theory_plan


class BlocksFailed(NoAnswer):
    """Some tasks failed; the results of all others are stored."""


class SweepResult(NamedTuple):
    """Dataset of a sweep, and the number of points that were stored before."""

    dataset: xr.Dataset
    found: int


def sweep(
    problem: Problem,
    varied: Mapping[str | tuple[str, ...], Sequence[Any]],
    out: Path | str | None = None,
    engine: Engine | None = None,
    progress: bool = True,
) -> xr.Dataset:
    """Solve `problem` at all combinations of the parameters in `varied`.

        >>> import numeric
        >>> target = numeric.MarchenkoPastur(0.5)
        >>> problem = numeric.Problem(alpha=1, target=target, lambda_=0.1, noise=0.5)
        >>> varied = {"alpha": [0.3, 1, 3], "lambda_": [0.01, 0.1]}
        >>> swept = numeric.sweep(problem, varied, engine=numeric.ThisProcess(), progress=False)
        >>> print(swept.test_error.round(4).values)
        [[0.1747 0.1735]
         [0.102  0.0985]
         [0.0826 0.0818]]

    Args:
        problem: values of all other parameters.
        varied: values for each field of a Problem, or for `kappa0` of a Marchenko-Pastur target.
            The parameters in a tuple of names vary together along one dimension; each value is then
            a tuple. Points along `alpha` start from their neighbours.
        out: folder of a Zarr store. An existing store is continued: finished points are not solved
            again. Default: memory.
        engine: how to run the tasks; default: one process for each core.
        progress: whether to show a progress bar.

    Returns:
        Dataset over the parameters: quantities of a Solution with error bars (`m`, `m_error_bar`,
        ...), `replicon`, `residual`, and `status`, an integer explained by its attribute
        `flag_meanings`. Quantities without a trustworthy value are NaN.

    Raises:
        InvalidParameter: a parameter is outside its domain, or `out` belongs to another study,
            version or process.
        BlocksFailed: some tasks failed.
        EngineFailed: workers cannot be reached or were lost; finished points are stored.
    """
    axes = axes_of(varied)
    attributes = {"title": "sweep of the theory", "fixed": repr(problem)}
    plan = theory_plan(problems_over(problem, axes), axes, attributes)
    folder = Path(out) if out is not None else None
    return run_plan(plan, folder, engine or Processes(), progress).dataset


def run_plan(
    plan: SweepPlan, out: Path | None, engine: Engine, progress: bool = True
) -> SweepResult:
    """Run all tasks of a plan whose results are not stored yet.

    Args:
        plan: the plan.
        out: folder of a Zarr store; None for memory.
        engine: how to run the tasks.
        progress: whether to show a progress bar.

    Raises: see `sweep`.
    """
    if isinstance(engine, Processes):
        exit_if_imported_by_worker()  # before it finds the store locked
    with ZarrStore(out, plan) if out else MemoryStore(plan) as store:
        stored = store.stored_tasks()
        missing = {block.task.key: block for block in plan.blocks if block.task.key not in stored}
        failed: list[Outcome] = []
        if missing:
            tasks = [block.task for block in missing.values()]
            with engine, time_bar("sweep", sum(task.cost for task in tasks), progress) as bar:
                engine.submit(tasks)
                for outcome in engine.finished():
                    if outcome.error is None:
                        store.write(missing[outcome.task.key], outcome.result)
                    else:
                        failed.append(outcome)
                    # A sum in another order has other rounding errors.
                    bar.update(min(outcome.task.cost, bar.total - bar.n))
        if failed:
            error = failed[0].error
            raise BlocksFailed(
                f"{len(failed)} of {len(missing)} tasks failed, the first with "
                f"{type(error).__name__}: {error}; the others are stored: run the same command "
                "again"
            )
        found = sum(block.points for block in plan.blocks if block.task.key in stored)
        return SweepResult(store.dataset(), found)
