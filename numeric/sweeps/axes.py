"""Axes of a sweep: parameters and their values, varied alone or together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
        InvalidParameter: a parameter has no values, or the numbers of values differ.
    """

    names: tuple[str, ...]
    values: tuple[Values, ...]

    def __post_init__(self) -> None:
        if not all(self.values):
            raise InvalidParameter(self.names[0], [], "has no value", "list at least one")
        if len(set(map(len, self.values))) != 1:
            pairs = zip(self.names, self.values, strict=True)
            counts = ", ".join(f"{name} {len(values)}" for name, values in pairs)
            rule = "must have as many values as the parameters that vary with it"
            raise InvalidParameter(self.names[0], counts, rule, "match them")

    @property
    def dimension(self) -> str:
        """Name of the dimension in a Dataset."""
        return "_and_".join(self.names)


def axes_of(varied: Mapping[str | tuple[str, ...], Sequence[Any]]) -> tuple[Axis, ...]:
    """Return the axes for parameters and their values.

    The parameters in a tuple of names vary together; each of their values is a tuple. Data have
    names without a trailing underscore: `lambda`.

    Raises:
        InvalidParameter: see `Axis`; also if a parameter is on two axes.
    """
    axes = tuple(_axis(names, _listed(values)) for names, values in varied.items())
    named = [name for axis in axes for name in axis.names]
    for name in named:
        if named.count(name) > 1:
            raise InvalidParameter(name, "twice", "is on two axes", "remove one")
    return axes


def _listed(values: Any) -> Values:
    """Return the values of a parameter; one value stands for a list of it."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (values,)
    return tuple(values)


def _axis(names: str | tuple[str, ...], values: Values) -> Axis:
    if isinstance(names, str):
        return Axis((names.rstrip("_"),), (values,))
    names = tuple(name.rstrip("_") for name in names)
    for value in values:
        if not isinstance(value, Sequence) or len(value) != len(names):
            rule = f"must have {len(names)} values, one for each parameter"
            raise InvalidParameter("+".join(names), value, rule, "group them")
    return Axis(names, tuple(zip(*values, strict=True)) or ((),))


def shape_of(axes: Sequence[Axis]) -> tuple[int, ...]:
    """Return the number of values of each axis."""
    return tuple(len(axis.values[0]) for axis in axes)


def coordinates_of(axes: Sequence[Axis]) -> dict[str, Coordinate]:
    """Return the coordinates of all parameters, by name; values that are not numbers are text."""
    return {
        name: Coordinate(axis.dimension, _labels(values), attributes_of(name))
        for axis in axes
        for name, values in zip(axis.names, axis.values, strict=True)
    }


def grid_points(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Yield all combinations: the index along each axis, and the parameters there."""
    for index in np.ndindex(shape_of(axes)):
        yield (
            index,
            {
                name: values[i]
                for axis, i in zip(axes, index, strict=True)
                for name, values in zip(axis.names, axis.values, strict=True)
            },
        )


def points_of(axes: Sequence[Axis]) -> int:
    """Return the number of combinations."""
    return prod(shape_of(axes))


def _labels(values: Values) -> np.ndarray:
    if all(isinstance(value, int) for value in values):
        return np.array(values)
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        return np.array([str(value) for value in values])
