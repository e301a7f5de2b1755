"""Carry out a plan: what a store lacks, by any engine, with the time left."""

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
from numeric.sweeps.plan import Block, SweepPlan
from numeric.sweeps.store import MemoryStore, ZarrStore
from numeric.sweeps.theory import problems_over, theory_plan


class BlocksFailed(NoAnswer):
    """Some tasks ended with an error; all others are stored."""


class SweepResult(NamedTuple):
    """A sweep carried out, and how many of its points were stored before."""

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
        >>> problem = numeric.Problem(alpha=1, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, noise=0.5)
        >>> varied = {"alpha": [0.3, 1, 3], "lambda_": [0.01, 0.1]}
        >>> swept = numeric.sweep(problem, varied, engine=numeric.ThisProcess(), progress=False)
        >>> print(swept.test_error.round(4).values)
        [[0.1747 0.1735]
         [0.102  0.0985]
         [0.0826 0.0818]]

    Args:
        varied: fields of a Problem, or `kappa0` of a Marchenko-Pastur target, each with its values; a tuple of names, with a tuple of
            values each, varies together along one dimension. Points along `alpha` start from their neighbours.
        out: folder of a Zarr store, which is made, or gone on with: finished points are not solved again. Without it, memory.
        engine: what carries it out, by default one process for each core.

    Returns:
        Dataset over the parameters: quantities of a Solution with error bars (`m`, `m_error_bar`, ...), `replicon`, `residual`, and
        `status`, an integer that its attribute `flag_meanings` names. Quantities without a trustworthy value are NaN.

    Raises:
        InvalidParameter: a parameter outside its domain, or `out` belongs to another study, version or process.
        EngineFailed: workers cannot be reached or were lost; what had finished is stored.
    """
    axes = axes_of(varied)
    plan = theory_plan(
        problems_over(problem, axes), axes, {"title": "sweep of the theory", "fixed": repr(problem)}
    )
    return run_plan(
        plan, Path(out) if out is not None else None, engine or Processes(), progress
    ).dataset


def run_plan(
    plan: SweepPlan, out: Path | None, engine: Engine, progress: bool = True
) -> SweepResult:
    """Carry out what the store in `out` lacks of a plan; without one in memory.

    Raises as `sweep`, and BlocksFailed where tasks ended with an error, after all others were stored.
    """
    if isinstance(engine, Processes):
        exit_if_imported_by_worker()  # before it finds the store in use
    with ZarrStore(out, plan) if out else MemoryStore(plan) as store:
        held = store.stored_tasks()
        missing = {block.task.key: block for block in plan.blocks if block.task.key not in held}
        failed: list[Outcome] = []
        if missing:
            tasks = [block.task for block in missing.values()]
            with engine, time_bar("sweep", sum(task.cost for task in tasks), progress) as bar:
                for outcome in engine.outcomes(tasks):
                    if outcome.error is None:
                        store.write(missing[outcome.task.key], outcome.result)
                    else:
                        failed.append(outcome)
                    bar.update(
                        min(outcome.task.cost, bar.total - bar.n)
                    )  # a sum in another order rounds otherwise
        if failed:
            raise BlocksFailed(_report(failed, list(missing.values())))
        return SweepResult(
            store.dataset(), sum(block.points for block in plan.blocks if block.task.key in held)
        )


def _report(failed: Sequence[Outcome], asked: Sequence[Block]) -> str:
    error = failed[0].error
    return (
        f"{len(failed)} of {len(asked)} tasks failed, the first with {type(error).__name__}: {error}; "
        "the others are stored, run the same again"
    )
