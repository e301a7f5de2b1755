"""Steps along a line for every element of a batch at once: bracket a point that meets the Wolfe conditions, cubic by cubic.

Nocedal and Wright, Numerical Optimization, 2nd ed., algorithms 3.5 and 3.6, one trial a call, each element at its own stage.
All values have shape (B,) and float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

DECREASE, CURVATURE = 1e-3, 0.9  #: of the Wolfe conditions, as SciPy's L-BFGS-B has them
TRIALS = 25  #: after so many the search has failed
EXTRAPOLATION = (
    1.1,
    4.0,
)  #: least and largest step beyond the last, over the last stretch  (More and Thuente)
INTERIOR = 0.1  #: a new step keeps this share of a bracket away from both of its ends


class LinePoint(NamedTuple):
    """A step along the line, the loss there and its derivative by the step."""

    step: torch.Tensor
    value: torch.Tensor
    slope: torch.Tensor

    def where(self, condition: torch.Tensor, other: LinePoint) -> LinePoint:
        """Itself where the condition holds, the other elsewhere."""
        return LinePoint(
            *(torch.where(condition, mine, its) for mine, its in zip(self, other, strict=True))
        )

    def select(self, places: torch.Tensor) -> LinePoint:
        """That of these elements alone."""
        return LinePoint(*(value[places] for value in self))


class Bracket(NamedTuple):
    """The best point so far, `low`, towards which the other end, `high`, lies if the search is `bounded`, and the trials spent."""

    origin: LinePoint
    low: LinePoint
    high: LinePoint
    bounded: torch.Tensor
    trials: torch.Tensor

    @classmethod
    def at(cls, value: torch.Tensor, slope: torch.Tensor) -> Bracket:
        """Before the first trial, at loss and derivative of step 0."""
        origin = LinePoint(torch.zeros_like(value), value, slope)
        return cls(
            origin,
            origin,
            origin,
            torch.zeros_like(value, dtype=torch.bool),
            torch.zeros_like(value),
        )

    def where(self, condition: torch.Tensor, other: Bracket) -> Bracket:
        """Itself where the condition holds, the other elsewhere."""
        return Bracket(
            self.origin.where(condition, other.origin),
            self.low.where(condition, other.low),
            self.high.where(condition, other.high),
            torch.where(condition, self.bounded, other.bounded),
            torch.where(condition, self.trials, other.trials),
        )

    def select(self, places: torch.Tensor) -> Bracket:
        """That of these elements alone."""
        origin, low, high = (end.select(places) for end in (self.origin, self.low, self.high))
        return Bracket(origin, low, high, self.bounded[places], self.trials[places])

    def accepts(self, trial: LinePoint, rounding: float) -> torch.Tensor:
        """Whether a trial ends the search.

        Where losses differ by no more than the share `rounding` the slope decides alone (Hager and Zhang's approximate condition): the
        gradient still tells what the loss can not.
        """
        start = self.origin
        lower = trial.value <= start.value + DECREASE * trial.step * start.slope
        flat = trial.slope.abs() <= CURVATURE * start.slope.abs()
        alike = (trial.value <= start.value + rounding * start.value.abs()) & (
            trial.slope <= -0.8 * start.slope
        )
        return flat & (lower | alike)

    def narrowed(self, trial: LinePoint) -> tuple[Bracket, torch.Tensor]:
        """The bracket after a trial that was not accepted, and the next step to try."""
        start, low, high = self.origin, self.low, self.high
        worse = ~(trial.value <= start.value + DECREASE * trial.step * start.slope) | (
            trial.value >= low.value
        )
        towards = torch.where(self.bounded, high.step - low.step, 1.0)
        passed = ~worse & (trial.slope * towards >= 0)
        next_high = trial.where(worse, low.where(passed, high))
        next_low = low.where(worse, trial)
        bounded = self.bounded | worse | passed
        inside = _between(next_low.step, next_high.step, cubic_minimum(next_low, next_high))
        beyond = _beyond(low.step, trial.step, cubic_minimum(low, trial))
        bracket = Bracket(start, next_low, next_high, bounded, self.trials + 1)
        return bracket, torch.where(bounded, inside, beyond)

    @property
    def failed(self) -> torch.Tensor:
        """Whether too many trials were spent."""
        return self.trials >= TRIALS


def cubic_minimum(a: LinePoint, b: LinePoint) -> torch.Tensor:
    """Where the cubic through two points, with their slopes, is least; not a number if it has no minimum.   (3.59)"""
    first = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    second = (b.step - a.step).sign() * (first.square() - a.slope * b.slope).sqrt()
    return b.step - (b.step - a.step) * (b.slope + second - first) / (
        b.slope - a.slope + 2 * second
    )


def _between(low: torch.Tensor, high: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """The step, held away from both ends; the middle if it is not a number."""
    share = ((step - low) / (high - low)).nan_to_num(0.5, 0.5, 0.5).clamp(INTERIOR, 1 - INTERIOR)
    return low + share * (high - low)


def _beyond(before: torch.Tensor, last: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """The step, held within reach beyond the last one; the farthest if it is not a number or behind."""
    least, largest = EXTRAPOLATION
    share = (step - last) / (last - before)
    ahead = torch.where(share > 0, share, largest).nan_to_num(largest)
    return last + ahead.clamp(least, largest) * (last - before)
