"""Learning curves: solutions along a grid of sample ratios, each started from its neighbours, upward and where needed downward."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from numeric.engines.interrupted import attach_partial_result, map_partial_result
from numeric.maths.domain import require_list
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution, Status
from numeric.saddle.solve import solve

JUMP = 1.0  # change of a logarithm of a conjugate between neighbours from which on another branch may begin there

FIGURE_ACCURACY = 5e-3  #: relative: a third of a pixel on an axis of three decades

Watch = Callable[[Iterable[float]], Iterable[float]]


def learning_curve(
    problem: Problem, alphas: Sequence[float], watch: Watch = iter, accuracy: float | None = None
) -> list[Solution]:
    """Solve `problem` at every sample ratio alpha = n/d^2, in the order given.

    Args:
        problem: its own alpha is not used.
        alphas: positive, best sorted: each solve starts from the line through the two solutions before it, but where replica symmetry
            is broken from none, so that what is found does not depend on the grid.
        watch: wraps the iterable of alphas, for a progress bar.
        accuracy: relative error asked of every quantity, that of `solve` by default.

    Returns:
        One Solution per alpha, converged or not: read `status`, or call `unwrap()`. Where several were found, the physical one.

    Raises:
        InvalidParameter: no Problem is given, one alpha in place of a list, or as `solve`.
        Interrupted: with the points that had finished.

    Source: theory note, section 3; arXiv 2509.24914, Claim 3.1.

    >>> from attention_erm import MarchenkoPastur, Problem, learning_curve
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> [round(solution.test_error, 4) for solution in learning_curve(problem, [0.5, 1, 2])]
    [0.136, 0.102, 0.0871]
    """
    require_problem(problem)
    require_list("alphas", alphas)
    with map_partial_result(_physical):
        return _physical(coexisting_along(problem, alphas, watch, accuracy))


def coexisting_along(
    problem: Problem, alphas: Sequence[float], watch: Watch = iter, accuracy: float | None = None
) -> list[tuple[Solution, ...]]:
    """All solutions found at every sample ratio, the physical one (smallest free entropy) first.

    Points are solved in the order given. Those that fail, or that lie before a jump, are solved again from the point after them,
    and so on backwards as long as that finds something new: at a fold the two directions part. `numeric.saddle.continuation` follows
    the branches themselves.

    Args, Raises: as `learning_curve`.
    """
    solutions: list[Solution] = []
    with attach_partial_result(lambda: [(solution,) for solution in solutions]):
        for alpha in watch(alphas):
            learned = [found for found in solutions if _learned(found)]
            solutions.append(_next_point(problem.at(alpha), learned, accuracy))
    along: list[tuple[Solution, ...]] = [(solution,) for solution in solutions]
    with attach_partial_result(lambda: along):
        _solve_from_above(along, accuracy)
    return along


def solve_between(
    left: Solution, right: Solution, alpha: float, accuracy: float = FIGURE_ACCURACY
) -> Solution:
    """A point between two neighbours on a curve, started from both: in the middle, or at either where they lie far apart; from none,
    as on the curve, where one of them has broken symmetry.

    Where several were found, the physical one; with a status, as `solve`. The accuracy is that of a figure, which is cheap.
    """
    problem = left.problem.at(alpha)
    if Status.UNSTABLE in (left.status, right.status):
        alone = solve(problem, None, accuracy)
        if alone.trusted:
            return alone
    near = [one for one in (right, left) if _learned(one)]
    starts = near if len(near) == 2 and _jumps(left, right) else [_predict(near, alpha)]
    found = [solve(problem, start, accuracy) for start in starts]
    return next(iter(_physical_first(*found)), found[0])


def _next_point(problem: Problem, learned: list[Solution], accuracy: float | None) -> Solution:
    """The next point of a curve, started from those before it; where replica symmetry is broken, what is found without them.

    Equations that do not hold have many roots there: which one a start leads to depends on the grid, and it may lie far from training.
    """
    start = _predict(learned, problem.alpha)
    if start is not None and learned[-1].status is not Status.UNSTABLE:
        led = solve(problem, start, accuracy)
        if led.status is not Status.UNSTABLE:
            return led
    alone = solve(problem, None, accuracy)
    if alone.trusted or alone.status is Status.INACCURATE or start is None:
        return alone
    return max(alone, solve(problem, start, accuracy), key=Solution.reliability)


def _solve_from_above(along: list[tuple[Solution, ...]], accuracy: float | None) -> None:
    """Add to the points what is found from the one after them, backwards."""
    solutions = _physical(along)
    new: Solution | None = None  # what the retry of the point after found, if it is new
    for k in reversed(range(len(solutions) - 1)):
        after = new or solutions[k + 1]
        suspect = new is not None or not solutions[k].trusted or _jumps(solutions[k], after)
        new = solve(solutions[k].problem, after, accuracy) if suspect and _learned(after) else None
        if new is not None and new.trusted and not _same(new, solutions[k]):
            along[k] = _physical_first(solutions[k], new)
        else:
            new = None


def _physical(along: Sequence[tuple[Solution, ...]]) -> list[Solution]:
    return [first for first, *_ in along]


def _learned(solution: Solution) -> bool:
    """Whether there are conjugates to start from: those of S = 0 are known, and those of the limit lambda -> 0 vanish."""
    return solution.trusted and solution.q > 0 and solution.mh > 0


def _jumps(left: Solution, right: Solution) -> bool:
    return (
        _learned(left)
        and _learned(right)
        and bool(np.max(np.abs(left.conjugates.pack() - right.conjugates.pack())) > JUMP)
    )


def _same(left: Solution, right: Solution) -> bool:
    """Whether the order parameters agree within the error bars of both."""
    return left.trusted == right.trusted and all(
        abs(getattr(left, name) - getattr(right, name)) <= left.errors[name] + right.errors[name]
        for name in ("m", "q", "V")
    )


def _physical_first(*found: Solution) -> tuple[Solution, ...]:
    return tuple(
        sorted(
            (solution for solution in found if solution.trusted), key=lambda one: one.free_entropy
        )
    )


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
