"""Runs of one shape carried out together, in batches that fit into memory: what `execute` gives for each of them alone."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from attention_erm.runtime.errors import InvalidParameter
from verify.batches.descent import minimise_batch
from verify.batches.memory import BatchPlan, budget_of, plan_batch
from verify.batches.risk import StackedRisk
from verify.batches.shape import BatchShape, Precision, minimiser_of
from verify.batches.stack import Stack
from verify.core.draw import draw
from verify.core.measure import RunResult, measure_run
from verify.core.run import Run


def execute_batch(
    runs: Sequence[Run], precision: Precision = Precision.DOUBLE, budget: int | None = None
) -> list[RunResult]:
    """Draw the data of `runs`, minimise their risks together and measure, in their order.

    The data are those that `execute` draws; minima agree with its own to what the tolerance of the minimiser allows. `seconds` of a
    result is its share of the time. `budget`: bytes to be used, by default what `budget_of` the device says. Raises InvalidParameter
    for runs of different shapes, and before anything is drawn if not even one of them fits.
    """
    if not runs:
        return []
    shape = BatchShape.of(runs[0])
    if any(BatchShape.of(run) != shape for run in runs):
        raise InvalidParameter(
            "runs",
            len(runs),
            "differ in shape, minimiser or device",
            "train them in batches of one shape",
        )
    minimiser_of(shape)
    plan = plan_batch(
        shape, len(runs), precision, budget_of(shape.device) if budget is None else budget
    )
    parts = [runs[start : start + plan.runs] for start in range(0, len(runs), plan.runs)]
    return [result for part in parts for result in _execute_together(part, shape, plan, precision)]


class _Rest(NamedTuple):
    """What of a run's draws its inputs and labels leave: target S0 (d, d), starting weights, source of test samples."""

    s0: torch.Tensor
    start: torch.Tensor
    test: np.random.Generator


def _execute_together(
    runs: Sequence[Run], shape: BatchShape, plan: BatchPlan, precision: Precision
) -> list[RunResult]:
    started = time.perf_counter()
    stack = Stack(shape, len(runs), plan.samples)
    with ThreadPoolExecutor(plan.drawn) as threads:
        rests = list(
            threads.map(lambda place: _draw_into(stack, place, runs[place]), range(len(runs)))
        )
    start = torch.stack([rest.start for rest in rests])
    risk = StackedRisk.of(runs, stack)
    found = minimise_batch(risk, start, minimiser_of(shape), precision)

    def measure(place: int) -> RunResult:
        minimum, rest = found.minima[place], rests[place]
        s = risk.weights.attention_map(torch.as_tensor(minimum.weights, device=shape.device))
        return measure_run(
            runs[place], (s, rest.s0), minimum, found.fits[place] / shape.samples, rest.test
        )

    with ThreadPoolExecutor(_threads(shape.device)) as threads:
        results = list(threads.map(measure, range(len(runs))))
    share = (time.perf_counter() - started) / len(runs)
    return [dataclasses.replace(result, seconds=share) for result in results]


def _draw_into(stack: Stack, place: int, run: Run) -> _Rest:
    """Draw a run and copy its data to their place."""
    drawn = draw(run)
    stack.put(place, drawn.inputs, drawn.labels)
    return _Rest(drawn.s0, drawn.start, drawn.test)


def _threads(device: str) -> int:
    """On a CPU one, as every worker has; beside a GPU all cores, of which each draws the test samples of a run."""
    return 1 if device == "cpu" else len(os.sched_getaffinity(0))
