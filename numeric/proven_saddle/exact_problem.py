"""A learning problem whose parameters are exact."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import ModuleType
from typing import Any

from flint import arb

from numeric.maths.balls import Ball, Unresolved, ball
from numeric.model import call, functions, structure
from numeric.problem.problem import Problem
from numeric.proven_laws.energy import BallEnergy, energy_above, energy_of
from numeric.proven_laws.law import Law
from numeric.thresholds.rank_limited_energy import Quantile


@dataclass(frozen=True)
class ExactProblem:
    """A problem at exact parameters, for ball arithmetic.

    rounded: the same in float64, from which a search starts; law: of the target's eigenvalues;
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

    def bound(self, name: str) -> Callable[..., Any]:
        """The same function with its settings filled in once, for loops."""
        function, known = getattr(self.generated, name), self.settings
        code = function.__code__
        values = [
            ball(known[setting])
            for setting in code.co_varnames[: code.co_argcount]
            if setting in known
        ]
        return lambda *arguments: function(*arguments, *values)

    def energy(self, v: Ball, b: Ball) -> BallEnergy:
        """The spectral function of the model's class at noise v and threshold b, of the largest eigenvalues where the rank is limited.

        Raises:
            Unresolved: the balls are too wide, or the precision is too low, next to an edge of the support or the rank limit.
        """
        if not structure(
            self.rounded.model
        ).has_linear_penalty:  # all of the matrix is learned: J is the second moment of Y
            return BallEnergy(self.q0 + v, arb(1), arb(0), arb(0), arb(0), arb(1))
        whole, width = (
            energy_of(self.law, self.rounded.is_indefinite, v, b),
            ball(self.settings["kappa"]),
        )
        if width >= 1 or whole.mass < width:
            return whole
        if not whole.mass > width:
            raise Unresolved("whether the rank limit acts is not decided")
        return energy_above(self.law, v, self._quantile(v), b, width)

    @cached_property
    def _quantile(self) -> Quantile:
        """At which the rank limit cuts; it remembers where."""
        return Quantile(self.law, self.settings["kappa"])
