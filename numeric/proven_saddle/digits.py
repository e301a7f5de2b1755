"""Which way leads to many digits of a point: proof, or an estimate."""

from collections.abc import Callable

from numeric.problem.parameter import InvalidParameter
from numeric.proven_saddle import estimated_point, proven_point, smooth_channel
from numeric.proven_saddle.decimal_point import DecimalPoint
from numeric.proven_saddle.exact_problem import ExactProblem


def solver_of(problem: ExactProblem, digits: int) -> Callable[[ExactProblem, int], DecimalPoint]:
    """What solves problems of this model at this weight decay to so many digits.

    Raises:
        InvalidParameter: nothing does.
    """
    if problem.settings["lambda_"] == 0 or not smooth_channel.applies(problem.rounded):
        proven_point.equations_of(problem)
        return proven_point.proven_point
    most = estimated_point.MOST_DIGITS
    if digits > most:
        rule = f"must not exceed {most} for the model {problem.rounded.model} at lambda > 0, whose digits are estimated"
        raise InvalidParameter("digits", digits, rule, "ask for fewer")
    return estimated_point.estimated_point
