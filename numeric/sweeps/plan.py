"""What a sweep fills: variables over axes, block by block, each block by one task."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from numeric.engines.task import Task

UNFINISHED = 0  #: code of a status where its block has not been stored; what is not in a Zarr store reads as 0


@dataclass(frozen=True)
class Variable:
    """Numbers over dimensions; those of a block that is not stored are missing. `attributes` as in the CF conventions.

    `chunks`: points of a block along each dimension.
    """

    dimensions: tuple[str, ...]
    chunks: tuple[int, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_status(self) -> bool:
        """Whether it holds codes of how points ended."""
        return "flag_meanings" in self.attributes

    def empty(self, sizes: Mapping[str, int]) -> np.ndarray:
        """Before anything is stored."""
        shape = [sizes[dimension] for dimension in self.dimensions]
        return np.full(shape, UNFINISHED, np.int8) if self.is_status else np.full(shape, np.nan)


@dataclass(frozen=True)
class Coordinate:
    """Values of a parameter along a dimension; `attributes` as in the CF conventions."""

    dimension: str
    values: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """A rectangle of points that one task fills: `task` gives the values of each variable there, `status` is stored last.

    `region` has a slice for each dimension of the variables.
    """

    task: Task
    region: Mapping[str, slice]
    status: str
    points: int

    def key(self, variable: Variable) -> tuple[slice, ...]:
        """The place of the block in a variable."""
        return tuple(self.region[dimension] for dimension in variable.dimensions)


@dataclass(frozen=True)
class SweepPlan:
    """A sweep before it is carried out; `attributes` tell of the study, `code` is the digest of all code that makes its numbers."""

    coordinates: Mapping[str, Coordinate]
    variables: Mapping[str, Variable]
    blocks: Sequence[Block]
    attributes: Mapping[str, str]
    code: str

    def merged_with(self, other: SweepPlan) -> SweepPlan:
        """Both in one Dataset; what both say is said by this one."""
        return replace(
            self,
            coordinates={**other.coordinates, **self.coordinates},
            variables={**other.variables, **self.variables},
            blocks=(*self.blocks, *other.blocks),
        )

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values along each dimension."""
        return {
            coordinate.dimension: len(coordinate.values) for coordinate in self.coordinates.values()
        }

    @property
    def points(self) -> int:
        """How many points its blocks have."""
        return sum(block.points for block in self.blocks)

    @property
    def seconds(self) -> float:
        """About how long it takes on one core."""
        return sum(block.task.cost for block in self.blocks)

    @property
    def study(self) -> str:
        """Digest of what is asked for, whatever code answers it."""
        asked = sorted(
            (name, c.dimension, repr(c.values.tolist())) for name, c in self.coordinates.items()
        )
        parts = (
            asked,
            sorted(self.variables),
            [repr(block.task.arguments) for block in self.blocks],
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def task_key(function: str, arguments: object, code: str) -> str:
    """Of a task: equal for equal arguments of equal code alone."""
    return f"{function}-{hashlib.sha256(repr((arguments, code)).encode()).hexdigest()[:32]}"


def regions(shape: Sequence[int], chunks: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Rectangles of `chunks` points that cover all points, smaller ones at the ends."""
    for corner in product(
        *(range(0, size, step) for size, step in zip(shape, chunks, strict=True))
    ):
        yield tuple(
            slice(i, min(i + step, size))
            for i, step, size in zip(corner, chunks, shape, strict=True)
        )
