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
    """Coordinates y of the conjugates, and what a map of these is in them."""

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """Coordinates y, shape (unknowns,)."""
        ...

    def denoised(self, y: Vector) -> DenoisingSolution:
        """The solved denoising problem at coordinates y.

        Raises:
            OutsideDomain: there are no conjugates.
        """
        ...

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """Where y goes if its conjugates, those of `at`, go to those with these logarithms."""
        ...


@dataclass(frozen=True)
class Logarithms:
    """The logarithms of the conjugates themselves."""

    problem: Problem

    def coordinates(self, conjugates: Conjugates) -> Vector:
        """The logarithms."""
        return conjugates.pack()

    def denoised(self, y: Vector) -> DenoisingSolution:
        """At conjugates exp(y)."""
        return estimator_of(self.problem).denoised(Conjugates.unpack(y, self.problem))

    def image(self, y: Vector, at: DenoisingSolution, moved: Vector) -> Vector:
        """As it is given."""
        return moved


def in_unknowns(image: Callable[[DenoisingSolution], Vector], unknowns: Unknowns) -> Map:
    """A map of y, from what gives logarithms of conjugates for a denoising problem; not a number where either has no value."""

    def moved(y: Vector) -> Vector:
        try:
            at = unknowns.denoised(y)
            return unknowns.image(y, at, image(at))
        except OutsideDomain:
            return np.full_like(y, np.nan)

    return moved
