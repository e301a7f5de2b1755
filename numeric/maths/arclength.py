"""Pseudo-arclength continuation of a curve gap(x, p) = 0 along a parameter p, through folds.

Points y = (x, p) have one unknown more than there are equations. A step follows the tangent and is
corrected in the plane normal to it, so that a fold, where p turns around, is a regular point. See
H. B. Keller, in Applications of Bifurcation Theory, Academic Press 1977, 359.
"""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numeric.maths.fixed_point import Vector, least_squares

Gap = Callable[[Vector], Vector]


class Point(NamedTuple):
    """Point y = (x, p) of a curve with its unit tangent; `fold` is True if p turns around."""

    position: Vector
    tangent: Vector
    fold: bool


class End(enum.Enum):
    """Reason for the end of a curve."""

    RANGE = "left the range of the parameter"
    STEP = (
        "no solution within the shortest step: the map is too rough or the branch ends; "
        "use a finer rule"
    )
    POINTS = "maximum number of points reached: increase max_points or reduce the range"


class Trace(NamedTuple):
    """Points of a curve in order, and the reason for the end."""

    points: list[Point]
    end: End


@dataclass(frozen=True)
class PseudoArclength:
    """Step control of the continuation; lengths are in units of y.

    Attributes:
        tolerance: maximum residual of a corrected point.
        first: length of the first step.
        shortest: minimum length of a step.
        longest: maximum length of a step.
        difference: step of the differences for the Jacobian.
        bend: minimum cosine between successive tangents; longer steps may change the branch.
        corrections: maximum number of corrections of a point.
        max_points: maximum number of points.
    """

    tolerance: float
    first: float = 0.1
    shortest: float = 1e-4
    longest: float = 0.5
    difference: float = 1e-4
    bend: float = 0.9
    corrections: int = 8
    max_points: int = 400

    def follow(self, gap: Gap, start: Vector, direction: float, low: float, high: float) -> Trace:
        """Follow the curve from `start` while low <= p <= high.

        The start is corrected first, at its p. The last point may be outside the range by one step.
        Folds are additional points between two others. The result is empty if the correction of
        the start fails.

        Args:
            gap: function of y = (x, p) that is zero on the curve.
            start: point near the curve.
            direction: sign of the first change of p.
            low: lower end of the range of p.
            high: upper end of the range of p.
        """
        points: list[Point] = []
        for point in self._points(gap, start, direction):
            if point is None:
                return Trace(points, End.STEP)
            points.append(point)
            if not low <= point.position[-1] <= high and len(points) > 1:
                return Trace(points, End.RANGE)
            if len(points) >= self.max_points:
                return Trace(points, End.POINTS)
        raise AssertionError("a curve is endless")

    def _points(self, gap: Gap, start: Vector, direction: float) -> Iterator[Point | None]:
        """Yield points without end, None if no step succeeds."""
        along = np.sign(direction) * np.eye(len(start))[-1]
        found, _ = self._step(gap, Point(start, along, fold=False), self._jacobian(gap, start), 0.0)
        if found is None:
            yield None
            return
        here, jacobian = found
        yield here
        length = self.first
        while True:
            found, steps = self._step(gap, here, jacobian, length)
            if found is None or found[0].tangent @ here.tangent < self.bend:
                length /= 2
                if length < self.shortest:
                    yield None
                    return
                continue
            if found[0].tangent[-1] * here.tangent[-1] < 0:
                yield self._fold(gap, here, jacobian, length, found[0])
            here, jacobian = found
            yield here
            if steps <= self.corrections // 2:
                length = min(1.5 * length, self.longest)

    def _step(
        self, gap: Gap, here: Point, jacobian: Vector, length: float
    ) -> tuple[tuple[Point, Vector] | None, int]:
        """Return the point at distance `length` along the tangent with its Jacobian, or None.

        The second value is the number of corrections. The Jacobian of the last point is updated by
        Broyden's rule, with one evaluation per correction.
        """
        position = here.position + length * here.tangent
        value = gap(position)
        for steps in range(self.corrections):
            if not (np.all(np.isfinite(value)) and np.all(np.isfinite(jacobian))):
                break
            if np.max(np.abs(value)) < self.tolerance:
                fresh = self._jacobian(gap, position)
                if not np.all(np.isfinite(fresh)):
                    break
                null = np.linalg.svd(fresh)[2][-1]  # unit tangent, up to its sign
                tangent = null if null @ here.tangent >= 0 else -null
                return (Point(position, tangent, fold=False), fresh), steps
            move = least_squares(np.vstack([jacobian, here.tangent]), np.append(-value, 0.0))
            if not move.any():  # the Jacobian is singular
                break
            position = position + move
            previous, value = value, gap(position)
            jacobian = jacobian + np.outer(value - previous - jacobian @ move, move) / (move @ move)
        return None, self.corrections

    def _fold(self, gap: Gap, here: Point, jacobian: Vector, length: float, beyond: Point) -> Point:
        """Return the fold between two points, by false position on the step length."""
        left, right = (0.0, here.tangent[-1]), (length, beyond.tangent[-1])
        best = min(here, beyond, key=lambda point: abs(point.tangent[-1]))
        for _ in range(6):
            middle = (left[0] * right[1] - right[0] * left[1]) / (right[1] - left[1])
            found, _steps = self._step(gap, here, jacobian, middle)
            if found is None:
                break
            best = min(best, found[0], key=lambda point: abs(point.tangent[-1]))
            slope = found[0].tangent[-1]
            if abs(slope) < 1e-3:  # p then differs from its extreme by 1e-6 times the curvature
                break
            if slope * left[1] > 0:
                left = (middle, slope)
            else:
                right = (middle, slope)
        return best._replace(fold=True)

    def _jacobian(self, gap: Gap, position: Vector) -> Vector:
        """Return the Jacobian by central differences, accurate enough on steep branches."""
        steps = self.difference * np.eye(len(position))
        columns = [
            (gap(position + step) - gap(position - step)) / (2 * self.difference) for step in steps
        ]
        return np.stack(columns, axis=-1)
