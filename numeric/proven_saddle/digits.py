"""Which way leads to many digits of a point: proof, or an estimate."""

from collections.abc import Callable

from numeric.maths.domain import InvalidParameter
from numeric.proven_saddle import estimated_point, proven_point
from numeric.proven_saddle.decimal_point import DecimalPoint
from numeric.proven_saddle.exact_problem import ExactProblem


def solver_of(problem: ExactProblem, digits: int) -> Callable[[ExactProblem, int], DecimalPoint]:
    """What solves problems of this model at this weight decay to so many digits.

    Raises:
        InvalidParameter: nothing does.
    """
    channel = estimated_point.channel_of(problem.rounded)
    if problem.settings["lambda_"] == 0 or channel is None:
        proven_point.equations_of(problem)
        return proven_point.proven_point
    if digits > channel.most_digits:
        rule = f"must not exceed {channel.most_digits} for the model {problem.rounded.model} at lambda > 0: they are estimated"
        raise InvalidParameter("digits", digits, rule, "ask for fewer")
    return estimated_point.estimated_point
