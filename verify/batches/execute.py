"""Training of runs of one shape together, in batches that fit into memory."""

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

    The data are those of `execute`; minima agree with its minima within the tolerance.

    Args:
        runs: runs of one shape.
        precision: precision of the descents.
        budget: available bytes; default `budget_of` the device.

    Returns:
        Results in the order of the runs; `seconds` is the time of the batch divided by its runs.

    Raises:
        InvalidParameter: runs of different shapes, or not even one run fits; nothing is drawn.
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


class _Draws(NamedTuple):
    """Draws of a run without inputs and labels: target S0, starting weights, test generator."""

    s0: torch.Tensor
    start: torch.Tensor
    test: np.random.Generator


def _execute_together(
    runs: Sequence[Run], shape: BatchShape, plan: BatchPlan, precision: Precision
) -> list[RunResult]:
    started = time.perf_counter()
    stack, places = Stack(shape, len(runs), plan.samples), range(len(runs))

    def draw_into_stack(place: int) -> _Draws:
        drawn = draw(runs[place])
        stack.put(place, drawn.inputs, drawn.labels)
        return _Draws(drawn.s0, drawn.start, drawn.test)

    with ThreadPoolExecutor(plan.drawn) as threads:
        draws = list(threads.map(draw_into_stack, places))
    risk = StackedRisk.of(runs, stack)
    start = torch.stack([one.start for one in draws])
    found = minimise_batch(risk, start, minimiser_of(shape), precision)

    def measure(place: int) -> RunResult:
        minimum, one = found.minima[place], draws[place]
        s = risk.weights.attention_map(torch.as_tensor(minimum.weights, device=shape.device))
        train_error = found.fits[place] / shape.samples
        return measure_run(runs[place], (s, one.s0), minimum, train_error, one.test)

    # a worker on a CPU has one core; next to a GPU every core draws the test samples of a run
    with ThreadPoolExecutor(
        1 if shape.device == "cpu" else len(os.sched_getaffinity(0))
    ) as threads:
        results = list(threads.map(measure, places))
    share = (time.perf_counter() - started) / len(runs)
    return [dataclasses.replace(result, seconds=share) for result in results]
