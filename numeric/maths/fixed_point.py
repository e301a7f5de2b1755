"""Iteration loop for fixed points and roots.

Algorithms are generators of points and residuals; the loop `iterate` applies tolerances.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Map = Callable[[Vector], Vector]


class Outcome(NamedTuple):
    """Result of an iteration.

    Attributes:
        point: best point.
        residual: largest component of F(x) - x at this point.
        steps: number of iterations.
        converged: True if the residual is below the tolerance.
    """

    point: Vector
    residual: float
    steps: int
    converged: bool


class Algorithm(Protocol):
    """Algorithm for a root of F(x) - x."""

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Yield points and residuals without end.

        Args:
            F: the map.
            x: first point.
        """
        ...


@dataclass(frozen=True)
class Anderson:
    """Fixed-point iteration with Anderson acceleration.

    Steps are damped while the residual exceeds `near`. Below it, steps extrapolate by least squares
    over the last `memory` differences; a step that doubles the residual clears the memory. The
    method needs no Jacobian and is superlinear for few unknowns, but the damped steps find only
    attracting fixed points. See D. G. Anderson, J. ACM 12, 547 (1965), doi 10.1145/321296.321305.

    Attributes:
        memory: number of differences.
        near: residual below which steps are accelerated.
        damping: factor of damped steps.
        longest: maximum component of a step.
    """

    memory: int = 4
    near: float = 0.1
    damping: float = 1.0
    longest: float = 1.0

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Yield points and residuals; see `Algorithm.iterates`.

        Args:
            F: the map.
            x: first point.
        """
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
    """Run an algorithm until it converges, diverges or reaches the maximum number of iterations.

    Args:
        F: the map.
        start: first point.
        algorithm: algorithm that yields points.
        tolerance: residual at convergence.
        max_steps: maximum number of iterations.
        patience: maximum number of iterations in which the least residual is not halved.
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
    raise AssertionError("an algorithm ended its iteration")


@dataclass(frozen=True)
class Newton:
    """Newton's method for F(x) - x = 0 with a Jacobian by differences.

    Steps are halved until the residual decreases. The method also finds repelling fixed points, but
    needs (unknowns + 1) evaluations per iteration and a start nearby.

    Attributes:
        difference: step of the differences.
        longest: maximum component of a step.
        halvings: maximum number of halvings of a step.
    """

    difference: float
    longest: float = 1.0
    halvings: int = 6

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Yield points and residuals; see `Algorithm.iterates`.

        Args:
            F: the map.
            x: first point.
        """
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
    """Return the least-squares solution of a linear system, NaN if the matrix is not finite.

    Args:
        matrix: shape (equations, unknowns).
        vector: right-hand side, shape (equations,).
    """
    if not np.all(np.isfinite(matrix)):
        return np.full_like(vector, np.nan)
    return np.asarray(np.linalg.lstsq(matrix, vector, rcond=1e-12)[0], dtype=float)


@dataclass(frozen=True)
class Chord:
    """Newton's method with a fixed Jacobian of F, with one evaluation per iteration."""

    jacobian: Vector

    def iterates(self, F: Map, x: Vector) -> Iterator[tuple[Vector, float]]:
        """Yield points and residuals; see `Algorithm.iterates`.

        Args:
            F: the map.
            x: first point.
        """
        matrix = self.jacobian - np.eye(len(x))
        while True:
            gap = F(x) - x
            yield x, float(np.max(np.abs(gap)))
            x = x + least_squares(matrix, -gap)


def chord(
    F: Map, start: Vector, jacobian: Vector, *, tolerance: float, max_steps: int, patience: int
) -> Outcome:
    """Return the root near `start` by the chord method, then by Anderson acceleration.

    Args:
        F: the map.
        start: first point.
        jacobian: Jacobian of F near the root.
        tolerance: residual at convergence.
        max_steps: maximum number of iterations of each method.
        patience: maximum number of iterations in which the least residual is not halved.
    """
    run = partial(iterate, F, tolerance=tolerance, max_steps=max_steps, patience=patience)
    first = run(start, Chord(jacobian))
    if first.converged:
        return first
    second = run(first.point, Anderson())
    better = min(first, second, key=lambda outcome: outcome.residual)
    return better._replace(steps=first.steps + second.steps)
