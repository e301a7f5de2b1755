"""Descents of a batch, each in the two stages of `Lbfgs`: proximal steps, then L-BFGS."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

import torch

from verify.batches.quasi_newton import QuasiNewton
from verify.batches.risk import StackedRisk
from verify.batches.watch import BatchWatch
from verify.core.minimise import Lbfgs, Minimum
from verify.core.proximal import ProximalSteps
from verify.core.risk import RiskPoint


class Method(Protocol):
    """Descent method for all runs of a batch."""

    @property
    def trial(self) -> torch.Tensor:
        """Weights to evaluate next, (B, d, m)."""

    def receive(self, point: RiskPoint) -> torch.Tensor:
        """Process the evaluation of `trial`; return which runs find no lower point, (B,)."""

    def keep(self, places: list[int]) -> None:
        """Continue with only the runs at `places`."""


@dataclasses.dataclass(frozen=True)
class BatchMinima:
    """Minimum of each run, and its risk there without weight decay, `fits`."""

    minima: list[Minimum]
    fits: list[float]


def minimise_batch(risk: StackedRisk, start: torch.Tensor, minimiser: Lbfgs) -> BatchMinima:
    """Minimise the risk of every run: proximal steps, then L-BFGS.

    Args:
        risk: risks of the batch; data of runs that end early are dropped from it.
        start: starting weights, shape (B, d, m).
        minimiser: tolerance and limits.
    """
    watch, shape = BatchWatch(risk, start, minimiser), risk.stack.shape
    if minimiser.proximal_steps and risk.weights.labels_determine_map(
        shape.samples, shape.tokens, shape.dim
    ):
        _follow(
            watch,
            lambda point: ProximalSteps(point, risk.decays, risk.weights, shape.samples),
            minimiser.proximal_steps,
        )
    _follow(watch, lambda point: QuasiNewton(point, minimiser.memory), minimiser.max_steps)
    return BatchMinima(watch.minima(), watch.fit.tolist())


def _follow(watch: BatchWatch, begin: Callable[[RiskPoint], Method], steps: int) -> None:
    """Descend from the best points for `steps` evaluations, or until every run has ended."""
    if not (left := watch.running()):
        return
    watch.keep(left)
    method = begin(watch.evaluate(watch.weights[watch.places]))
    for _ in range(steps - 1):
        if not (left := watch.running()):
            return
        if watch.worth_compacting(left):
            watch.keep(left)
            method.keep(left)
        watch.stall(method.receive(watch.evaluate(method.trial)))
