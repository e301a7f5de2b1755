"""Sweep of the theory: learning curves over all other parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attention_erm.runtime.digests import code_digest
from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.task import Task
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.model import theory_modules
from numeric.problem.problem import Problem
from numeric.problem.solution import ERROR_BAR, QUANTITIES, Solution, Status
from numeric.saddle.curve import learning_curve
from numeric.sweeps.attributes import attributes_of, status_attributes
from numeric.sweeps.axes import Axis, coordinates_of, grid_points, shape_of
from numeric.sweeps.costs import seconds_of_point
from numeric.sweeps.plan import Block, SweepPlan, Variable, regions, task_key

#: Maximum time of a task of several points; a killed worker loses at most this.
TASK_SECONDS = 60.0
CODES = {status: code for code, status in enumerate(Status, start=1)}


def theory_plan(
    problems: np.ndarray, axes: Sequence[Axis], attributes: Mapping[str, str], prefix: str = ""
) -> SweepPlan:
    """Return the plan that solves an array of problems.

    Points that differ only in alpha are solved along it, each from its neighbours, in tasks of at
    most a minute.

    Args:
        problems: array of Problem over `axes`.
        axes: axes of the sweep.
        attributes: attributes of the Dataset.
        prefix: prefix of the names of the variables.
    """
    code = code_digest(__name__, *theory_modules(problem.model for problem in problems.flat))
    dimensions = tuple(axis.dimension for axis in axes)
    along = next((k for k, axis in enumerate(axes) if axis.names == ("alpha",)), len(axes) - 1)
    chunks = tuple(_points_per_task(problems, along) if k == along else 1 for k in range(len(axes)))
    blocks = []
    for region in regions(problems.shape, chunks):
        line, shape = tuple(problems[region].flat), problems[region].shape
        key = task_key("theory", (line, prefix), code)
        cost = sum(map(seconds_of_point, line))
        task = Task(solve_block, (line, prefix, shape), cost, key=key)
        places = dict(zip(dimensions, region, strict=True))
        blocks.append(Block(task, places, f"{prefix}status", len(line)))
    variables = theory_variables(dimensions, chunks)
    named = {f"{prefix}{name}": variable for name, variable in variables.items()}
    return SweepPlan(coordinates_of(axes), named, blocks, attributes, code)


def problems_over(problem: Problem, axes: Sequence[Axis]) -> np.ndarray:
    """Return an array of the problems at all grid points.

    Args:
        problem: values of all other parameters.
        axes: axes; `kappa0` sets the rank ratio of a Marchenko-Pastur target, whose covariance of
            tokens is kept.

    Raises:
        InvalidParameter: a Problem does not have a parameter, or it is outside its domain.
    """
    known, problems = Problem.__dataclass_fields__, np.empty(shape_of(axes), dtype=object)
    for index, settings in grid_points(axes):
        # Python numbers, because the key of a task must not depend on their type.
        changes = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in settings.items()
        }
        if "kappa0" in changes:
            law, target = MarchenkoPastur(float(changes.pop("kappa0"))), problem.target
            changes["target"] = law
            if isinstance(target, IndependentCovariance):
                changes["target"] = IndependentCovariance(law, *target.exact_parameters)
        if "lambda" in changes:
            changes["lambda_"] = changes.pop("lambda")
        for name in changes:
            if name not in known:
                way_out = f"use one of kappa0, {', '.join(name.rstrip('_') for name in known)}"
                rule = "is not a parameter of a Problem"
                raise InvalidParameter(name, settings[name], rule, way_out)
        problems[index] = replace(problem, **changes)
    return problems


def theory_variables(dimensions: tuple[str, ...], chunks: tuple[int, ...]) -> dict[str, Variable]:
    """Return the variables of a sweep: quantities with error bars, replicon, residual and status.

    Args:
        dimensions: names of the dimensions.
        chunks: number of points of a block along each dimension.
    """
    attributes: dict[str, Mapping[str, Any]] = {}
    for name in QUANTITIES:
        words, bar = attributes_of(name), f"{name}{ERROR_BAR}"
        attributes[name] = {**words, "ancillary_variables": f"{bar} status"}
        attributes[bar] = {**words, "long_name": f"bound on the error of {name}"}
    for name in ("replicon", "residual"):
        attributes[name] = attributes_of(name)
    endings = [(status.name.lower(), status.value) for status in CODES]
    attributes["status"] = status_attributes("how the solve ended", endings)
    return {name: Variable(dimensions, chunks, words) for name, words in attributes.items()}


def solve_block(
    problems: tuple[Problem, ...], prefix: str, shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Return the values of all variables along a line of problems.

    If the problems differ only in alpha, each is solved from its neighbours.

    Args:
        problems: the problems.
        prefix: prefix of the names of the variables.
        shape: shape of the arrays.
    """
    first = problems[0]
    if all(problem.at(first.alpha) == first for problem in problems):
        solutions = learning_curve(first, [problem.alpha for problem in problems])
    else:
        solutions = [learning_curve(problem, [problem.alpha])[0] for problem in problems]
    rows = [_row(solution) for solution in solutions]
    return {
        f"{prefix}{name}": np.array([row[name] for row in rows]).reshape(shape) for name in rows[0]
    }


def _row(solution: Solution) -> dict[str, float]:
    """Return `Solution.record` as numbers: NaN for a missing value, error bar 0 for an exact
    one.
    """
    record, row = solution.record(), dict[str, float]()
    for name in QUANTITIES:
        known = record[name] is not None
        row[name] = record[name] if known else math.nan
        row[f"{name}{ERROR_BAR}"] = solution.errors.get(name, 0.0) if known else math.nan
    status = CODES[solution.status]
    return {**row, "replicon": solution.replicon, "residual": solution.residual, "status": status}


def _points_per_task(problems: np.ndarray, along: int) -> int:
    slowest = max(seconds_of_point(problem) for problem in problems.flat)
    return max(1, min(problems.shape[along], int(TASK_SECONDS / slowest)))
