"""Search for a root of the saddle-point equations on one channel rule."""

from dataclasses import dataclass, replace

import numpy as np

from numeric.maths.fixed_point import Anderson, Newton, Outcome, Vector, iterate
from numeric.problem.conjugates import Conjugates
from numeric.saddle.equations import SaddleMap
from numeric.saddle.unknowns.choice import starts
from numeric.saddle.unknowns.coordinates import in_unknowns

LARGEST = np.log(1e100)  #: logarithm of the weight decay beyond which no root is sought


@dataclass(frozen=True)
class Search:
    """Search for a root on one channel rule.

    Residuals are those of the logarithms of the conjugates.

    Attributes:
        near: maximum residual of a coarse root from which a finer rule may start.
        anderson_steps: maximum number of iterations of Anderson acceleration.
        anderson_patience: number of iterations in which Anderson acceleration must halve the
            residual.
        newton_steps: maximum number of Newton iterations.
        newton_reach: maximum residual at which Newton's method starts
            (benchmarks.random_problems).
        brief_steps: maximum number of Anderson iterations in the continuation from strong decay.
        suitable_steps: maximum number of iterations in suitable unknowns; about ten are typical.
        suitable_patience: number of these iterations in which the residual must be halved.
        patience: number of Newton iterations in which the residual must be halved.
        continuations: maximum number of weight decays in the continuation from strong decay.
        least_decay: weight decay from which the limit 0 is reached in one step.
    """

    near: float = 1e-2
    anderson_steps: int = 50
    anderson_patience: int = 25
    newton_steps: int = 8
    newton_reach: float = 1.0
    brief_steps: int = 15
    suitable_steps: int = 40
    suitable_patience: int = 15
    patience: int = 3
    continuations: int = 8
    least_decay: float = 1e-8

    def find(self, saddle: SaddleMap, begin: Conjugates, cold: bool) -> Outcome:
        """Search in suitable unknowns, then in logarithms of the conjugates.

        Args:
            saddle: map with its channel rule.
            begin: conjugates from which the search starts.
            cold: True if these are the conjugates of S = 0.
        """
        tolerance = saddle.rule.roughness
        for unknowns, start in starts(saddle.problem, begin, cold):
            outcome = iterate(
                in_unknowns(saddle.image, unknowns), start, Anderson(),
                tolerance=tolerance, max_steps=self.suitable_steps, patience=self.suitable_patience,
            )  # fmt: skip
            if outcome.converged:
                return outcome._replace(point=unknowns.denoised(outcome.point).conjugates.pack())
        if saddle.problem.follows_label and saddle.problem.lambda_ > 0:
            # Near the interpolation peak iterations diverge to points where averages are slow.
            outcome = self.from_strong_decay(saddle)
            if outcome.converged:
                return outcome
        return self._by_iteration(saddle, begin.pack(), tolerance, self.anderson_steps)

    def find_nearby(
        self, saddle: SaddleMap, begin: Vector, tolerance: float, patience: int | None = None
    ) -> Outcome:
        """Find a root nearby by Newton's method, also where the map repels, as at weak decay.

        Args:
            saddle: map with its channel rule.
            begin: logarithms of the conjugates at the start.
            tolerance: maximum residual at the root.
            patience: number of iterations in which the residual must be halved.
        """
        return iterate(
            saddle, begin, Newton(10 * saddle.rule.roughness),
            tolerance=tolerance, max_steps=self.newton_steps, patience=patience,
        )  # fmt: skip

    def from_strong_decay(self, saddle: SaddleMap) -> Outcome:
        """Follow the root from strong to weak decay with adaptive steps in the logarithm."""
        problem = saddle.problem
        goal, step = np.log(problem.lambda_ or self.least_decay), np.log(30.0)
        found: list[tuple[float, Vector]] = []
        trial = goal + 3 * step
        for _ in range(self.continuations):
            there = replace(saddle, problem=replace(problem, lambda_=float(np.exp(trial))))
            if found:
                outcome = self.find_nearby(
                    there, extrapolated_root(found, trial), self.near, self.patience
                )
            else:
                start = there.unlearned()
                outcome = self._by_iteration(there, start, self.near, self.brief_steps)
            if outcome.converged:
                step *= 2 if found else 1
                found.append((trial, outcome.point))
                if trial <= goal:
                    roughness = saddle.rule.roughness
                    if outcome.residual < 10 * roughness:  # finer rules reduce it further
                        return outcome
                    return self.find_nearby(saddle, outcome.point, roughness, self.patience)
            else:
                step *= 1 / 2 if found else 2
            trial = max(goal, found[-1][0] - step) if found else trial + step
            if trial > LARGEST:
                break
        return Outcome(np.full_like(saddle.unlearned(), np.nan), float("inf"), 0, False)

    def _by_iteration(
        self, saddle: SaddleMap, begin: Vector, tolerance: float, steps: int
    ) -> Outcome:
        """Iterate with Anderson acceleration, then with Newton's method from the last point."""
        first = iterate(
            saddle,
            begin,
            Anderson(),
            tolerance=tolerance,
            max_steps=steps,
            patience=self.anderson_patience,
        )
        if first.converged or not first.residual < self.newton_reach:
            return first
        second = self.find_nearby(saddle, first.point, tolerance, self.patience)
        return min(first, second, key=lambda outcome: outcome.residual)


def extrapolated_root(found: list[tuple[float, Vector]], trial: float) -> Vector:
    """Return a root extrapolated linearly from the last two roots; with one root, return it.

    Args:
        found: places and roots, in the order in which they were found.
        trial: place of the next root.
    """
    last, point = found[-1]
    if len(found) == 1:
        return point
    before, previous = found[-2]
    return point + (point - previous) * (trial - last) / (last - before)
