"""Plan of a sweep: variables over axes, filled block by block, each block by one task."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from numeric.engines.task import Task

#: Status code of a block that is not stored; missing values of a Zarr store are read as 0.
UNFINISHED = 0


@dataclass(frozen=True)
class Variable:
    """Numbers over dimensions; those of a block that is not stored are missing.

    Attributes:
        dimensions: names of the dimensions.
        chunks: number of points of a block along each dimension.
        attributes: attributes by the CF conventions.
    """

    dimensions: tuple[str, ...]
    chunks: tuple[int, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Coordinate:
    """Values of a parameter along a dimension, with attributes by the CF conventions."""

    dimension: str
    values: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """Rectangle of points that one task fills.

    Attributes:
        task: returns the values of each variable.
        region: slice for each dimension of the variables.
        status: name of the variable that is stored last.
        points: number of points.
    """

    task: Task
    region: Mapping[str, slice]
    status: str
    points: int

    def key(self, variable: Variable) -> tuple[slice, ...]:
        """Return the slices of the block in a variable."""
        return tuple(self.region[dimension] for dimension in variable.dimensions)


@dataclass(frozen=True)
class SweepPlan:
    """Sweep before it runs.

    Attributes:
        coordinates: coordinates of the Dataset by name.
        variables: variables of the Dataset by name.
        blocks: blocks that fill the variables.
        attributes: attributes of the Dataset.
        code: digest of the code that computes the numbers.
    """

    coordinates: Mapping[str, Coordinate]
    variables: Mapping[str, Variable]
    blocks: Sequence[Block]
    attributes: Mapping[str, str]
    code: str

    def merged_with(self, other: SweepPlan) -> SweepPlan:
        """Return a plan that fills the variables of both; this plan has priority."""
        return replace(
            self,
            coordinates={**other.coordinates, **self.coordinates},
            variables={**other.variables, **self.variables},
            blocks=(*self.blocks, *other.blocks),
        )

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values along each dimension."""
        return {one.dimension: len(one.values) for one in self.coordinates.values()}

    @property
    def points(self) -> int:
        """Number of points of all blocks."""
        return sum(block.points for block in self.blocks)

    @property
    def seconds(self) -> float:
        """Estimated time on one core, in seconds."""
        return sum(block.task.cost for block in self.blocks)

    @property
    def study(self) -> str:
        """Digest of the requested points, which does not depend on the code."""
        coordinates = sorted(
            (name, c.dimension, repr(c.values.tolist())) for name, c in self.coordinates.items()
        )
        arguments = [repr(block.task.arguments) for block in self.blocks]
        return _digest((coordinates, sorted(self.variables), arguments))


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]


def task_key(function: str, arguments: object, code: str) -> str:
    """Return the key of a task, which is equal only for equal arguments and equal code.

    Args:
        function: short name of the function.
        arguments: its arguments.
        code: digest of the code.
    """
    return f"{function}-{_digest((arguments, code))}"


def regions(shape: Sequence[int], chunks: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Yield rectangles that cover all points, smaller ones at the ends.

    Args:
        shape: number of points along each axis.
        chunks: number of points of a rectangle along each axis.
    """
    yield from product(
        *(
            [slice(first, min(first + step, size)) for first in range(0, size, step)]
            for size, step in zip(shape, chunks, strict=True)
        )
    )
