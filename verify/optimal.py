"""Weight decay of least test error along alpha, until numeric offers it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from scipy.optimize import minimize_scalar

from numeric.problem import Problem
from numeric.saddle import solve
from numeric.solution import Solution
from verify.theory import Watch

WINDOW = 6.0  #: factor about the best decay at the sample ratio before within which the next is looked for
TOLERANCE = 0.1  #: of log lambda: the test error is flat there and changes by 0.1 per cent or less


def best_decay_along(problem: Problem, alphas: Sequence[float], watch: Watch, accuracy: float) -> list[Solution]:
    """The solution of least test error over the weight decay at each alpha; from large alpha, where it is easiest to find."""
    found: list[Solution] = []
    for alpha in watch(sorted(alphas, reverse=True)):
        found.append(_best(problem.at(alpha), found[-1] if found else None, accuracy))
    return found[::-1]


def _best(problem: Problem, before: Solution | None, accuracy: float) -> Solution:
    centre = before.problem.lambda_ if before else 0.03
    tried: dict[float, Solution] = {}

    def test_error(log_decay: float) -> float:
        start = min(tried.values(), key=lambda s: s.test_error, default=before)
        tried[log_decay] = solve(replace(problem, lambda_=math.exp(log_decay)), start, accuracy).unwrap()
        return tried[log_decay].test_error

    bounds = (math.log(centre / WINDOW), math.log(centre * WINDOW))
    result = minimize_scalar(test_error, bounds=bounds, method="bounded", options={"xatol": TOLERANCE})
    return tried[float(result.x)]
