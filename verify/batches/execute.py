"""Training of runs of one shape together, in batches that fit into memory."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from attention_erm.runtime.errors import InvalidParameter
from verify.batches.descent import minimise_batch
from verify.batches.memory import BatchPlan, budget_of, plan_batch
from verify.batches.risk import StackedRisk
from verify.batches.shape import BatchShape, minimiser_of
from verify.batches.stack import Stack
from verify.core.draw import draw
from verify.core.measure import RunResult, measure_run
from verify.core.run import Run
from verify.core.streams import Stream
from verify.core.vocabulary import DrawnVocabulary


def execute_batch(runs: Sequence[Run], budget: int | None = None) -> list[RunResult]:
    """Draw the data of `runs`, minimise their risks together and measure, in their order.

    The data are those of `execute`; minima agree with its minima within the tolerance.

    Args:
        runs: runs of one shape.
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
    plan = plan_batch(shape, len(runs), budget_of(shape.device) if budget is None else budget)
    parts = [runs[start : start + plan.runs] for start in range(0, len(runs), plan.runs)]
    return [result for part in parts for result in _execute_together(part, shape, plan)]


class _Draws(NamedTuple):
    """Draws of a run without inputs and labels: target S0, starting weights, test stream, and the
    vocabulary.
    """

    s0: torch.Tensor
    start: torch.Tensor
    test: Stream
    vocabulary: DrawnVocabulary | None


def _execute_together(runs: Sequence[Run], shape: BatchShape, plan: BatchPlan) -> list[RunResult]:
    started = time.perf_counter()
    stack, draws = Stack(shape, len(runs), plan.samples), list[_Draws]()
    for place, run in enumerate(runs):
        drawn = draw(run)
        stack.put(place, drawn.inputs, drawn.labels)
        draws.append(_Draws(drawn.s0, drawn.start, drawn.test, drawn.vocabulary))
    risk = StackedRisk.of(runs, stack)
    found = minimise_batch(risk, torch.stack([one.start for one in draws]), minimiser_of(shape))
    results = []
    for run, one, minimum, fit in zip(runs, draws, found.minima, found.fits, strict=True):
        s = risk.weights.attention_map(torch.as_tensor(minimum.weights, device=shape.device))
        results.append(measure_run(run, (s, one.s0), minimum, fit / shape.samples, one))
    share = (time.perf_counter() - started) / len(runs)
    return [dataclasses.replace(result, seconds=share) for result in results]
