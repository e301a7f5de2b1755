"""A learning problem whose parameters are exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

from numeric.maths.balls import Ball, ball
from numeric.model import call, functions
from numeric.problem.problem import Problem
from numeric.proven_laws.law import Law
from numeric.proven_saddle.energy import BallEnergy, energy_of


@dataclass(frozen=True)
class ExactProblem:
    """A problem at exact parameters, for ball arithmetic.

    rounded: the same in float64, at some positive weight decay, from which a search starts; law: of the target's eigenvalues;
    settings: exact values by the names of their symbols (alpha, lambda_, kappa, Delta, beta, beta0, T, and those of the model).
    """

    rounded: Problem
    law: Law
    settings: Mapping[str, Fraction]

    @property
    def generated(self) -> ModuleType:
        """The functions of the model, in balls."""
        return functions("balls", self.rounded.model)

    @property
    def alpha(self) -> Ball:
        """Sample ratio n/d^2."""
        return ball(self.settings["alpha"])

    @property
    def q0(self) -> Ball:
        """Second moment of the target."""
        return self.law.moments()[1]

    def call(self, name: str, *arguments: Ball, **further: Ball) -> Any:
        """A generated function at these arguments, at balls of the settings that it takes after them, and at `further` ones."""
        known = {setting: ball(value) for setting, value in self.settings.items()} | further
        return call(getattr(self.generated, name), arguments, known)

    def energy(self, v: Ball, b: Ball) -> BallEnergy:
        """The spectral function of the model's class at noise v and threshold b.

        Raises:
            Unresolved: the balls are too wide, or the precision is too low, next to an edge of the support.
        """
        return energy_of(self.law, self.rounded.both_ends, v, b)
