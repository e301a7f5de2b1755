"""The theory as `compare_with_theory` asks for it: many problems in, what is expected of each out, one curve per family."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tqdm import tqdm

from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import Watch, learning_curve
from verify.judging.realised import COMPARED_QUANTITIES, Expected

#: Relative error asked of the theory: the mean of eight trained heads scatters by several times as much, more so after extrapolation.
#: It enters the scores. Two tokens are solved far better at no extra cost; where the channel is sampled it saves three quarters.
ACCURACY = 3e-3


def solve_along(problem: Problem, alphas: Iterable[float], watch: Watch = iter) -> dict[float, Solution]:
    """Return the solution at each alpha, in increasing order, to `ACCURACY`; `watch` wraps the alphas, for a progress bar.

    Raises numeric's NotConverged where the solver did not converge.
    """
    curve = learning_curve(problem, sorted(set(alphas)), watch, ACCURACY)
    return {solution.problem.alpha: solution.unwrap() for solution in curve}


def replica_predictions(
    problems: Sequence[Problem], watch: Watch = iter, quantities: Sequence[str] = COMPARED_QUANTITIES
) -> list[Expected]:
    """Return what the replica theory expects of the quantities at each problem, in order.

    Problems that differ in alpha alone share a curve. A quantity is a field of numeric's Solution.

    Raises numeric's NotConverged where the solver did not converge.
    """
    families: dict[Problem, set[float]] = {}
    for problem in problems:
        families.setdefault(problem.at(1.0), set()).add(problem.alpha)
    solved: dict[Problem, Expected] = {}
    for family, alphas in families.items():
        for alpha, solution in solve_along(family, alphas, watch).items():
            solved[family.at(alpha)] = expected_of(solution, quantities)
    return [solved[problem] for problem in problems]


def expected_of(solution: Solution, quantities: Sequence[str] = COMPARED_QUANTITIES) -> Expected:
    """What a solution says of each quantity, as a run measures it."""
    values = {name: float(getattr(solution, name)) for name in quantities} | {"q": trained_norm(solution)}
    # the S = 0 phase is exact and carries no error estimates
    return Expected(values, {name: float(solution.errors.get(name, 0.0)) for name in values})


def trained_norm(solution: Solution) -> float:
    """tr(S S^T)/d, as a run measures it: the norm of the symmetric part, q of the theory, and that of the antisymmetric one."""
    return solution.q + (solution.antisymmetric.q if solution.antisymmetric else 0.0)


def watched_predictions(problems: Sequence[Problem]) -> list[Expected]:
    """`replica_predictions` with a progress bar on stderr: more than two tokens take seconds a point."""
    with progress("theory", len(problems)) as watch:
        return replica_predictions(problems, watch)


@contextmanager
def progress(title: str, total: int) -> Iterator[Watch]:
    """Give what wraps any number of iterables of `total` points in all and shows how many are done."""
    # a log file gets a line now and then, not a bar that moves
    with tqdm(total=total, desc=title, mininterval=0.2 if sys.stderr.isatty() else 30) as bar:

        def watch(points: Iterable[float]) -> Iterable[float]:
            for point in points:
                yield point
                bar.update()

        yield watch
