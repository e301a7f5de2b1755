"""Access to the optional package `verify.batches`, which trains runs of one shape together.

Without the package every run is trained alone: slower on a GPU, otherwise the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from verify.core.measure import RunResult
from verify.core.minimise import MINIMISERS, Lbfgs
from verify.core.run import Run

BATCH_MODULE = "verify.batches.execute"
MAX_BATCH_RUNS = 64  #: an interrupt loses a whole batch


def batch_shape(run: Run) -> Hashable | None:
    """Return what `run` must share with others of its batch; None if it can only be trained
    alone.
    """
    batches = _batch_module()
    if batches is None or not isinstance(MINIMISERS[run.minimiser](), Lbfgs):
        return None
    shape: Hashable = batches.BatchShape.of(run)
    return shape


def train_together(runs: Sequence[Run]) -> list[RunResult]:
    """Return the results of runs of one `batch_shape`, in their order."""
    batches = _batch_module()
    assert batches is not None  # these runs have a batch shape
    results: list[RunResult] = batches.execute_batch(runs)
    return results


@cache
def _batch_module() -> ModuleType | None:
    return import_module(BATCH_MODULE) if find_spec("verify.batches") else None
