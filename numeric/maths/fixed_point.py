"""The one iteration loop. Algorithms are generators of (point, residual); they know neither tolerances nor physics."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Map = Callable[[Vector], Vector]


class Outcome(NamedTuple):
    """Last point of an iteration, its residual (largest component of F(x) - x), and whether it met the tolerance."""

    point: Vector
    residual: float
    steps: int
    converged: bool


class Algorithm(Protocol):
    """Way to a root of F(x) - x."""

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Points and residuals, without end."""
        ...


@dataclass(frozen=True)
class Anderson:
    """Fixed point of F: damped steps while the residual exceeds `near`, Anderson acceleration below it.

    Acceleration extrapolates by least squares over the last `memory` differences; its steps are at most `longest`, and a
    step that doubles the residual clears the memory.
    Pro: superlinear for a few unknowns, no Jacobian. Contra: the damped steps find attracting fixed points only.
    (D. G. Anderson, J. ACM 12, 547 (1965), doi 10.1145/321296.321305.)
    """

    memory: int = 4
    near: float = 0.1
    damping: float = 1.0
    longest: float = 1.0

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Points and residuals, without end."""
        points: deque[Vector] = deque(maxlen=self.memory + 1)
        gaps: deque[Vector] = deque(maxlen=self.memory + 1)
        previous = float("inf")
        while True:
            gap = F(x) - x
            residual = float(np.max(np.abs(gap)))
            yield x, residual
            if residual > self.near or residual > 2 * previous:
                points.clear()
                gaps.clear()
            points.append(x)
            gaps.append(gap)
            previous = residual
            step = self.damping * gap if len(gaps) == 1 else self._extrapolate(points, gaps)
            x = x + step * min(1.0, self.longest / float(np.max(np.abs(step)) + 1e-300))

    def _extrapolate(self, points: deque[Vector], gaps: deque[Vector]) -> Vector:
        moves = np.diff(np.array(points), axis=0).T
        changes = np.diff(np.array(gaps), axis=0).T
        weights = np.linalg.lstsq(changes, gaps[-1], rcond=1e-10)[0]
        return gaps[-1] - (moves + changes) @ weights


def iterate(
    F: Map,
    start: Vector,
    algorithm: Algorithm,
    *,
    tolerance: float,
    max_steps: int,
    patience: int | None = None,
) -> Outcome:
    """Run `algorithm` until the residual is below `tolerance`, the points leave the finite numbers, or the steps run out.

    With `patience` it also ends after so many steps in which the least residual has not halved: a rough map has no smaller one.
    """
    best = Outcome(start, float("inf"), 0, False)
    milestone, since = float("inf"), 0
    for step, (point, residual) in enumerate(algorithm.iterates(F, start), 1):
        if not np.isfinite(residual):
            return Outcome(best.point, float("inf"), step, False)
        if residual < best.residual:
            best = Outcome(point, residual, step, residual < tolerance)
        milestone, since = (residual, 0) if residual < milestone / 2 else (milestone, since + 1)
        if best.converged or step >= max_steps or since == patience:
            return best._replace(steps=step)
    raise AssertionError("an algorithm is an endless generator")


@dataclass(frozen=True)
class Newton:
    """Root of F(x) - x by Newton's method with differences for the Jacobian; steps are halved until the residual falls.

    Pro: finds repelling fixed points. Contra: unknowns + 1 evaluations a step, and it needs a start nearby.
    """

    difference: float
    longest: float = 1.0
    halvings: int = 6

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Points and residuals, without end."""
        gap = F(x) - x
        while True:
            yield x, float(np.max(np.abs(gap)))
            columns = [
                F(x + self.difference * axis) - x - self.difference * axis - gap
                for axis in np.eye(len(x))
            ]
            step = least_squares(np.stack(columns, axis=-1) / self.difference, -gap)
            step *= min(1.0, self.longest / float(np.max(np.abs(step)) + 1e-300))
            for _ in range(self.halvings):
                trial = F(x + step) - x - step
                if np.max(np.abs(trial)) < np.max(np.abs(gap)):
                    break
                step /= 2
            x, gap = x + step, trial


def least_squares(matrix: Vector, vector: Vector) -> Vector:
    """The least-squares solution, not a number where the matrix is not finite."""
    if not np.all(np.isfinite(matrix)):
        return np.full_like(vector, np.nan)
    return np.asarray(np.linalg.lstsq(matrix, vector, rcond=1e-12)[0], dtype=float)


@dataclass(frozen=True)
class Chord:
    """Newton's method with a fixed Jacobian of F: one evaluation a step, for roots that move little."""

    jacobian: Vector

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Points and residuals, without end."""
        matrix = self.jacobian - np.eye(len(x))
        while True:
            gap = F(x) - x
            yield x, float(np.max(np.abs(gap)))
            x = x + least_squares(matrix, -gap)


def chord(
    F: Map, start: Vector, jacobian: Vector, *, tolerance: float, max_steps: int, patience: int
) -> Outcome:
    """Root near `start` with a known Jacobian; Anderson's acceleration goes on where the chord stalls."""
    first = iterate(
        F, start, Chord(jacobian), tolerance=tolerance, max_steps=max_steps, patience=patience
    )
    if first.converged:
        return first
    second = iterate(
        F, first.point, Anderson(), tolerance=tolerance, max_steps=max_steps, patience=patience
    )
    better = min(first, second, key=lambda outcome: outcome.residual)
    return better._replace(steps=first.steps + second.steps)
