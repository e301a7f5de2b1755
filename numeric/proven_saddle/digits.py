"""Choice of the method for many digits of a point: proof, bound or estimate."""

from collections.abc import Callable

from numeric.exact.exact_problem import ExactProblem
from numeric.maths.domain import require
from numeric.proven_saddle import (
    bounded_point,
    estimated_point,
    proven_point,
    smooth_channel,
    smooth_pairs,
)
from numeric.proven_saddle.decimal_point import DecimalPoint

Solver = Callable[[ExactProblem, int], DecimalPoint]


def solver_of(problem: ExactProblem, digits: int) -> Solver:
    """Return the solver for many digits of a problem.

    Args:
        problem: the problem.
        digits: requested number of digits.

    Raises:
        InvalidParameter: no solver supports the problem or the number of digits.
    """
    if problem.settings["lambda_"] > 0:
        for channel, solver, most in (
            (smooth_channel, estimated_point.estimated_point, estimated_point.MOST_DIGITS),
            (smooth_pairs, bounded_point.bounded_point, bounded_point.MOST_DIGITS),
        ):
            if channel.applies(problem.rounded):
                model = f"the model {problem.rounded.model} at lambda > 0"
                rule = f"must not exceed {most} for {model}: its channel is averaged numerically"
                require(digits <= most, "digits", digits, rule, "request fewer")
                return solver
    proven_point.equations_of(problem)
    return proven_point.proven_point
