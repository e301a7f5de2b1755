"""Whether the error bars of a solution hold what a channel rule of ten times the work says, and
whether another start leads lower.

A quantity is covered if its reference lies within the error bar; the reference has an error of its
own, which is not added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.random_problems import has_lower_minimum
from numeric.channel.interfaces import ChannelRule
from numeric.channel.rules import coarse_rules
from numeric.maths.fixed_point import Newton, iterate
from numeric.problem.problem import Problem
from numeric.problem.solution import QUANTITIES, Solution, Status
from numeric.saddle.equations import SaddleMap
from numeric.saddle.refine import DECISIVE, INACCURATE
from numeric.saddle.solve import solve

FURTHER = {
    False: 1,
    True: 2,
}
ROUNDING = 1e-12  # relative: an exact quantity has no error bar


class Check(NamedTuple):
    """A solution, and per quantity the distance from the reference over the error bar; none where
    there is no reference.

    `misses`: the largest relative distance of what is decisive. `lower`: another start leads to a
    lower free entropy.
    """

    solution: Solution
    ratios: dict[str, float]
    misses: float
    lower: bool

    @property
    def is_wrong(self) -> bool:
        """Whether a status that vouches for values is wrong: they are off by more than it allows,
        or not the minimum.
        """
        return self.solution.status is Status.CONVERGED and (self.lower or self.misses > INACCURATE)


def check(problem: Problem) -> Check:
    """Solve twice and compare."""
    solution = solve(problem)
    exact = reference(solution) if solution.trusted else None
    lower = has_lower_minimum(solution, np.random.default_rng(0))
    if exact is None:
        return Check(solution, {}, 0.0, lower)
    distances = {name: abs(getattr(solution, name) - exact[name]) for name in solution.errors}
    allowed = {name: error + ROUNDING * abs(exact[name]) for name, error in solution.errors.items()}
    ratios = {
        name: far / allowed[name] if far else 0.0
        for name, far in distances.items()
        if not np.isnan(far)
    }
    misses = max(
        (distances[name] / abs(exact[name]) for name in DECISIVE if exact[name]), default=0.0
    )
    return Check(solution, ratios, misses, lower)


def reference(solution: Solution) -> dict[str, float] | None:
    """Quantities at the root of the finest rule nearest to a solution; None if none is found."""
    saddle = SaddleMap(solution.problem, _finer_rule(solution))
    if solution.status is Status.UNLEARNED:
        averages = saddle.rule.unlearned(solution.problem).mean()
        at = saddle.denoised(saddle.conjugates(averages).pack()[0])
    else:
        found = iterate(
            saddle,
            solution.conjugates.pack(),
            Newton(10 * saddle.rule.roughness),
            tolerance=saddle.rule.tolerance,
            max_steps=6,
        )
        if not found.converged:
            return None
        at = saddle.denoised(found.point)
        averages = saddle.averages(at).mean()
    return dict(zip(QUANTITIES, map(float, saddle.quantities(at, averages)[0]), strict=True))


def _finer_rule(solution: Solution) -> ChannelRule:
    """A rule of ten times the work of the last that the solver can have used: spare refinements are
    made where errors are large.
    """
    rule = coarse_rules(solution.problem)[0]
    spare = rule.extra_refinements if solution.error_estimate > rule.accuracy else 0
    for _ in range(rule.refinements + spare + FURTHER[rule.independent]):
        rule = rule.refined()
    return rule
