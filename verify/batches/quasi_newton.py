"""L-BFGS for every run of a batch: each evaluation is a line-search trial of every run."""

from __future__ import annotations

import torch

from verify.batches.curvature import PastSteps
from verify.batches.line_search import Bracket, LinePoint
from verify.core.risk import RiskPoint

FIRST_STEP = 0.01  #: length of a step along a gradient, as a fraction of the norm of the weights
#: Losses that differ by a smaller fraction count as equal.
EQUAL_LOSSES = 32 * torch.finfo(torch.float64).eps


class QuasiNewton:
    """State of B descents: weights, line searches and past steps; `trial` is evaluated next."""

    def __init__(self, point: RiskPoint, memory: int) -> None:
        """Start at an evaluated point.

        Args:
            point: risk at the starting weights.
            memory: number of past steps that L-BFGS stores.
        """
        self._weights, self._gradient = point.weights.flatten(1), point.gradient.flatten(1)
        self._loss = point.loss
        self._shape, self._past = point.weights.shape[1:], PastSteps(memory, self._gradient)
        self._direction, self._step, self._bracket = self._new_line()

    @property
    def trial(self) -> torch.Tensor:
        """Weights to evaluate, (B, d, m)."""
        return (self._weights + self._step[:, None] * self._direction).unflatten(1, self._shape)

    def receive(self, point: RiskPoint) -> torch.Tensor:
        """Process the evaluation of `trial`; return which runs find no lower point, (B,).

        After a failed line search the past steps are deleted, so that the next search goes along
        the gradient; if the failed one did so already, there is no lower point.
        """
        weights, gradient = point.weights.flatten(1), point.gradient.flatten(1)
        trial = LinePoint(self._step, point.loss, _dot(gradient, self._direction))
        accepted = self._bracket.accepts(trial, EQUAL_LOSSES)
        bracket, step = self._bracket.narrowed(trial)
        failed = ~accepted & bracket.failed
        stuck = failed & (self._past.count == 0)
        self._past.forget(failed)
        move, change = weights - self._weights, gradient - self._gradient
        convex = _dot(move, change) > torch.finfo(change.dtype).eps * _dot(change, change)
        self._past.push(accepted & convex, move, change)
        chosen = accepted[:, None]
        self._weights = torch.where(chosen, weights, self._weights)
        self._gradient = torch.where(chosen, gradient, self._gradient)
        self._loss = torch.where(accepted, point.loss, self._loss)
        turns = accepted | failed
        direction, first, opened = self._new_line()
        self._direction = torch.where(turns[:, None], direction, self._direction)
        self._step, self._bracket = torch.where(turns, first, step), opened.where(turns, bracket)
        return stuck

    def keep(self, places: list[int]) -> None:
        """Continue with only the runs at `places`."""
        self._weights, self._gradient, self._direction, self._loss, self._step = (
            values[places]
            for values in (self._weights, self._gradient, self._direction, self._loss, self._step)
        )
        self._bracket = self._bracket.select(torch.tensor(places, device=self._loss.device))
        self._past.keep(places)

    def _new_line(self) -> tuple[torch.Tensor, torch.Tensor, Bracket]:
        """Return direction, first step and bracket of a new line search of each run."""
        direction = self._past.descent(self._gradient)
        slope = _dot(direction, self._gradient)
        astray = ~(slope < 0)  # caused by rounding only
        self._past.forget(astray)
        direction = torch.where(astray[:, None], -self._gradient, direction)
        slope = torch.where(astray, -_dot(self._gradient, self._gradient), slope)
        length = FIRST_STEP * self._weights.norm(dim=1) / direction.norm(dim=1)
        return (
            direction,
            torch.where(self._past.count > 0, 1.0, length),
            Bracket.at(self._loss, slope),
        )


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(1)
