"""Learning curves: solutions on a grid of sample ratios, each started from its neighbours."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from numeric.engines.interrupted import attach_partial_result, map_partial_result
from numeric.maths.domain import require_list
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution, Status, physical_first
from numeric.saddle.solve import extrapolated_solution, solve

JUMP = 1.0  # change of the logarithm of a conjugate between neighbours that may be another branch

FIGURE_ACCURACY = 5e-3  #: relative: a third of a pixel on an axis of three decades

Watch = Callable[[Iterable[float]], Iterable[float]]


def learning_curve(
    problem: Problem, alphas: Sequence[float], watch: Watch = iter, accuracy: float | None = None
) -> list[Solution]:
    """Solve `problem` at every sample ratio alpha = n/d^2, in the order given.

    Args:
        problem: defines all parameters except alpha.
        alphas: positive, best sorted: each solve starts from an extrapolation of the two solutions
            before it. If replica symmetry is broken, a solve has no start, so that the result does
            not depend on the grid.
        watch: wraps the iterable of alphas, for a progress bar.
        accuracy: requested relative error of every quantity, by default as in `solve`.

    Returns:
        One Solution per alpha, converged or not: read `status`, or call `unwrap()`. If several
        solutions were found, the physical one.

    Raises:
        InvalidParameter: an argument has the wrong type, or as in `solve`.
        Interrupted: the user interrupted; the exception has the finished points.

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
    """Return all solutions found at every sample ratio, the physical one first.

    Points are solved in the given order. A point that fails, or that precedes a jump, is solved
    again from the next point; this continues backwards as long as it finds new solutions, because
    the two directions differ at a fold. `numeric.saddle.continuation` follows the branches.

    Args:
        problem: defines all parameters except alpha.
        alphas: sample ratios, as in `learning_curve`.
        watch: wraps the iterable of alphas.
        accuracy: requested relative error of every quantity.

    Raises:
        Interrupted: the user interrupted; the exception has the finished points.
    """
    solutions: list[Solution] = []
    with attach_partial_result(lambda: [(solution,) for solution in solutions]):
        for alpha in watch(alphas):
            learned = [found for found in solutions if _learned(found)]
            solutions.append(_next_point(problem.at(alpha), learned, accuracy))
    along: list[tuple[Solution, ...]] = [(solution,) for solution in solutions]
    with attach_partial_result(lambda: along):
        _add_solutions_from_above(along, accuracy)
    return along


def solve_between(
    left: Solution, right: Solution, alpha: float, accuracy: float = FIGURE_ACCURACY
) -> Solution:
    """Solve at a point between two neighbours on a curve, for a figure.

    The start is interpolated between the neighbours. If they are far apart, each of them is a
    start; if one has broken replica symmetry, the solve has no start. If several solutions are
    found, the result is the physical one.

    Args:
        left: neighbour at a smaller sample ratio.
        right: neighbour at a larger sample ratio.
        alpha: sample ratio of the new point.
        accuracy: requested relative error of every quantity.
    """
    problem = left.problem.at(alpha)
    if Status.UNSTABLE in (left.status, right.status):
        alone = solve(problem, None, accuracy)
        if alone.trusted:
            return alone
    near = [one for one in (right, left) if _learned(one)]
    starts = near if len(near) == 2 and _jumps(left, right) else [_predict(near, alpha)]
    found = [solve(problem, start, accuracy) for start in starts]
    return next(iter(physical_first(*found)), found[0])


def _next_point(problem: Problem, learned: list[Solution], accuracy: float | None) -> Solution:
    """Return the next point of a curve, started from the points before it.

    If replica symmetry is broken, the solve has no start: the equations are an approximation there
    and have many roots, and the root found from a start depends on the grid.
    """
    start = _predict(learned, problem.alpha)
    if start is not None and learned[-1].status is not Status.UNSTABLE:
        continued = solve(problem, start, accuracy)
        if continued.status is not Status.UNSTABLE:
            return continued
    alone = solve(problem, None, accuracy)
    if alone.trusted or alone.status is Status.INACCURATE or start is None:
        return alone
    return max(alone, solve(problem, start, accuracy), key=Solution.reliability)


def _add_solutions_from_above(along: list[tuple[Solution, ...]], accuracy: float | None) -> None:
    """Add to each point the new solution found from the next point, backwards."""
    solutions = _physical(along)
    new: Solution | None = None  # new solution at the next point, if any
    for k in reversed(range(len(solutions) - 1)):
        after = new or solutions[k + 1]
        suspect = new is not None or not solutions[k].trusted or _jumps(solutions[k], after)
        new = solve(solutions[k].problem, after, accuracy) if suspect and _learned(after) else None
        if new is not None and new.trusted and not _same(new, solutions[k]):
            along[k] = tuple(physical_first(solutions[k], new))
        else:
            new = None


def _physical(along: Sequence[tuple[Solution, ...]]) -> list[Solution]:
    return [first for first, *_ in along]


def _learned(solution: Solution) -> bool:
    """Return whether the conjugates can start a solve; those of the limit lambda -> 0 vanish."""
    return solution.trusted and solution.q > 0 and solution.mh > 0


def _jumps(left: Solution, right: Solution) -> bool:
    return (
        _learned(left)
        and _learned(right)
        and bool(np.max(np.abs(left.conjugates.pack() - right.conjugates.pack())) > JUMP)
    )


def _same(left: Solution, right: Solution) -> bool:
    """Return whether the order parameters agree within the error bars of both solutions."""
    return left.trusted == right.trusted and all(
        abs(getattr(left, name) - getattr(right, name)) <= left.errors[name] + right.errors[name]
        for name in ("m", "q", "V")
    )


def _predict(learned: list[Solution], alpha: float) -> Solution | None:
    """Extrapolate the logarithms of the conjugates linearly from the last two solutions."""
    if not learned:
        return None
    last = learned[-1]
    if len(learned) == 1 or learned[-2].problem.alpha == last.problem.alpha:
        return last
    before = learned[-2]
    span = np.log(last.problem.alpha / before.problem.alpha)
    # At most as far as the last step: on a coarse grid a line overshoots.
    fraction = float(np.clip(np.log(alpha / last.problem.alpha) / span, -1.0, 1.0))
    return extrapolated_solution(before, last, fraction)
