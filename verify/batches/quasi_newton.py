"""L-BFGS for every run of a batch at once: each evaluation is a trial of every run, whatever stage its line search is at."""

from __future__ import annotations

import torch

from verify.batches.curvature import PastSteps
from verify.batches.line_search import Bracket, LinePoint
from verify.batches.risk import BatchPoint

FIRST_STEP = 0.01  #: of the norm of the weights: the length of a step along a gradient, whose scale nothing tells
ALIKE_UNITS = 32  #: losses that differ by less than so many units in the last place are alike


class QuasiNewton:
    """Where B runs stand, the lines they search along, and what they know of curvature; `trial` is what to evaluate next."""

    def __init__(self, point: BatchPoint, memory: int) -> None:
        """Begin at a point that has been evaluated."""
        self._weights, self._gradient, self._loss = (
            point.weights.flatten(1),
            point.gradient.flatten(1),
            point.loss,
        )
        self._shape, self._past = point.weights.shape[1:], PastSteps(memory, self._gradient)
        self._rounding = ALIKE_UNITS * torch.finfo(point.weights.dtype).eps
        self._direction, self._step, self._bracket = self._new_line()

    @property
    def trial(self) -> torch.Tensor:
        """Weights to evaluate, (B, d, m)."""
        return (self._weights + self._step.to(self._weights)[:, None] * self._direction).unflatten(
            1, self._shape
        )

    def receive(self, point: BatchPoint) -> torch.Tensor:
        """Take note of the evaluation of `trial`; return which runs find no lower point, (B,).

        A line that holds none is left for one along the gradient, with what is known of curvature forgotten; if it was one already
        there is none.
        """
        weights, gradient = point.weights.flatten(1), point.gradient.flatten(1)
        trial = LinePoint(self._step, point.loss, _dot(gradient, self._direction))
        accepted = self._bracket.accepts(trial, self._rounding)
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
        """Go on with those at `places` alone."""
        kept = torch.tensor(places, device=self._weights.device)
        self._weights, self._gradient, self._direction = (
            values[kept] for values in (self._weights, self._gradient, self._direction)
        )
        self._loss, self._step, self._bracket = (
            self._loss[kept],
            self._step[kept],
            self._bracket.select(kept),
        )
        self._past.keep(places)

    def _new_line(self) -> tuple[torch.Tensor, torch.Tensor, Bracket]:
        """Direction, first step and bracket of a line from where each run stands."""
        direction = self._past.descent(self._gradient)
        slope = _dot(direction, self._gradient)
        astray = ~(slope < 0)  # only rounding makes it so
        self._past.forget(astray)
        direction = torch.where(astray[:, None], -self._gradient, direction)
        slope = torch.where(astray, -_dot(self._gradient, self._gradient), slope)
        length = FIRST_STEP * self._weights.norm(dim=1).double() / direction.norm(dim=1)
        return (
            direction,
            torch.where(self._past.count > 0, 1.0, length),
            Bracket.at(self._loss, slope),
        )


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(1).double()
