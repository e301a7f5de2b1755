"""How many runs are trained at once, and how many of their samples evaluated at once, in the memory there is."""

from __future__ import annotations

from typing import NamedTuple

import torch

from attention_erm.runtime.errors import InvalidParameter
from verify.batches.shape import BatchShape, Precision, gibibytes
from verify.core.batching import MAX_BATCH_RUNS
from verify.core.data import BLOCK_ROWS

CPU_BUDGET = 4 << 30  #: bytes for one batch on a CPU, whose memory other processes share
CUDA_SHARE = (
    0.85  #: of the free memory of a GPU: the rest is for its libraries and for gaps between tensors
)
BLOCK_SHARE = 0.25  #: of the budget at most, for what the evaluation of a block takes
#: Runs drawn at once, each by one core, and copied into the batch: their own inputs take memory besides.
DRAWN_AT_ONCE = {"cpu": 1, "cuda": 4}


class BatchPlan(NamedTuple):
    """Runs trained at once, how many of them are drawn at once, samples of each evaluated at once, and the bytes that this takes."""

    runs: int
    drawn: int
    samples: int
    bytes: int


def budget_of(device: str) -> int:
    """Bytes that a batch may take on a device."""
    if device == "cpu":
        return CPU_BUDGET
    torch.cuda.empty_cache()  # what earlier batches have left counts as taken until it is given back
    return int(CUDA_SHARE * torch.cuda.mem_get_info()[0])


def plan_batch(shape: BatchShape, count: int, precision: Precision, budget: int) -> BatchPlan:
    """Plan batches of `count` runs or fewer in `budget` bytes.

    Raises InvalidParameter if not even one run fits.
    """
    each, one_sample = shape.run_bytes(precision), shape.sample_bytes()

    def held(runs: int) -> int:
        return runs * each + min(runs, DRAWN_AT_ONCE[shape.device]) * shape.input_bytes

    fitting = [
        runs
        for runs in range(1, min(count, MAX_BATCH_RUNS) + 1)
        if held(runs) + runs * one_sample <= budget
    ]
    if not fitting:
        rule = f"one run of {shape.samples} samples takes {gibibytes(held(1) + one_sample)}, {gibibytes(budget)} are free"
        raise InvalidParameter("dim", shape.dim, rule, "lower it, or alpha")
    runs = fitting[-1]
    by_speed = BLOCK_ROWS[shape.device] // (runs * shape.row_count)
    by_memory = int(min(budget - held(runs), BLOCK_SHARE * budget)) // (runs * one_sample)
    samples = max(1, min(shape.samples, by_speed, by_memory))
    drawn = min(runs, DRAWN_AT_ONCE[shape.device])
    return BatchPlan(runs, drawn, samples, held(runs) + runs * samples * one_sample)
