"""Point of a learning curve in decimal strings with proven digits."""

from collections.abc import Mapping
from typing import Protocol

from flint import arb

from attention_erm.runtime.errors import InvalidParameter
from numeric.exact.exact_problem import ExactProblem
from numeric.maths.ball_systems import Linearised, Vector, newton, proven_near
from numeric.maths.balls import Ball, Unresolved, digit_bits, working
from numeric.model import available, functions
from numeric.proven_saddle.closed_channel import ClosedChannel
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals
from numeric.proven_saddle.vanishing_decay import VanishingDecay

PROOF = (
    "balls: interval Newton (Krawczyk) proves one root of the reduced saddle point in a box, "
    "and encloses every quantity on it"
)
SYMMETRIC = "; where the width limits the rank, the replica-symmetric value, an approximation"
_GUARD = 32  # additional bits
_ATTEMPTS = 5  # maximum number of attempts, with the additional bits doubled each time
_SAME = 1e-3  # maximum relative distance from the root in float64


class Equations(Protocol):
    """Saddle point as a system of equations in few positive unknowns."""

    def start(self) -> tuple[float, ...]:
        """Return a root in float64."""

    def system(self, at: Vector) -> Linearised:
        """Return values and slopes over a box."""

    def quantities(self, at: Vector) -> Mapping[str, Ball | None]:
        """Return the quantities of a solution by name."""


def equations_of(problem: ExactProblem) -> Equations:
    """Return the equations with proven roots for the weight decay of a problem.

    Raises:
        InvalidParameter: the model has no such equations.
    """
    vanishing = problem.settings["lambda_"] == 0
    needed = "interpolating_slopes" if vanishing else "closed_balances"
    if hasattr(problem.generated, needed):
        return VanishingDecay(problem) if vanishing else ClosedChannel(problem)
    known = ", ".join(name for name in available() if hasattr(functions("balls", name), needed))
    if vanishing:
        rule = "has no limit lambda -> 0: labels do not fix its index, or a penalty remains"
        way_out = f"use one of {known}"
    else:
        channel = "its channel average is neither closed nor smooth in one or two visible indices"
        rule = f"has no digits at lambda > 0: {channel}"
        way_out = f"use --lambda 0 below interpolation, or one of {known}"
    raise InvalidParameter("model", problem.rounded.model, rule, way_out)


def proven_point(problem: ExactProblem, digits: int) -> DecimalPoint:
    """Solve a problem with proven digits of every quantity (theory note, section 12).

    The start is the solution in float64; it is proven that a box around it contains exactly one
    root. The precision increases until the balls of all quantities prove the digits.

    Args:
        problem: the problem.
        digits: number of digits.

    Raises:
        InvalidParameter: the model has no equations with proven roots at this weight decay.
        NoAnswer: there is no solution, or its digits could not be proven.
    """
    equations = equations_of(problem)
    start, reason = equations.start(), "the balls are too wide"
    for attempt in range(_ATTEMPTS):
        with working(digit_bits(digits) + _GUARD * 2**attempt):
            try:
                texts = decimals(equations.quantities(_root(equations, start)), digits)
            except Unresolved as error:
                reason = str(error)
                continue
        if texts is not None:
            basis = PROOF + SYMMETRIC * (problem.settings["kappa"] < 1)
            return DecimalPoint(problem, texts, digits, "proven", basis)
    alpha = float(problem.settings["alpha"])
    raise Unresolved(f"alpha = {alpha:g}: {digits} digits could not be proven ({reason})")


def _root(equations: Equations, start: tuple[float, ...]) -> Vector:
    """Return a box with exactly one root, near the start.

    Raises:
        Unresolved: the root is not proven, or it is a different root.
    """
    box = proven_near(equations.system, newton(equations.system, tuple(map(arb, start))))
    for side, guess in zip(box, start, strict=True):
        if not (side > 0 and abs(side - guess) < _SAME * guess):
            raise Unresolved("the root is not the one in float64")
    return box
