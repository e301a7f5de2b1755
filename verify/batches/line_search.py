"""Line search for every element of a batch: bracket a point that meets the Wolfe conditions.

Nocedal and Wright, Numerical Optimization, 2nd ed., algorithms 3.5 and 3.6 with cubic
interpolation, one trial per call; elements may be at different stages. All values have shape (B,)
and are float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

DECREASE, CURVATURE = 1e-3, 0.9  #: Wolfe constants of SciPy's L-BFGS-B
TRIALS = 25  #: maximum number of trials
#: Minimum and maximum extrapolation in units of the last interval (More and Thuente).
EXTRAPOLATION = (1.1, 4.0)
INTERIOR = 0.1  #: minimum distance of a new step from both ends, as a fraction of the bracket


class LinePoint(NamedTuple):
    """Step along the line, with the loss there and its derivative by the step."""

    step: torch.Tensor
    value: torch.Tensor
    slope: torch.Tensor

    def where(self, condition: torch.Tensor, other: LinePoint) -> LinePoint:
        """Return itself where the condition holds, `other` elsewhere.

        Args:
            condition: elements of itself, (B,).
            other: values of the other elements.
        """
        return LinePoint(
            *(torch.where(condition, mine, its) for mine, its in zip(self, other, strict=True))
        )

    def select(self, places: torch.Tensor) -> LinePoint:
        """Return only the elements at `places`."""
        return LinePoint(*(value[places] for value in self))


class Bracket(NamedTuple):
    """State of the search: best point `low`, other end `high` if `bounded`, number of trials."""

    origin: LinePoint
    low: LinePoint
    high: LinePoint
    bounded: torch.Tensor
    trials: torch.Tensor

    @classmethod
    def at(cls, value: torch.Tensor, slope: torch.Tensor) -> Bracket:
        """Return the state before the first trial.

        Args:
            value: loss at step 0.
            slope: derivative there.
        """
        origin = LinePoint(torch.zeros_like(value), value, slope)
        bounded = torch.zeros_like(value, dtype=torch.bool)
        return cls(origin, origin, origin, bounded, torch.zeros_like(value))

    def where(self, condition: torch.Tensor, other: Bracket) -> Bracket:
        """Return itself where the condition holds, `other` elsewhere.

        Args:
            condition: elements of itself, (B,).
            other: values of the other elements.
        """
        return Bracket(
            self.origin.where(condition, other.origin),
            self.low.where(condition, other.low),
            self.high.where(condition, other.high),
            torch.where(condition, self.bounded, other.bounded),
            torch.where(condition, self.trials, other.trials),
        )

    def select(self, places: torch.Tensor) -> Bracket:
        """Return only the elements at `places`."""
        origin, low, high = (end.select(places) for end in (self.origin, self.low, self.high))
        return Bracket(origin, low, high, self.bounded[places], self.trials[places])

    def accepts(self, trial: LinePoint, rounding: float) -> torch.Tensor:
        """Return whether a trial ends the search.

        If losses differ by less than rounding, only the slope decides (approximate Wolfe condition
        of Hager and Zhang): the gradient is still accurate.

        Args:
            trial: evaluated step.
            rounding: relative rounding error of the loss.
        """
        start = self.origin
        lower = trial.value <= start.value + DECREASE * trial.step * start.slope
        flat = trial.slope.abs() <= CURVATURE * start.slope.abs()
        alike = (trial.value <= start.value + rounding * start.value.abs()) & (
            trial.slope <= -0.8 * start.slope
        )
        return flat & (lower | alike)

    def narrowed(self, trial: LinePoint) -> tuple[Bracket, torch.Tensor]:
        """Return the bracket after a rejected trial, and the next step."""
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
        """Elements with too many trials."""
        return self.trials >= TRIALS


def cubic_minimum(a: LinePoint, b: LinePoint) -> torch.Tensor:
    """Return the minimum of the cubic through two points and their slopes (equation 3.59).

    Args:
        a: first point.
        b: second point.

    Returns:
        The step; NaN if the cubic has no minimum.
    """
    first = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    second = (b.step - a.step).sign() * (first.square() - a.slope * b.slope).sqrt()
    return b.step - (b.step - a.step) * (b.slope + second - first) / (
        b.slope - a.slope + 2 * second
    )


def _between(low: torch.Tensor, high: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """Clip a step to the interior of the bracket; NaN becomes the middle."""
    share = ((step - low) / (high - low)).nan_to_num(0.5, 0.5, 0.5).clamp(INTERIOR, 1 - INTERIOR)
    return low + share * (high - low)


def _beyond(before: torch.Tensor, last: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """Clip a step to the extrapolation interval; NaN or a step backwards becomes its far end."""
    least, largest = EXTRAPOLATION
    share = (step - last) / (last - before)
    ahead = torch.where(share > 0, share, largest).nan_to_num(largest)
    return last + ahead.clamp(least, largest) * (last - before)
