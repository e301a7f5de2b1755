"""Learning problem with exact parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from types import ModuleType
from typing import Any, Self

from flint import arb

from numeric.maths.balls import Ball, Unresolved, ball
from numeric.model import call, functions, structure
from numeric.problem.problem import Problem
from numeric.proven_laws.energy import BallEnergy, energy_above, energy_of
from numeric.proven_laws.law import Law
from numeric.thresholds.rank_limited_energy import Quantile


@dataclass(frozen=True)
class ExactProblem:
    """Problem with exact parameters, for ball arithmetic.

    Attributes:
        rounded: the problem in float64, which gives the start of a search.
        law: law of the eigenvalues of the target.
        settings: exact values by symbol (alpha, lambda_, kappa, Delta, beta, beta0, T, and the
            further settings of the model).
    """

    rounded: Problem
    law: Law
    settings: Mapping[str, Fraction]

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return a problem in float64 with its parameters taken exactly."""
        problem.require_gaussian_norms("proven digits")
        problem.require_new_tokens("proven digits")
        exact = {name: Fraction(value) for name, value in problem.all_settings.items()}
        return cls(problem, problem.exact_law(), exact)

    @property
    def generated(self) -> ModuleType:
        """Generated functions of the model in ball arithmetic."""
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
        """Call a generated function with the settings that it needs.

        Args:
            name: name of the function.
            *arguments: its first arguments.
            **further: values of parameters that are not settings of the problem.
        """
        known = {setting: ball(value) for setting, value in self.settings.items()} | further
        return call(getattr(self.generated, name), arguments, known)

    def bound(self, name: str) -> Callable[..., Any]:
        """Return a generated function with its settings bound, for loops."""
        function = getattr(self.generated, name)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        known = {name: ball(self.settings[name]) for name in names if name in self.settings}
        return partial(function, **known)

    def energy(self, v: Ball, b: Ball) -> BallEnergy:
        """Return the spectral energy, within the rank limit.

        Args:
            v: noise variance (eigenvalue^2).
            b: eigenvalue threshold.

        Raises:
            Unresolved: near an edge or the rank limit, the balls are too wide or the precision is
                too low.
        """
        if not structure(self.rounded.model).has_linear_penalty:
            # The whole matrix is learned: J is the second moment of Y.
            return BallEnergy(self.q0 + v, arb(1), arb(0), arb(0), arb(0), arb(1))
        whole = energy_of(self.law, self.rounded.is_indefinite, v, b)
        width = ball(self.settings["kappa"])
        if width >= 1 or whole.mass < width:
            return whole
        if not whole.mass > width:
            raise Unresolved("it is not decided whether the rank limit acts")
        return energy_above(self.law, v, self._quantile(v), b, width)

    @cached_property
    def _quantile(self) -> Quantile:
        """Eigenvalue at which the rank limit cuts, as a function of v with a memory."""
        return Quantile(self.law, self.settings["kappa"])
