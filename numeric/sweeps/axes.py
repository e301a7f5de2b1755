"""The axes of a sweep: which parameters vary, over which values, alone or together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.sweeps.attributes import attributes_of
from numeric.sweeps.plan import Coordinate

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Axis:
    """Parameters that vary together: `values[k][i]` is the i-th value of the parameter `names[k]`.

    Raises:
        InvalidParameter: no value, or not as many of each.
    """

    names: tuple[str, ...]
    values: tuple[Values, ...]

    def __post_init__(self) -> None:
        if not all(self.values):
            raise InvalidParameter(self.names[0], [], "has no value", "list at least one")
        if len({len(values) for values in self.values}) != 1:
            counts = ", ".join(
                f"{name} {len(values)}"
                for name, values in zip(self.names, self.values, strict=True)
            )
            raise InvalidParameter(
                self.names[0],
                counts,
                "must have as many values as what varies with it",
                "match them",
            )

    def __len__(self) -> int:
        return len(self.values[0])

    @property
    def dimension(self) -> str:
        """Its name in a Dataset."""
        return "_and_".join(self.names)

    def settings(self, index: int) -> dict[str, Any]:
        """The parameters at one place of the axis."""
        return {name: values[index] for name, values in zip(self.names, self.values, strict=True)}

    def coordinates(self) -> dict[str, Coordinate]:
        """Each parameter as a coordinate along the axis; what is no number as text."""
        pairs = zip(self.names, self.values, strict=True)
        return {
            name: Coordinate(self.dimension, _labels(values), attributes_of(name))
            for name, values in pairs
        }


def axes_of(varied: Mapping[str | tuple[str, ...], Sequence[Any]]) -> tuple[Axis, ...]:
    """Axes from parameters and their values; a tuple of names varies together, each value then a tuple likewise.

    Raises:
        InvalidParameter: as `Axis`, or a parameter that stands on two axes.
    """
    axes = tuple(_axis(names, tuple(values)) for names, values in varied.items())
    named = [name for axis in axes for name in axis.names]
    for name in named:
        if named.count(name) > 1:
            raise InvalidParameter(name, "twice", "stands on two axes", "leave out one")
    return axes


def _axis(names: str | tuple[str, ...], values: Values) -> Axis:
    if isinstance(names, str):
        return Axis((names,), (values,))
    for value in values:
        if not isinstance(value, Sequence) or len(value) != len(names):
            raise InvalidParameter(
                "+".join(names), value, f"must hold {len(names)} values, one of each", "group them"
            )
    return Axis(names, tuple(zip(*values, strict=True)) or ((),))


def shape_of(axes: Sequence[Axis]) -> tuple[int, ...]:
    """Numbers of values."""
    return tuple(len(axis) for axis in axes)


def coordinates_of(axes: Sequence[Axis]) -> dict[str, Coordinate]:
    """Of all parameters that vary, by name."""
    return {name: coordinate for axis in axes for name, coordinate in axis.coordinates().items()}


def grid_points(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """All combinations: the index along each axis, and the parameters there."""
    for index in product(*(range(len(axis)) for axis in axes)):
        settings: dict[str, Any] = {}
        for axis, i in zip(axes, index, strict=True):
            settings |= axis.settings(i)
        yield index, settings


def points_of(axes: Sequence[Axis]) -> int:
    """Number of combinations."""
    return prod(shape_of(axes))


def _labels(values: Values) -> np.ndarray:
    if all(isinstance(value, int) for value in values):
        return np.array(values)
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        return np.array([str(value) for value in values])
