"""Learning curves: solutions along a grid of sample ratios, each started from its neighbours."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from numeric.problem import Problem
from numeric.saddle import solve
from numeric.solution import Solution


def learning_curve(
    problem: Problem,
    alphas: Sequence[float],
    watch: Callable[[Iterable[float]], Iterable[float]] = iter,
    accuracy: float | None = None,
) -> list[Solution]:
    """Solve `problem` at every sample ratio alpha = n/d^2, in the order given.

    Args:
        problem: its own alpha is not used.
        alphas: positive, best sorted: each solve starts from the line through the two solutions before it.
        watch: wraps the iterable of alphas, for a progress bar.
        accuracy: relative error asked of every quantity, that of `solve` by default.

    Returns:
        One Solution per alpha, converged or not: read `status`, or call `unwrap()`.

    Source: theory note, section 3; arXiv 2509.24914, Claim 3.1.
    """
    solutions: list[Solution] = []
    for alpha in watch(alphas):
        learned = [solution for solution in solutions if solution.trusted and solution.q > 0]
        solutions.append(solve(problem.at(alpha), _predict(learned, alpha), accuracy))
    return solutions


def _predict(learned: list[Solution], alpha: float) -> Solution | None:
    """Conjugates extrapolated linearly in the logarithms from the last two solutions."""
    if not learned:
        return None
    last = learned[-1]
    if len(learned) == 1 or learned[-2].problem.alpha == last.problem.alpha:
        return last
    before = learned[-2]
    span = np.log(last.problem.alpha / before.problem.alpha)
    # Never further than the last step was long: on a coarse grid a line overshoots.
    fraction = float(np.clip(np.log(alpha / last.problem.alpha) / span, -1.0, 1.0))
    values = {
        name: getattr(last, name) * (getattr(last, name) / getattr(before, name)) ** fraction
        for name in ("mh", "qh", "Vh")
    }
    return replace(last, **values)
