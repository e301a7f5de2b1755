"""Theory for `compare_with_theory`: many problems in, expected values of each out, one curve per
family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from attention_erm.runtime.progress import progress as bar
from numeric.engines.task import Task
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.norms import GAUSSIAN_NORMS
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution, Status
from numeric.saddle.curve import Watch, learning_curve
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps
from verify.core.realised_problem import (
    Predictor,
    TheoryValues,
    TrainedHead,
    compared_quantities,
    problems_to_solve,
)

#: Relative accuracy requested of the theory. The mean of eight trained heads scatters by several
#: times as much. It enters the scores. Two tokens are solved far better at no extra cost; a sampled
#: channel takes a quarter of the time.
ACCURACY = 3e-3
POINT_SECONDS = 0.15  #: seconds per point of a curve, two tokens


def solve_along(
    problem: Problem, alphas: Iterable[float], watch: Watch = iter
) -> dict[float, Solution]:
    """Return the solution at each alpha, in increasing order, to `ACCURACY`.

    Args:
        problem: all other parameters.
        alphas: sample ratios.
        watch: wraps the alphas, for example with a progress bar.

    Raises:
        NotConverged: the solver did not converge.
    """
    curve = learning_curve(problem, sorted(set(alphas)), watch, ACCURACY)
    return {solution.problem.alpha: solution.unwrap() for solution in curve}


def predictions_with_progress(
    problems: Sequence[Problem], quantities: Sequence[str] | None = None
) -> list[TheoryValues]:
    """Return the theory's values at each problem, in order; problems that differ only in alpha
    share a curve.

    A progress bar on stderr counts points, because more than two tokens take seconds per point.

    Args:
        problems: the problems.
        quantities: quantities to return, the compared ones by default.

    Raises:
        NotConverged: the solver did not converge.
    """
    families = families_of(problems)
    with progress("theory", len(problems)) as watch:
        curves = [solve_along(family, alphas, watch) for family, alphas in families.items()]
    return select_predictions(problems, families, curves, quantities)


def predictions_of(
    results: Iterable[TrainedHead],
    changed: Callable[[Problem], Problem] = lambda problem: problem,
    stage: str = "theory at the realised targets",
) -> Steps[Predictor]:
    """Solve the theory of `results`, one task per curve, and return a predictor for them.

    The predictor knows the converged runs among `results` only.

    Args:
        results: trained heads.
        changed: problem that a control solves in place of the given one.
        stage: name of the stage in the progress bar.
    """
    asked = problems_to_solve(r for r in results if r.status is DescentStatus.CONVERGED)
    families = families_of([changed(problem) for problem in asked])
    jobs = [curve_task(family, alphas, stage) for family, alphas in families.items()]
    curves = dict(zip(families, (yield jobs), strict=True))

    def theory(problems: Sequence[Problem]) -> list[TheoryValues]:
        solved = map(changed, problems)
        return [expected_of(curves[problem.at(1.0)][problem.alpha]) for problem in solved]

    return theory


def with_gaussian_norms(problem: Problem) -> Problem:
    """Return the problem of Gaussian tokens with the same covariance."""
    return replace(problem, norms=GAUSSIAN_NORMS)


def without_covariance(problem: Problem) -> Problem:
    """Return the problem of isotropic tokens with the same second moment of the whitened target.

    Args:
        problem: problem of tokens with a covariance that is independent of the target.
    """
    target = problem.target
    assert isinstance(target, IndependentCovariance)
    scaled = target.target.scaled(math.sqrt(target.q0 / target.target.q0))
    return replace(problem, target=scaled)


def curve_task(problem: Problem, alphas: Iterable[float], stage: str) -> Task:
    """Return `solve_along` as a task.

    Args:
        problem: all other parameters.
        alphas: sample ratios.
        stage: name of the stage in the progress bar.
    """
    points = tuple(sorted(set(alphas)))
    label = f"theory curve at width {problem.width:g}, lambda {problem.lambda_:g}"
    return Task(solve_along, (problem, points), POINT_SECONDS * len(points), label, stage)


def families_of(problems: Sequence[Problem]) -> dict[Problem, set[float]]:
    """Return the alphas of each curve; problems that differ only in alpha share one."""
    families: dict[Problem, set[float]] = {}
    for problem in problems:
        families.setdefault(problem.at(1.0), set()).add(problem.alpha)
    return families


def select_predictions(
    problems: Sequence[Problem],
    families: Iterable[Problem],
    curves: Iterable[Mapping[float, Solution]],
    quantities: Sequence[str] | None = None,
) -> list[TheoryValues]:
    """Return the theory's values at each problem from the curves of the families.

    Args:
        problems: the problems.
        families: alphas of each curve.
        curves: solutions along each curve.
        quantities: quantities to return, the compared ones by default.
    """
    along = dict(zip(families, curves, strict=True))
    return [expected_of(along[problem.at(1.0)][problem.alpha], quantities) for problem in problems]


def expected_of(solution: Solution, quantities: Sequence[str] | None = None) -> TheoryValues:
    """Return the theory's values of the measured quantities; NaN where the solution has no reliable
    value.

    Args:
        solution: solution of the theory.
        quantities: quantities to return, the compared ones by default.
    """
    quantities = quantities or compared_quantities(solution.problem)
    if not solution.trusted:
        nothing = dict.fromkeys(quantities, math.nan)
        return TheoryValues(nothing, nothing)
    values = {name: float(getattr(solution, name)) for name in quantities} | {
        "q": trained_norm(solution)
    }
    # the phase S = 0 is exact and has no error estimates
    errors = {name: float(solution.errors.get(name, 0.0)) for name in values}
    return TheoryValues(values, errors, solution.status is Status.UNSTABLE)


def trained_norm(solution: Solution) -> float:
    """Return tr(S S^T)/d as a run measures it: q of the theory, the norm of the symmetric part,
    plus that of the antisymmetric part.
    """
    return solution.q + (solution.antisymmetric.q if solution.antisymmetric else 0.0)


@contextmanager
def progress(title: str, total: int) -> Iterator[Watch]:
    """Return a wrapper for iterables that shows how many of `total` points are done.

    Args:
        title: title of the bar.
        total: number of points in all iterables.
    """
    with bar(total=total, desc=title, mininterval=0.2) as shown:

        def watch(points: Iterable[float]) -> Iterable[float]:
            for point in points:
                yield point
                shown.update()

        yield watch
