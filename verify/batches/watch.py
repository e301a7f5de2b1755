"""What is kept of the descents of a batch: the best point of each, how many evaluations it took and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from verify.batches.risk import BatchPoint, StackedRisk
from verify.core.minimise import DescentStatus, Minimum

STATUSES = tuple(DescentStatus)
RUNNING = -1  #: the status of a descent that has not ended; others are places in `STATUSES`
CROWDED = (
    0.75  #: a batch is made smaller once no more of its runs than this share are still under way
)


@dataclass(frozen=True)
class StoppingRule:
    """When a descent ends, as `Lbfgs` says it: at this relative gradient, after so many evaluations.

    L-BFGS has stalled, too, after `patience` evaluations without a smaller relative gradient or a loss below the least so far by more
    than the share `rounding`.
    """

    tolerance: float
    evaluations: int
    patience: int | None = None
    rounding: float = 0.0


class BatchWatch:
    """Evaluates the risks of B runs and keeps, for each, the point of smallest relative gradient; leaves out those that ended.

    All runs under way are evaluated together. Which of them ended is read by the host once per evaluation.
    """

    def __init__(self, risk: StackedRisk, start: torch.Tensor, limits: StoppingRule) -> None:
        """Watch descents from weights `start`, (B, d, m)."""
        count, device = len(start), start.device
        self.limits, self.taken, self._risk, self._patient = limits, 0, risk, True
        self.weights = start.clone()
        self.loss, self.relative_gradient = (
            torch.full((count,), torch.inf, dtype=torch.float64, device=device) for _ in range(2)
        )
        self.fit, self._least = torch.zeros_like(self.loss), torch.full_like(self.loss, torch.inf)
        self._status = torch.full((count,), RUNNING, device=device)
        self._evaluations, self._improved = (
            torch.zeros(count, dtype=torch.long, device=device) for _ in range(2)
        )
        self.places = torch.arange(
            count, device=device
        )  #: which runs are still evaluated, increasing

    def evaluate(self, weights: torch.Tensor) -> BatchPoint:
        """The risks of the runs still evaluated, at weights of their number; notes what ended there."""
        point = self._risk.at(weights)
        self.taken += 1
        size = point.gradient.flatten(1).norm(dim=1).double() * weights.flatten(1).norm(dim=1)
        relative = torch.where(point.loss > 0, size / point.loss, 0.0)
        finite = point.loss.isfinite()
        running = self._status[self.places] == RUNNING
        self._note_best(
            point, relative, running & finite & (relative < self.relative_gradient[self.places])
        )
        self._evaluations[self.places] += running
        if self.limits.patience and not self._patient:
            idle = self.taken - self._improved[self.places]
            self._end(running & (idle >= self.limits.patience), DescentStatus.STALLED)
        if self.taken >= self.limits.evaluations:
            self._end(running, DescentStatus.MAX_STEPS)
        self._end(running & (relative <= self.limits.tolerance), DescentStatus.CONVERGED)
        self._end(running & ~finite, DescentStatus.DIVERGED)
        return point

    def expect_progress(self) -> None:
        """Lose patience from now on; proximal steps, which may go uphill for long, are given any."""
        self._patient = False
        self._improved.fill_(self.taken)

    def stall(self, which: torch.Tensor) -> None:
        """Note that runs found no lower point; `which` has one bit for each run still evaluated."""
        self._end(which & (self._status[self.places] == RUNNING), DescentStatus.STALLED)

    def under_way(self) -> list[int]:
        """Which of the runs still evaluated have not ended: the one time in a step that the host waits for the device."""
        return [
            place
            for place, status in enumerate(self._status[self.places].tolist())
            if status == RUNNING
        ]

    def worth_compacting(self, left: list[int]) -> bool:
        """Whether the batch is worth making smaller, with those `left` alone."""
        return len(left) <= CROWDED * len(self.places)

    def keep(self, left: list[int]) -> None:
        """Evaluate those alone from now on."""
        self._risk.keep(left)
        self.places = self.places[left]

    def minima(self) -> list[Minimum]:
        """The best point of each run, in their order."""
        columns = (self.loss, self.relative_gradient, self._evaluations, self._status)
        rows = zip(
            self.weights.cpu().numpy(), *(column.tolist() for column in columns), strict=True
        )
        return [
            Minimum(weights, loss, relative, evaluations, STATUSES[status])
            for weights, loss, relative, evaluations, status in rows
        ]

    def _note_best(self, point: BatchPoint, relative: torch.Tensor, better: torch.Tensor) -> None:
        places = self.places
        self.weights[places] = torch.where(
            better[:, None, None], point.weights, self.weights[places]
        )
        for kept, new in (
            (self.loss, point.loss),
            (self.fit, point.fit),
            (self.relative_gradient, relative),
        ):
            kept[places] = torch.where(better, new, kept[places])
        least = self._least[places]
        lower = point.loss < least * (1 - self.limits.rounding)
        self._least[places] = torch.where(lower, point.loss, least)
        self._improved[places] = torch.where(better | lower, self.taken, self._improved[places])

    def _end(self, which: torch.Tensor, status: DescentStatus) -> None:
        """Later calls of one evaluation overrule earlier ones."""
        self._status[self.places] = torch.where(
            which, STATUSES.index(status), self._status[self.places]
        )
