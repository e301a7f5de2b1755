"""Saddle point of a model with a closed channel average, for proven digits."""

from numeric.exact.closed_equations import ClosedEquations
from numeric.maths.balls import Unresolved
from numeric.problem.solution import Status
from numeric.saddle.solve import solve


class ClosedChannel(ClosedEquations):
    """Saddle-point equations in the unknowns (v, V), with a start in float64."""

    def start(self) -> tuple[float, float]:
        """Return the unknowns of the solution in float64.

        Raises:
            NotConverged: the solve did not converge.
            Unresolved: nothing is learned; all values of S = 0 are rational numbers.
        """
        found = solve(self.problem.rounded).unwrap()
        if found.status is Status.UNLEARNED:
            rule = "the minimiser is S = 0, where m = q = V = 0 exactly"
            raise Unresolved(f"{rule}: decrease lambda or increase alpha")
        return found.delta**2, found.V
