"""A point of a learning curve as decimal strings, each digit of which is proven."""

from collections.abc import Mapping
from typing import Protocol

from flint import arb

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.ball_systems import Linearised, Vector, newton, proven_near
from numeric.maths.balls import BITS_PER_DIGIT, START_BITS, Ball, Unresolved, working
from numeric.model import available, functions
from numeric.proven_saddle.closed_channel import ClosedChannel
from numeric.proven_saddle.decimal_point import DecimalPoint, decimals
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.vanishing_decay import VanishingDecay

PROOF = "balls: interval Newton (Krawczyk) proves one root of the reduced saddle point in a box, and encloses every quantity on it"
SYMMETRIC = "; where the width limits the rank, the replica-symmetric value, an approximation"
_GUARD = 32  # bits beyond the digits asked for
_ATTEMPTS = 5  # doublings of the guard: more lost bits than these mean that something else is wrong
_SAME = 1e-3  # relative: a root farther from the one in float64 is another


class Equations(Protocol):
    """The saddle point as a system in few unknowns, all of them positive."""

    def start(self) -> tuple[float, ...]:
        """A root in float64."""

    def system(self, at: Vector) -> Linearised:
        """Values and slopes over a box."""

    def quantities(self, at: Vector) -> Mapping[str, Ball | None]:
        """What a solution carries, by name."""


def equations_of(problem: ExactProblem) -> Equations:
    """The equations that can be proven at this weight decay.

    Raises:
        InvalidParameter: there are none for the model.
    """
    vanishing = problem.settings["lambda_"] == 0
    needed = "interpolating_slopes" if vanishing else "closed_balances"
    if hasattr(problem.generated, needed):
        return VanishingDecay(problem) if vanishing else ClosedChannel(problem)
    known = ", ".join(name for name in available() if hasattr(functions("balls", name), needed))
    if vanishing:
        rule, way_out = (
            "has no limit lambda -> 0, as labels do not fix its index or a penalty stays",
            f"use one of {known}",
        )
    else:
        rule = "has no digits at lambda > 0, as its channel average is neither closed nor of one or two visible indices"
        way_out = f"use --lambda 0 below interpolation, or one of {known}"
    raise InvalidParameter("model", problem.rounded.model, rule, way_out)


def proven_point(problem: ExactProblem, digits: int) -> DecimalPoint:
    """The saddle point with so many proven digits of every quantity (theory note, section 12).

    The root is that of the solver in float64; a box around it is proven to hold exactly one. The precision is raised until the
    balls of all quantities prove the digits.

    Raises:
        InvalidParameter: the model has no equations that can be proven at this weight decay.
        NoAnswer: there is no solution, or its digits could not be proven.
    """
    equations = equations_of(problem)
    start, reason = equations.start(), "the balls stay too wide"
    for attempt in range(_ATTEMPTS):
        with working(max(START_BITS, round(digits * BITS_PER_DIGIT)) + _GUARD * 2**attempt):
            try:
                texts = decimals(equations.quantities(_root(equations, start)), digits)
            except Unresolved as error:
                reason = str(error)
                continue
        if texts is not None:
            basis = PROOF + SYMMETRIC * (problem.settings["kappa"] < 1)
            return DecimalPoint(problem, texts, digits, "proven", basis)
    raise Unresolved(
        f"alpha = {float(problem.settings['alpha']):g}: {digits} digits could not be proven ({reason})"
    )


def _root(equations: Equations, start: tuple[float, ...]) -> Vector:
    """A box with exactly one root, that of the start.

    Raises:
        Unresolved: it is not proven, or is another.
    """
    box = proven_near(equations.system, newton(equations.system, tuple(map(arb, start))))
    for side, guess in zip(box, start, strict=True):
        if not (side > 0 and abs(side - guess) < _SAME * guess):
            raise Unresolved("the root is not the one in float64")
    return box
