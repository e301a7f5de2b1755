"""A sweep of the theory: learning curves over all other parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attention_erm.runtime.digests import code_digest
from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.task import Task
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.model import packages
from numeric.problem.problem import Problem
from numeric.problem.solution import ERROR_BAR, QUANTITIES, Solution, Status
from numeric.saddle.curve import learning_curve
from numeric.sweeps.attributes import attributes_of, status_attributes
from numeric.sweeps.axes import Axis, coordinates_of, grid_points, shape_of
from numeric.sweeps.costs import seconds_of_point
from numeric.sweeps.plan import Block, SweepPlan, Variable, regions, task_key

TASK_SECONDS = 60.0  #: a task takes no longer where it can be cut: what a killed worker loses
CODES = {status: code for code, status in enumerate(Status, start=1)}


def theory_plan(
    problems: np.ndarray, axes: Sequence[Axis], attributes: Mapping[str, str], prefix: str = ""
) -> SweepPlan:
    """The plan that solves `problems`, an array of Problem over `axes`; `prefix` begins the names of its variables.

    Points that differ in alpha alone are solved along it, each from its neighbours, in pieces of a minute at the most.
    """
    code = code_digest(__name__, *packages(problem.model for problem in problems.flat))
    dimensions = tuple(axis.dimension for axis in axes)
    along = next((k for k, axis in enumerate(axes) if axis.names == ("alpha",)), len(axes) - 1)
    chunks = tuple(_points_per_task(problems, along) if k == along else 1 for k in range(len(axes)))
    blocks = [
        _block(problems, region, dimensions, code, prefix)
        for region in regions(problems.shape, chunks)
    ]
    return SweepPlan(
        coordinates_of(axes),
        {
            f"{prefix}{name}": variable
            for name, variable in theory_variables(dimensions, chunks).items()
        },
        blocks,
        attributes,
        code,
    )


def problems_over(problem: Problem, axes: Sequence[Axis]) -> np.ndarray:
    """The problem at each place of the axes; `kappa0` is that of a Marchenko-Pastur target.

    Raises:
        InvalidParameter: a parameter that a Problem does not have, or outside its domain.
    """
    problems = np.empty(shape_of(axes), dtype=object)
    for index, settings in grid_points(axes):
        problems[index] = _varied(problem, settings)
    return problems


def _varied(problem: Problem, settings: dict[str, Any]) -> Problem:
    changes = {name: _plain(value) for name, value in settings.items() if name != "kappa0"}
    if "kappa0" in settings:
        changes["target"] = MarchenkoPastur(float(settings["kappa0"]))
    known = Problem.__dataclass_fields__
    if unknown := next((name for name in changes if name not in known), None):
        raise InvalidParameter(
            unknown,
            settings[unknown],
            "is no parameter of a Problem",
            f"use one of kappa0, {', '.join(known)}",
        )
    return replace(problem, **changes)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's: a key must not tell an array's element from a number."""
    return value.item() if isinstance(value, np.generic) else value


def theory_variables(dimensions: tuple[str, ...], chunks: tuple[int, ...]) -> dict[str, Variable]:
    """What a Solution has at each point: quantities with their error bars, replicon, residual, status."""
    variables: dict[str, Variable] = {}
    for name in QUANTITIES:
        words = attributes_of(name)
        variables[name] = Variable(
            dimensions, chunks, {**words, "ancillary_variables": f"{name}{ERROR_BAR} status"}
        )
        bar = {**words, "long_name": f"bound on the error of {name}"}
        variables[f"{name}{ERROR_BAR}"] = Variable(dimensions, chunks, bar)
    for name in ("replicon", "residual"):
        variables[name] = Variable(dimensions, chunks, attributes_of(name))
    endings = [(status.name.lower(), status.value) for status in CODES]
    return {
        **variables,
        "status": Variable(dimensions, chunks, status_attributes("how the solve ended", endings)),
    }


def solve_block(
    problems: tuple[Problem, ...], prefix: str, shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Values of the variables along a line of problems; where they differ in alpha alone, each is solved from its neighbours."""
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
    """Return `Solution.record` as numbers: NaN for a missing value, error bar 0 for an exact one."""
    record, row = solution.record(), dict[str, float]()
    for name in QUANTITIES:
        known = record[name] is not None
        row[name] = record[name] if known else math.nan
        row[f"{name}{ERROR_BAR}"] = solution.errors.get(name, 0.0) if known else math.nan
    return {
        **row,
        "replicon": solution.replicon,
        "residual": solution.residual,
        "status": CODES[solution.status],
    }


def _points_per_task(problems: np.ndarray, along: int) -> int:
    slowest = max(seconds_of_point(problem) for problem in problems.flat)
    return max(1, min(problems.shape[along], int(TASK_SECONDS / slowest)))


def _block(
    problems: np.ndarray,
    region: tuple[slice, ...],
    dimensions: tuple[str, ...],
    code: str,
    prefix: str,
) -> Block:
    line = tuple(problems[region].flat)
    task = Task(
        task_key("theory", (line, prefix), code),
        solve_block,
        (line, prefix, problems[region].shape),
        sum(map(seconds_of_point, line)),
    )
    return Block(task, dict(zip(dimensions, region, strict=True)), f"{prefix}status", len(line))
