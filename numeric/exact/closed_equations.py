"""Saddle point of a model with a closed channel average, as two equations in balls.

See section 12 of the theory note.
"""

from dataclasses import dataclass

from numeric.exact.exact_problem import ExactProblem
from numeric.exact.quantities import quantities
from numeric.maths.ball_systems import Linearised, Vector
from numeric.maths.balls import Ball


@dataclass(frozen=True)
class ClosedEquations:
    """Saddle-point equations in the unknowns (v, V)."""

    problem: ExactProblem

    def system(self, at: Vector) -> Linearised:
        """Return the balances of v and V with their slopes."""
        v, V = at
        _, _, b, _, b_V = self.problem.call("closed_state", V)
        energy = self.problem.energy(v, b)
        values = self.problem.call(
            "closed_balances", energy.J, energy.J_v, energy.J_b, v, b, V, rho=self._rho()
        )
        slopes = self.problem.call("closed_slopes", *energy, v, b, V, b_V, rho=self._rho())
        return Linearised(values, (slopes[:2], slopes[2:]))

    def quantities(self, at: Vector) -> dict[str, Ball]:
        """Return every quantity of a solution by name."""
        problem, (v, V) = self.problem, at
        _, Vh, b, c, _ = problem.call("closed_state", V)
        energy = problem.energy(v, b)
        m, q, _ = problem.call("overlaps", energy.J, energy.J_v, energy.J_b, v, b, c, Vh)
        return quantities(problem, (m, q, V), problem.call("closed_envelope", m, q, V, self._rho()))

    def _rho(self) -> Ball:
        return self.problem.call("noisy_variance", self.problem.q0)
