"""Interface of the proven laws: the noisy law mu_v at a point, and moments; evaluation for balls of
any width.

A law is exact. Its balls are computed at the working precision, and `at(v, x)` is valid for every
point of the balls v and x. See the theory note, section 4; every formula is generated (steps
`spectral` and `finite_spectrum`).
"""

from fractions import Fraction
from typing import Any, Protocol, Self, cast

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.balls import Ball, ComplexBall, Unresolved, precision
from numeric.model import require_up_to_date


class Point(Protocol):
    """Noisy law at one position x: its Stieltjes transform `g`, and J with its derivatives at b =
    x.
    """

    g: ComplexBall

    def value(self, name: str) -> Ball:
        """Return J, J_v, J_b, J_vv, J_bv or mass, by name."""


class Law(Protocol):
    """Eigenvalue law of a model's target.

    Attributes:
        model: name of the model.
        zero_mass: exact fraction of zero eigenvalues.
        generated: generated functions of the model.
    """

    model: str
    zero_mass: Fraction
    generated: Any

    def of_model(self, name: str) -> Self:
        """Return the same law with the equations of another model."""

    def moments(self) -> tuple[Ball, Ball]:
        """Return the mean t0 and the second moment q0."""

    def at(self, v: Ball, x: Ball) -> Point:
        """Return the law with a semicircle of variance v added, at position x.

        Args:
            v: variance of the semicircle, eigenvalue^2.
            x: position, eigenvalue.
        """


class HasLaw(Protocol):
    """Target in float64 that has an exact law."""

    def exact(self) -> Law:
        """Return the same law in ball arithmetic."""


def law_of(target: HasLaw | Law) -> Law:
    """Return the law of a target in ball arithmetic; a proven law is returned as it is.

    Raises:
        InvalidParameter: `target` is neither a target nor a law.
        InvalidParameter: the file of its model has changed since its equations were generated.
    """
    if isinstance(target, type) or not hasattr(target, "of_model"):
        require_target(target)
        law = cast(HasLaw, target).exact()
    else:
        law = cast(Law, target)
    require_up_to_date(law.model)
    return law


def require_target(value: object) -> None:
    """Check that a value is a target in float64.

    Raises:
        InvalidParameter: it is not.
    """
    if isinstance(value, type) or not hasattr(value, "exact"):
        rule = "must be a target: MarchenkoPastur, power_law, finite_rank or Eigenvalues"
        number = isinstance(value, int | float | Fraction) and value > 0
        way_out = f"of that rank ratio it is MarchenkoPastur({value})"
        raise InvalidParameter(
            "target", value, rule, way_out if number else "try MarchenkoPastur(0.5)"
        )


class BoxPoint:
    """Noisy law over wide balls: the value at the centres, plus the change over the balls from the
    next derivatives.

    The third derivatives of J are powers of g, which stay accurate for wide balls. The closed forms
    of J itself do not.
    """

    def __init__(self, law: Law, v: Ball, x: Ball) -> None:
        self._centre, self.g = law.at(v.mid(), x.mid()), law.at(v, x).g
        self._dv, self._dx = v - v.mid(), x - x.mid()
        third = law.generated.third_derivatives(self.g)
        self._third = dict(zip(("J_vvv", "J_bvv", "J_bbv", "J_bbb"), third, strict=True))

    def value(self, name: str) -> Ball:
        """Return J, J_v, J_b, J_vv, J_bv or mass over the balls, by name."""
        if name in self._third:
            return self._third[name]
        if name == "J_bb":
            return 2 * self.value("mass")
        along_v, along_x = map(self.value, _DERIVATIVES[name])
        change = along_v * self._dv + along_x * self._dx
        return self._centre.value(name) + change / (2 if name == "mass" else 1)


_DERIVATIVES = {
    "J": ("J_v", "J_b"),
    "J_v": ("J_vv", "J_bv"),
    "J_b": ("J_bv", "J_bb"),
    "J_vv": ("J_vvv", "J_bvv"),
    "J_bv": ("J_bvv", "J_bbv"),
    "mass": ("J_bbv", "J_bbb"),  # half of J_bb
}


def over(law: Law, v: Ball, x: Ball) -> Point:
    """Return the noisy law over balls of any width.

    Args:
        law: law of the target.
        v: variance of the semicircle, eigenvalue^2.
        x: position, eigenvalue.

    Raises:
        Unresolved: v is not proven to be positive.
    """
    if not v > 0:
        raise Unresolved(f"variance {v.str(5)} is not positive")
    # The accuracy of an exact ball is infinite.
    narrow = all(value.rel_accuracy_bits() > precision() // 2 for value in (v, x))
    return law.at(v, x) if narrow else BoxPoint(law, v, x)


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Check an argument.

    Args:
        holds: whether the argument is valid.
        name: name of the argument.
        value: its value.
        rule: the rule that is violated, for the error message.

    Raises:
        ValueError: `holds` is False.
    """
    if not holds:
        raise ValueError(f"{name} = {value}: {rule}")
