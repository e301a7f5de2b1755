"""The theory as `compare_with_theory` asks for it: many problems in, what is expected of each out,
one curve per family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from attention_erm.runtime.progress import progress as bar
from numeric.engines.task import Task
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution, Status
from numeric.saddle.curve import Watch, learning_curve
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps
from verify.core.realised import (
    COMPARED_QUANTITIES,
    Predictor,
    TheoryValues,
    TrainedHead,
    problems_to_solve,
)

#: Relative error asked of the theory: the mean of eight trained heads scatters by several times as
#: much, more so after extrapolation. It enters the scores. Two tokens are solved far better at no
#: extra cost; where the channel is sampled it saves three quarters.
ACCURACY = 3e-3
POINT_SECONDS = 0.15  #: of a curve; two tokens


def solve_along(
    problem: Problem, alphas: Iterable[float], watch: Watch = iter
) -> dict[float, Solution]:
    """Return the solution at each alpha, in increasing order, to `ACCURACY`; `watch` wraps the
    alphas, for a progress bar.

    Raises numeric's NotConverged where the solver did not converge.
    """
    curve = learning_curve(problem, sorted(set(alphas)), watch, ACCURACY)
    return {solution.problem.alpha: solution.unwrap() for solution in curve}


def predictions_with_progress(
    problems: Sequence[Problem], quantities: Sequence[str] = COMPARED_QUANTITIES
) -> list[TheoryValues]:
    """Return what the theory expects of the quantities at each problem, in order; problems that
    differ in alpha alone share a curve.

    A progress bar on stderr counts points: more than two tokens take seconds for each. Raises
    numeric's NotConverged where the solver did not converge.
    """
    families = families_of(problems)
    with progress("theory", len(problems)) as watch:
        curves = [solve_along(family, alphas, watch) for family, alphas in families.items()]
    return select_predictions(problems, families, curves, quantities)


def predictions_of(results: Iterable[TrainedHead]) -> Steps[Predictor]:
    """Solve the theory of `results`, one job per curve, and return what compares them with it.

    The predictor answers for the converged runs among `results` and for no others.
    """
    asked = problems_to_solve(r for r in results if r.status is DescentStatus.CONVERGED)
    jobs = [
        curve_task(family, alphas, "theory at the realised targets")
        for family, alphas in families_of(asked).items()
    ]
    curves = dict(zip(families_of(asked), (yield jobs), strict=True))

    def theory(problems: Sequence[Problem]) -> list[TheoryValues]:
        return [expected_of(curves[problem.at(1.0)][problem.alpha]) for problem in problems]

    return theory


def curve_task(problem: Problem, alphas: Iterable[float], stage: str) -> Task:
    """`solve_along` as a job."""
    points = tuple(sorted(set(alphas)))
    label = f"theory curve at width {problem.width:g}, lambda {problem.lambda_:g}"
    return Task(solve_along, (problem, points), POINT_SECONDS * len(points), label, stage)


def families_of(problems: Sequence[Problem]) -> dict[Problem, set[float]]:
    """The alphas of each curve: problems that differ in alpha alone share one."""
    families: dict[Problem, set[float]] = {}
    for problem in problems:
        families.setdefault(problem.at(1.0), set()).add(problem.alpha)
    return families


def select_predictions(
    problems: Sequence[Problem],
    families: Iterable[Problem],
    curves: Iterable[Mapping[float, Solution]],
    quantities: Sequence[str] = COMPARED_QUANTITIES,
) -> list[TheoryValues]:
    """From the curve of each family, what is expected at each problem."""
    along = dict(zip(families, curves, strict=True))
    return [expected_of(along[problem.at(1.0)][problem.alpha], quantities) for problem in problems]


def expected_of(
    solution: Solution, quantities: Sequence[str] = COMPARED_QUANTITIES
) -> TheoryValues:
    """Return the theory's values of the measured quantities; NaN where the solution has no
    trustworthy value.
    """
    if not solution.trusted:
        nothing = dict.fromkeys(quantities, math.nan)
        return TheoryValues(nothing, nothing)
    values = {name: float(getattr(solution, name)) for name in quantities} | {
        "q": trained_norm(solution)
    }
    # the S = 0 phase is exact and carries no error estimates
    errors = {name: float(solution.errors.get(name, 0.0)) for name in values}
    return TheoryValues(values, errors, solution.status is Status.UNSTABLE)


def trained_norm(solution: Solution) -> float:
    """tr(S S^T)/d, as a run measures it: the norm of the symmetric part, q of the theory, and that
    of the antisymmetric one.
    """
    return solution.q + (solution.antisymmetric.q if solution.antisymmetric else 0.0)


@contextmanager
def progress(title: str, total: int) -> Iterator[Watch]:
    """Give what wraps any number of iterables of `total` points in all and shows how many are
    done.
    """
    with bar(total=total, desc=title, mininterval=0.2) as shown:

        def watch(points: Iterable[float]) -> Iterable[float]:
            for point in points:
                yield point
                shown.update()

        yield watch
