"""Record of the descents of a batch: best point, number of evaluations and status of each run."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from verify.batches.risk import StackedRisk
from verify.core.minimise import DescentStatus, Minimum
from verify.core.risk import RiskPoint

STATUSES = tuple(DescentStatus)
RUNNING = -1  #: status of a descent that has not ended; other values are positions in STATUSES
COMPACT_BELOW = 0.75  #: fraction of running runs at which the ended ones are dropped


@dataclass(frozen=True)
class StoppingRule:
    """End of a descent: at this relative gradient, or after this number of evaluations.

    L-BFGS has also stalled after `patience` evaluations without a smaller relative gradient or a
    loss that is lower by more than the fraction `rounding`.
    """

    tolerance: float
    evaluations: int
    patience: int | None = None
    rounding: float = 0.0


class BatchWatch:
    """Evaluator of the risks of B runs that stores the point of smallest relative gradient of each.

    All running descents are evaluated together. The host reads once per evaluation which of them
    ended.
    """

    def __init__(self, risk: StackedRisk, start: torch.Tensor, rule: StoppingRule) -> None:
        """Start without any evaluation.

        Args:
            risk: risks of the batch.
            start: starting weights, shape (B, d, m).
            rule: end of the descents.
        """
        count, device = len(start), start.device
        self.rule, self.taken, self._risk, self._patient = rule, 0, risk, True
        self.weights = start.clone()
        self.loss, self.relative_gradient, self._least = (
            torch.full((count,), torch.inf, dtype=torch.float64, device=device) for _ in range(3)
        )
        self.fit = torch.zeros_like(self.loss)
        self._status = torch.full((count,), RUNNING, device=device)
        self.places = torch.arange(count, device=device)  #: runs still evaluated, increasing
        self._evaluations, self._improved = (torch.zeros_like(self.places) for _ in range(2))

    def evaluate(self, weights: torch.Tensor) -> RiskPoint:
        """Return the risks of the evaluated runs at `weights`, and record which descents end."""
        point, places, rule = self._risk.at(weights), self.places, self.rule
        self.taken += 1
        size = point.gradient.flatten(1).norm(dim=1).double() * weights.flatten(1).norm(dim=1)
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
        lower = point.loss < self._least[places] * (1 - rule.rounding)
        self._least[places] = torch.where(lower, point.loss, self._least[places])
        self._improved[places] = torch.where(better | lower, self.taken, self._improved[places])
        self._evaluations[places] += running
        if rule.patience and not self._patient:
            idle = self.taken - self._improved[places]
            self._end(running & (idle >= rule.patience), DescentStatus.STALLED)
        if self.taken >= rule.evaluations:
            self._end(running, DescentStatus.MAX_STEPS)
        self._end(running & (relative <= rule.tolerance), DescentStatus.CONVERGED)
        self._end(running & ~finite, DescentStatus.DIVERGED)
        return point

    def start_patience(self) -> None:
        """Apply `patience` from now on; proximal steps may go uphill for long."""
        self._patient = False
        self._improved.fill_(self.taken)

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
