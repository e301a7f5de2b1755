"""A root of the saddle-point equations on one channel rule: in the unknowns that suit it, by acceleration, or from stronger decay."""

from dataclasses import dataclass, replace

import numpy as np

from numeric.maths.fixed_point import Anderson, Newton, Outcome, Vector, iterate
from numeric.problem.conjugates import Conjugates
from numeric.saddle.equations import SaddleMap
from numeric.saddle.unknowns.choice import starts
from numeric.saddle.unknowns.coordinates import in_unknowns


@dataclass(frozen=True)
class Search:
    """How a root is looked for: numbers of steps, and residuals (of logarithms of the conjugates).

    near: up to which a coarse point may start a finer rule; with sharp labels coarse averages are rough
    anderson_steps, stalled: of Anderson's acceleration, and those without half the residual after which it ends: S = 0 may be far, in
        steps of the logarithms of one, but not farther
    newton_steps, newton_reach: of Newton's method, which never found a root from a residual beyond its longest step (benchmarks.box)
    brief_steps: of acceleration on the way from strong decay, where a step too long is better halved than forced
    suited_steps, suited_stalled: in unknowns that suit the number of samples, which take about ten where they work
    patience: steps in which Newton's method must halve the residual: otherwise the rule is too rough for it
    continuations: weight decays tried on the way from strong decay; the limit 0 is reached from `least_decay` in one step
    """

    near: float = 1e-2
    anderson_steps: int = 50
    stalled: int = 25
    newton_steps: int = 8
    newton_reach: float = 1.0
    brief_steps: int = 15
    suited_steps: int = 40
    suited_stalled: int = 15
    patience: int = 3
    continuations: int = 8
    least_decay: float = 1e-8

    def directly(self, saddle: SaddleMap, begin: Conjugates, cold: bool) -> Outcome:
        """In the unknowns that suit the number of samples, then from these conjugates; `cold`: they are those of S = 0."""
        tolerance = saddle.rule.roughness
        for unknowns, start in starts(saddle.problem, begin, cold):
            outcome = iterate(
                in_unknowns(saddle.image, unknowns), start, Anderson(),
                tolerance=tolerance, max_steps=self.suited_steps, patience=self.suited_stalled,
            )  # fmt: skip
            if outcome.converged:
                return outcome._replace(point=unknowns.denoised(outcome.point).conjugates.pack())
        if saddle.problem.follows_label and saddle.problem.lambda_ > 0:
            # Near the interpolation peak iteration runs away, to where a residual is small and averages take ever longer.
            outcome = self.from_strong_decay(saddle)
            if outcome.converged:
                return outcome
        return self._by_iteration(saddle, begin.pack(), tolerance, self.anderson_steps)

    def nearby(
        self, saddle: SaddleMap, begin: Vector, tolerance: float, patience: int | None = None
    ) -> Outcome:
        """The root close by, an attracting one or not: at weak decay the map repels, the more so the fewer directions are free."""
        newton = Newton(10 * saddle.rule.roughness)
        return iterate(
            saddle,
            begin,
            newton,
            tolerance=tolerance,
            max_steps=self.newton_steps,
            patience=patience,
        )

    def from_strong_decay(self, saddle: SaddleMap) -> Outcome:
        """Follow the root down from weight decays that leave less to learn, along lines in the logarithms, in steps that succeed."""
        problem = saddle.problem
        goal, step = np.log(problem.lambda_ or self.least_decay), np.log(30.0)
        found: list[tuple[float, Vector]] = []
        trial = goal + 3 * step
        for _ in range(self.continuations):
            there = replace(saddle, problem=replace(problem, lambda_=float(np.exp(trial))))
            outcome = (
                self.nearby(there, _on_the_line(found, trial), self.near, self.patience)
                if found
                else self._begun(there)
            )
            if outcome.converged:
                step *= 2 if found else 1
                found.append((trial, outcome.point))
                if trial <= goal:
                    roughness = saddle.rule.roughness
                    close = outcome.residual < 10 * roughness  # finer rules do the rest
                    return (
                        outcome
                        if close
                        else self.nearby(saddle, outcome.point, roughness, self.patience)
                    )
            else:
                step *= 1 / 2 if found else 2
            trial = max(goal, found[-1][0] - step) if found else trial + step
        return Outcome(np.full_like(saddle.unlearned(), np.nan), float("inf"), 0, False)

    def _by_iteration(
        self, saddle: SaddleMap, begin: Vector, tolerance: float, steps: int
    ) -> Outcome:
        """Anderson's acceleration, then Newton's method from where it stopped."""
        first = iterate(
            saddle, begin, Anderson(), tolerance=tolerance, max_steps=steps, patience=self.stalled
        )
        if first.converged or not first.residual < self.newton_reach:
            return first
        second = self.nearby(saddle, first.point, tolerance, self.patience)
        return min(first, second, key=lambda outcome: outcome.residual)

    def _begun(self, saddle: SaddleMap) -> Outcome:
        return self._by_iteration(saddle, saddle.unlearned(), self.near, self.brief_steps)


def _on_the_line(found: list[tuple[float, Vector]], trial: float) -> Vector:
    """Conjugates on the line through the last two roots, or the last one."""
    last, point = found[-1]
    if len(found) == 1:
        return point
    before, previous = found[-2]
    return point + (point - previous) * (trial - last) / (last - before)
