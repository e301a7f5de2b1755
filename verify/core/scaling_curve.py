"""Theory of a power-law target along the number of samples, as a task."""

from __future__ import annotations

from collections.abc import Sequence

from numeric.engines.task import Task
from numeric.problem.problem import Problem
from numeric.studies.scaling import power_law_of, scaling_curve

_COST, _COST_LEADING = (
    0.12,
    10.0,
)  #: seconds per point, with Gaussian indices and with leading features treated exactly


def scaling_curve_task(problem: Problem, samples: Sequence[float]) -> Task:
    """Return the task that solves `scaling_curve` of a problem.

    Args:
        problem: power-law problem.
        samples: numbers n of samples.
    """
    cost = (_COST_LEADING if problem.leading else _COST) * len(samples)
    label = f"theory curve at dim {power_law_of(problem).dim}, lambda {problem.lambda_:g}"
    return Task(scaling_curve, (problem, tuple(map(float, samples))), cost, label, "scaling laws")
