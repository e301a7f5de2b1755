"""What training says where a status does not vouch for the values: scores of their overlaps and
errors, extrapolated in d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution, Status
from numeric.saddle.solve import solve
from verify.core.measure import execute
from verify.core.realised_problem import COMPARED_QUANTITIES, realised_problem
from verify.core.run import Run
from verify.core.scores import SizeGroup, extrapolated
from verify.core.sensing import run as sensing
from verify.studies.models.study import size_group

SIZES = ((24, 12), (40, 6))  #: d, and how many runs of it


WARNED = (Status.UNSTABLE, Status.INACCURATE, Status.ROUGH)


class TrainedScores(NamedTuple):
    """A solution of such a status, and what training says of it by quantity."""

    solution: Solution
    scores: Mapping[str, float]


def trained_scores(problem: Problem) -> TrainedScores | None:
    """None where the status does not warn, and of a sum of two laws, which nothing trains."""
    if problem.channel == "tied softmax" and not isinstance(problem.target, MarchenkoPastur):
        return None
    solution = solve(problem)
    return TrainedScores(solution, scores(solution)) if solution.status in WARNED else None


def scores(solution: Solution) -> dict[str, float]:
    """Z of each quantity that is compared: training minus theory in standard errors, those of the
    theory's error bar with it.
    """
    measured = [_at_size(solution, dim, runs) for dim, runs in SIZES]
    return {
        name: extrapolated([groups[name] for groups in measured], solution.errors[name]).z
        for name in COMPARED_QUANTITIES
    }


def _at_size(solution: Solution, dim: int, runs: int) -> dict[str, SizeGroup]:
    values = list(_values(solution.problem, dim, runs))
    theory = _theory(solution, dim)
    return {
        name: size_group(dim, np.array([one[name] for one in values]), theory[name])
        for name in COMPARED_QUANTITIES
    }


def _values(problem: Problem, dim: int, runs: int) -> Iterator[dict[str, float]]:
    for index in range(runs):
        if problem.channel == "tied softmax":
            result = execute(Run(problem, dim, index=index))
            yield {name: getattr(result, name) for name in COMPARED_QUANTITIES}
        else:
            yield sensing.trained(problem, dim, index)


def _theory(solution: Solution, dim: int) -> dict[str, float]:
    """Values, whatever their status is worth: of heads at the problem that they really have, which
    has whole ranks.
    """
    if solution.problem.channel == "tied softmax":
        solution = solve(
            realised_problem(Run(solution.problem, dim), solution.problem.q0), solution
        )
    return {name: getattr(solution, name) for name in COMPARED_QUANTITIES}
