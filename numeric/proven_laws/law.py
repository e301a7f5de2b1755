"""What every proven law offers: the noisy law mu_v at a point, moments; and how balls of any width pass through it.

A law is exact; its balls are made at the working precision. `at(v, x)` holds for every point of the balls v and x.
Source: theory note, section 4; every formula is generated (steps `spectral` and `finite_spectrum`).
"""

from fractions import Fraction
from typing import Any, Protocol, Self, cast

from numeric.maths.balls import Ball, ComplexBall, Unresolved, precision
from numeric.maths.domain import InvalidParameter
from numeric.model import require_of_now


class Point(Protocol):
    """The noisy law at one position x: its Stieltjes transform `g`, and J with its derivatives at b = x by name."""

    g: ComplexBall

    def value(self, name: str) -> Ball:
        """J, J_v, J_b, J_vv, J_bv or mass."""


class Law(Protocol):
    """Eigenvalue law of a model's target; `zero_mass` is its exact share of zero eigenvalues, `generated` the model's functions."""

    model: str
    zero_mass: Fraction
    generated: Any

    def of_model(self, name: str) -> Self:
        """The same law with the equations of another model."""

    def moments(self) -> tuple[Ball, Ball]:
        """Mean t0 and second moment q0."""

    def at(self, v: Ball, x: Ball) -> Point:
        """The law plus a semicircle of variance v, at x."""


class HasLaw(Protocol):
    """A target in float64, which has an exact law."""

    def exact(self) -> Law:
        """The same law in ball arithmetic."""


def law_of(target: HasLaw | Law) -> Law:
    """The law of a target in ball arithmetic; a law is itself one.

    Raises:
        InvalidParameter: it is neither.
        BadInput: the file of its model was changed since its equations were generated.
    """
    if isinstance(target, type) or not hasattr(target, "of_model"):
        require_target(target)
        law = cast(HasLaw, target).exact()
    else:
        law = cast(Law, target)
    require_of_now(law.model)
    return law


def require_target(value: object) -> None:
    """Raises InvalidParameter where the value is no target in float64."""
    if isinstance(value, type) or not hasattr(value, "exact"):
        rule = "must be a target: MarchenkoPastur, power_law, finite_rank or Eigenvalues"
        number = isinstance(value, int | float | Fraction) and value > 0
        raise InvalidParameter(
            "target",
            value,
            rule,
            f"of that rank ratio it is MarchenkoPastur({value})" if number else "try MarchenkoPastur(0.5)",
        )


class BoxPoint:
    """The noisy law over wide balls: values at their middles, and the change across them through the next derivatives.

    The third derivatives of J are powers of g alone, which a ball passes without growing much; closed forms would not survive.
    """

    def __init__(self, law: Law, v: Ball, x: Ball) -> None:
        self._centre, self.g = law.at(v.mid(), x.mid()), law.at(v, x).g
        self._dv, self._dx = v - v.mid(), x - x.mid()
        self._third = dict(
            zip(("J_vvv", "J_bvv", "J_bbv", "J_bbb"), law.generated.third_derivatives(self.g), strict=True)
        )

    def value(self, name: str) -> Ball:
        """J, J_v, J_b, J_vv, J_bv or mass over the balls."""
        if name in self._third:
            return self._third[name]
        if name == "J_bb":
            return 2 * self.value("mass")
        along_v, along_x = _DERIVATIVES[name]
        factor = 2 if name == "mass" else 1
        return self._centre.value(name) + (self.value(along_v) * self._dv + self.value(along_x) * self._dx) / factor


_DERIVATIVES = {
    "J": ("J_v", "J_b"),
    "J_v": ("J_vv", "J_bv"),
    "J_b": ("J_bv", "J_bb"),
    "J_vv": ("J_vvv", "J_bvv"),
    "J_bv": ("J_bvv", "J_bbv"),
    "mass": ("J_bbv", "J_bbb"),  # half of J_bb
}


def over(law: Law, v: Ball, x: Ball) -> Point:
    """The noisy law over balls of any width.

    Raises:
        Unresolved: a variance v that is not proven to be positive.
    """
    if not v > 0:
        raise Unresolved(f"variance {v.str(5)} is not positive")
    narrow = all(value.rel_accuracy_bits() > precision() // 2 for value in (v, x))  # of exact ones it is beyond any
    return law.at(v, x) if narrow else BoxPoint(law, v, x)


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Raise the ValueError that names an argument outside its domain."""
    if not holds:
        raise ValueError(f"{name} = {value}: {rule}")
