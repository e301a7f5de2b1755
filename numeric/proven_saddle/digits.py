"""Which way leads to many digits of a point: proof, a bound, or an estimate."""

from collections.abc import Callable

from attention_erm.runtime.errors import InvalidParameter
from numeric.proven_saddle import (
    bounded_point,
    estimated_point,
    proven_point,
    smooth_channel,
    smooth_pairs,
)
from numeric.proven_saddle.decimal_point import DecimalPoint
from numeric.proven_saddle.exact_problem import ExactProblem

Solver = Callable[[ExactProblem, int], DecimalPoint]


def solver_of(problem: ExactProblem, digits: int) -> Solver:
    """What solves problems of this model at this weight decay to so many digits.

    Raises:
        InvalidParameter: nothing does.
    """
    if problem.settings["lambda_"] > 0:
        if smooth_channel.applies(problem.rounded):
            return _limited(
                estimated_point.estimated_point, estimated_point.MOST_DIGITS, problem, digits
            )
        if smooth_pairs.applies(problem.rounded):
            return _limited(bounded_point.bounded_point, bounded_point.MOST_DIGITS, problem, digits)
    proven_point.equations_of(problem)
    return proven_point.proven_point


def _limited(solver: Solver, most: int, problem: ExactProblem, digits: int) -> Solver:
    if digits > most:
        rule = f"must not exceed {most} for the model {problem.rounded.model} at lambda > 0: its channel is averaged numerically"
        raise InvalidParameter("digits", digits, rule, "ask for fewer")
    return solver
