"""Settings of the paper."""

from __future__ import annotations

from functools import cache

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.core.run import Run


@cache
def figure_one() -> Run:
    """Return a run at the settings of the paper's Figure 1.

    A function and not a constant, because a changed model file may have other parameters.
    """
    return Run(Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5), dim=100)
