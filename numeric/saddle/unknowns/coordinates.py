"""Coordinates of the conjugates, and the saddle-point map in them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from numeric.maths.domain import OutsideDomain
from numeric.maths.fixed_point import Map, Vector
from numeric.problem.conjugates import Conjugates
from numeric.problem.problem import Problem
from numeric.saddle.estimator import DenoisingSolution, estimator_of


class Unknowns(Protocol):
    """Coordinates y of the conjugates."""

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """Return the coordinates y, shape (unknowns,)."""
        ...

    def denoised(self, y: Vector) -> DenoisingSolution:
        """Solve the denoising problem at coordinates y.

        Raises:
            OutsideDomain: no conjugates have these coordinates.
        """
        ...

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """Return the image of y under a map of the conjugates.

        Args:
            y: coordinates.
            at: denoising solution at y.
            moved: logarithms of the images of the conjugates.
        """
        ...


@dataclass(frozen=True)
class Logarithms:
    """Logarithms of the conjugates."""

    problem: Problem

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """Return the logarithms of the conjugates."""
        return conjugates.pack()

    def denoised(self, y: Vector) -> DenoisingSolution:
        """Solve the denoising problem at conjugates exp(y)."""
        return estimator_of(self.problem).denoised(Conjugates.unpack(y, self.problem))

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """Return `moved`; see `Unknowns.image` for the arguments.

        Args:
            y: coordinates, not used.
            at: denoising solution, not used.
            moved: logarithms of the images of the conjugates.
        """
        return moved


def in_unknowns(image: Callable[[DenoisingSolution], Vector], unknowns: Unknowns) -> Map:
    """Return the saddle-point map in given unknowns, NaN where it has no value.

    Args:
        image: logarithms of the images of the conjugates of a denoising solution.
        unknowns: coordinates of the conjugates.
    """

    def moved(y: Vector) -> Vector:
        try:
            at = unknowns.denoised(y)
            return unknowns.image(y, at, image(at))
        except OutsideDomain:
            return np.full_like(y, np.nan)

    return moved
