"""The saddle point of a model whose channel average is closed, as a system of two equations in balls (theory note, section 12)."""

from dataclasses import dataclass

from numeric.maths.ball_systems import Linearised, Vector
from numeric.maths.balls import Ball, Unresolved
from numeric.problem.solution import Status
from numeric.proven_saddle.decimal_point import quantities
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.saddle.solve import solve


@dataclass(frozen=True)
class ClosedChannel:
    """Unknowns (v, V); exact up to what the balls say."""

    problem: ExactProblem

    def start(self) -> tuple[float, float]:
        """The solution in float64.

        Raises:
            NotConverged: there is none.
            Unresolved: nothing is learned there, and every value of S = 0 is a rational number.
        """
        found = solve(self.problem.rounded).unwrap()
        if found.status is Status.UNLEARNED:
            raise Unresolved(
                "the minimiser is S = 0, where m = q = V = 0 exactly: lower lambda or raise alpha"
            )
        return found.delta**2, found.V

    def system(self, at: Vector) -> Linearised:
        """The balances of v and V with their slopes."""
        v, V = at
        _, _, b, _, b_V = self.problem.call("closed_state", V)
        energy = self.problem.energy(v, b)
        values = self.problem.call(
            "closed_balances", energy.J, energy.J_v, energy.J_b, v, b, V, rho=self._rho()
        )
        slopes = self.problem.call("closed_slopes", *energy, v, b, V, b_V, rho=self._rho())
        return Linearised(values, (slopes[:2], slopes[2:]))

    def quantities(self, at: Vector) -> dict[str, Ball]:
        """Every quantity of a solution by name."""
        problem, (v, V) = self.problem, at
        _, Vh, b, c, _ = problem.call("closed_state", V)
        energy = problem.energy(v, b)
        m, q, _ = problem.call("overlaps", energy.J, energy.J_v, energy.J_b, v, b, c, Vh)
        return quantities(problem, (m, q, V), problem.call("closed_envelope", m, q, V, self._rho()))

    def _rho(self) -> Ball:
        return self.problem.call("noisy_variance", self.problem.q0)
