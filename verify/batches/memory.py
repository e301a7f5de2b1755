"""Number of runs trained at once, and of their samples evaluated at once, in the available
memory.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from attention_erm.runtime.errors import InvalidParameter
from verify.batches.shape import BatchShape
from verify.core.batching import MAX_BATCH_RUNS
from verify.core.data import BLOCK_ROWS, sample_shape

CPU_BUDGET = 4 << 30  #: bytes of one batch on a CPU, whose memory other processes share
#: Fraction of the free memory of a GPU; libraries and gaps between tensors take the rest.
CUDA_FRACTION = 0.85
BLOCK_FRACTION = 0.25  #: maximum fraction of the budget for the evaluation of a block


class BatchPlan(NamedTuple):
    """Runs trained at once, samples of each evaluated at once, and bytes."""

    runs: int
    samples: int
    bytes: int


def budget_of(device: str) -> int:
    """Return the bytes that a batch may take on a device."""
    if device == "cpu":
        return CPU_BUDGET
    torch.cuda.empty_cache()  # memory of earlier batches counts as used until it is released
    return int(CUDA_FRACTION * torch.cuda.mem_get_info()[0])


def plan_batch(shape: BatchShape, count: int, budget: int) -> BatchPlan:
    """Return the largest batch that fits.

    Args:
        shape: shape of the runs.
        count: maximum number of runs.
        budget: available bytes.

    Raises:
        InvalidParameter: not even one run fits.
    """
    each, one_sample = shape.run_bytes, shape.sample_bytes()

    def fixed_bytes(runs: int) -> int:
        return runs * each + shape.input_bytes  # a run is drawn before it is copied into the batch

    fitting = [
        runs
        for runs in range(1, min(count, MAX_BATCH_RUNS) + 1)
        if fixed_bytes(runs) + runs * one_sample <= budget
    ]
    if not fitting:
        needed, free = ((x / 2**30) for x in (fixed_bytes(1) + one_sample, budget))
        rule = f"one run of {shape.samples} samples takes {needed:.3g} GiB, {free:.3g} GiB are free"
        raise InvalidParameter("dim", shape.dim, rule, "lower it, or alpha")
    runs = fitting[-1]
    rows, _ = sample_shape(shape.data, shape.tokens, shape.dim)
    by_speed = BLOCK_ROWS[shape.device] // (runs * rows)
    by_memory = int(min(budget - fixed_bytes(runs), BLOCK_FRACTION * budget)) // (runs * one_sample)
    samples = max(1, min(shape.samples, by_speed, by_memory))
    return BatchPlan(runs, samples, fixed_bytes(runs) + runs * samples * one_sample)
