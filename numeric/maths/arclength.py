"""Pseudo-arclength continuation: a curve gap(x, p) = 0 of solutions along a parameter p, through its folds.

Points y = (x, p) have one unknown more than there are equations; a step goes along the tangent and is corrected in the plane normal
to it, so that a fold, where p turns around, is a point like any other. (H. B. Keller, in Applications of Bifurcation Theory,
Academic Press 1977, 359.)
"""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numeric.maths.fixed_point import Vector, least_squares

Gap = Callable[[Vector], Vector]


class Point(NamedTuple):
    """A point y = (x, p) of a curve with its unit tangent; `fold` where p turns around."""

    position: Vector
    tangent: Vector
    fold: bool


class End(enum.Enum):
    """Why a curve was followed no further."""

    RANGE = "left the range of the parameter"
    STEP = "no solution within the shortest step: the map is too rough here or the branch ends; ask for a finer rule"
    POINTS = "point limit reached: raise max_points or narrow the range"


class Trace(NamedTuple):
    """Points in the order of following, and why they end."""

    points: list[Point]
    end: End


@dataclass(frozen=True)
class PseudoArclength:
    """Step control: lengths in units of y, the tolerance of the corrector, and the step of differences.

    Tangents of successive points differ by `bend` (cosine) at most: a longer step could jump to another branch.
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
        """The curve from `start`, p increasing first (direction > 0) or decreasing, while low <= p <= high.

        `start` need only be near a solution: it is corrected first, at its p. The last point may lie beyond the range by one
        step; folds are extra points, found between two others. No points where the correction of `start` fails.
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
        """Points without end; None where no step succeeds."""
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
        """The point at distance `length` along the tangent with its Jacobian, None if not found; and the corrections made.

        The Jacobian of the last point is updated by Broyden's rule: one evaluation a correction.
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
                return (Point(position, _tangent(fresh, here.tangent), fold=False), fresh), steps
            move = least_squares(np.vstack([jacobian, here.tangent]), np.append(-value, 0.0))
            if not move.any():  # a singular Jacobian with nowhere to go
                break
            position = position + move
            previous, value = value, gap(position)
            jacobian = jacobian + np.outer(value - previous - jacobian @ move, move) / (move @ move)
        return None, self.corrections

    def _fold(self, gap: Gap, here: Point, jacobian: Vector, length: float, beyond: Point) -> Point:
        """The point between two where the tangent has no component along p, by false position on the step length."""
        left, right = (0.0, here.tangent[-1]), (length, beyond.tangent[-1])
        best = min(here, beyond, key=lambda point: abs(point.tangent[-1]))
        for _ in range(6):
            middle = (left[0] * right[1] - right[0] * left[1]) / (right[1] - left[1])
            found, _steps = self._step(gap, here, jacobian, middle)
            if found is None:
                break
            best = min(best, found[0], key=lambda point: abs(point.tangent[-1]))
            slope = found[0].tangent[-1]
            if abs(slope) < 1e-3:  # p is then within 1e-6 times the curvature of its extreme
                break
            left, right = (
                ((middle, slope), right) if slope * left[1] > 0 else (left, (middle, slope))
            )
        return best._replace(fold=True)

    def _jacobian(self, gap: Gap, position: Vector) -> Vector:
        """Central differences: where a branch is steep, errors of a forward difference exceed the component of the tangent along p."""
        steps = self.difference * np.eye(len(position))
        columns = [
            (gap(position + step) - gap(position - step)) / (2 * self.difference) for step in steps
        ]
        return np.stack(columns, axis=-1)


def _tangent(jacobian: Vector, along: Vector) -> Vector:
    """Unit null vector of the Jacobian, on the side of `along`."""
    null = np.linalg.svd(jacobian)[2][-1]
    return null if null @ along >= 0 else -null
