"""Record of the descents of a batch: best point, number of evaluations and status of each run."""

from __future__ import annotations

import torch

from verify.batches.risk import StackedRisk
from verify.core.minimise import DescentStatus, Lbfgs, Minimum
from verify.core.risk import RiskPoint

STATUSES = tuple(DescentStatus)
RUNNING = -1  #: status of a descent that has not ended; other values are positions in STATUSES
COMPACT_BELOW = 0.75  #: fraction of running runs at which the ended ones are dropped


class BatchWatch:
    """Evaluator of the risks of B runs that stores the point of smallest relative gradient of each.

    All running descents are evaluated together. The host reads once per evaluation which of them
    ended.
    """

    def __init__(self, risk: StackedRisk, start: torch.Tensor, minimiser: Lbfgs) -> None:
        """Start without any evaluation.

        Args:
            risk: risks of the batch.
            start: starting weights, shape (B, d, m).
            minimiser: relative gradient and number of evaluations at which descents end.
        """
        count, device = len(start), start.device
        self._minimiser, self._taken, self._risk = minimiser, 0, risk
        self.weights = start.clone()
        self.loss, self.relative_gradient = (
            torch.full((count,), torch.inf, dtype=torch.float64, device=device) for _ in range(2)
        )
        self.fit = torch.zeros_like(self.loss)
        self._status = torch.full((count,), RUNNING, device=device)
        self.places = torch.arange(count, device=device)  #: runs still evaluated, increasing
        self._evaluations = torch.zeros_like(self.places)

    def evaluate(self, weights: torch.Tensor) -> RiskPoint:
        """Return the risks of the evaluated runs at `weights`, and record which descents end."""
        point, places = self._risk.at(weights), self.places
        self._taken += 1
        size = point.gradient.flatten(1).norm(dim=1) * weights.flatten(1).norm(dim=1)
        relative = torch.where(point.loss > 0, size / point.loss, 0.0)
        finite = point.loss.isfinite()
        running = self._status[places] == RUNNING
        better = running & finite & (relative < self.relative_gradient[places])
        self.weights[places] = torch.where(
            better[:, None, None], point.weights, self.weights[places]
        )
        for stored, new in (
            (self.loss, point.loss),
            (self.fit, point.fit),
            (self.relative_gradient, relative),
        ):
            stored[places] = torch.where(better, new, stored[places])
        self._evaluations[places] += running
        if self._taken >= self._minimiser.max_steps:
            self._end(running, DescentStatus.MAX_STEPS)
        self._end(running & (relative <= self._minimiser.tolerance), DescentStatus.CONVERGED)
        self._end(running & ~finite, DescentStatus.DIVERGED)
        return point

    def stall(self, which: torch.Tensor) -> None:
        """Record which of the evaluated runs found no lower point."""
        self._end(which & (self._status[self.places] == RUNNING), DescentStatus.STALLED)

    def running(self) -> list[int]:
        """Return which of the evaluated runs have not ended; the host waits for the device here."""
        return [
            place
            for place, status in enumerate(self._status[self.places].tolist())
            if status == RUNNING
        ]

    def worth_compacting(self, left: list[int]) -> bool:
        """Return whether dropping all runs except `left` saves enough time."""
        return len(left) <= COMPACT_BELOW * len(self.places)

    def keep(self, left: list[int]) -> None:
        """Evaluate only these runs from now on."""
        self._risk.keep(left)
        self.places = self.places[left]

    def minima(self) -> list[Minimum]:
        """Return the best point of each run, in their order."""
        columns = (self.loss, self.relative_gradient, self._evaluations, self._status)
        rows = zip(
            self.weights.cpu().numpy(), *(column.tolist() for column in columns), strict=True
        )
        return [
            Minimum(weights, loss, relative, evaluations, STATUSES[status])
            for weights, loss, relative, evaluations, status in rows
        ]

    def _end(self, which: torch.Tensor, status: DescentStatus) -> None:
        """Set the status; later calls in one evaluation overrule earlier ones."""
        self._status[self.places] = torch.where(
            which, STATUSES.index(status), self._status[self.places]
        )
