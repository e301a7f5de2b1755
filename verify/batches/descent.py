"""The descents of a batch, each as `Lbfgs` does one: proximal steps where these are well conditioned, then L-BFGS."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

import torch

from verify.batches.proximal import ProximalSteps
from verify.batches.quasi_newton import QuasiNewton
from verify.batches.risk import BatchPoint, StackedRisk
from verify.batches.shape import Precision
from verify.batches.watch import BatchWatch, StoppingRule
from verify.core.minimise import Lbfgs, Minimum

#: Relative gradient at which a descent in float32 ends: rounding leaves 1e-5 to 2.5e-5 of it (measured, d = 24). Where it leaves
#: more the floor is reached after so many evaluations without a smaller one, or a loss that falls by more than rounding.
FLOOR, FLOOR_PATIENCE, FLOOR_ROUNDING = 3e-5, 25, 1e-6


class Method(Protocol):
    """A way down for all runs of a batch."""

    @property
    def trial(self) -> torch.Tensor:
        """Weights to evaluate next, (B, d, m)."""

    def receive(self, point: BatchPoint) -> torch.Tensor:
        """Take note of their evaluation; return which runs find no lower point, (B,)."""

    def keep(self, places: list[int]) -> None:
        """Go on with those at `places` alone."""


@dataclasses.dataclass(frozen=True)
class BatchMinima:
    """Where each run of a batch ended, and its risk there without weight decay, `fits`."""

    minima: list[Minimum]
    fits: list[float]


def minimise_batch(
    risk: StackedRisk, start: torch.Tensor, how: Lbfgs, precision: Precision
) -> BatchMinima:
    """Minimise the risk of every run from weights `start`, (B, d, m).

    Runs out of the batch's data: those of runs that end early make room. With `REFINED` numbers each of the two descents may take
    `how.max_steps` evaluations, and the last one says how it ended.
    """
    earlier = [0] * len(start)
    if precision is Precision.REFINED:
        limits = StoppingRule(
            max(how.tolerance, FLOOR), how.max_steps, FLOOR_PATIENCE, FLOOR_ROUNDING
        )
        first = _descend(risk.rounded(torch.float32), start.float(), how, limits)
        earlier = [minimum.evaluations for minimum in first.minima()]
        start = first.weights.double()
    watch = _descend(risk, start, how, StoppingRule(how.tolerance, how.max_steps))
    minima = [
        dataclasses.replace(minimum, evaluations=minimum.evaluations + before)
        for minimum, before in zip(watch.minima(), earlier, strict=True)
    ]
    return BatchMinima(minima, watch.fit.tolist())


def _descend(
    risk: StackedRisk, start: torch.Tensor, how: Lbfgs, limits: StoppingRule
) -> BatchWatch:
    watch, shape = BatchWatch(risk, start, limits), risk.stack.shape
    if how.proximal_steps and risk.weights.labels_determine_map(
        shape.samples, shape.tokens, shape.dim
    ):

        def proximal(point: BatchPoint) -> Method:
            return ProximalSteps(point, risk.decays, risk.weights, shape.samples)

        _follow(watch, proximal, how.proximal_steps)
    watch.expect_progress()
    _follow(watch, lambda point: QuasiNewton(point, how.memory), how.max_steps)
    return watch


def _follow(watch: BatchWatch, begin: Callable[[BatchPoint], Method], steps: int) -> None:
    """Go down from the best points so far, for so many evaluations or until every run has ended."""
    if not (left := watch.under_way()):
        return
    watch.keep(left)
    method = begin(watch.evaluate(watch.weights[watch.places]))
    for _ in range(steps - 1):
        if not (left := watch.under_way()):
            return
        if watch.worth_compacting(left):
            watch.keep(left)
            method.keep(left)
        watch.stall(method.receive(watch.evaluate(method.trial)))
