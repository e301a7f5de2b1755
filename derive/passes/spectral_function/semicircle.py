"""The unit semicircle law above a point: the law of the noise alone, in closed form."""

from collections.abc import Callable
from functools import cache

import sympy as sp

from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step

(theta,) = sym("theta")


@cache
def semicircle_top() -> tuple[sp.Expr, sp.Expr]:
    """Mass and trace of the unit semicircle law above 2 cos(theta), 0 < theta < pi/2."""
    mass, trace = (semicircle_above(lambda x, power=power: x**power, theta) for power in (0, 1))  # type: ignore[misc]
    return sp.expand(mass), sp.expand(trace)


def semicircle_above(weight: Callable[[sp.Expr], sp.Expr], angle: sp.Symbol) -> sp.Expr:
    """Integral of weight(x) over the unit semicircle law above 2 cos(angle), by the angle of x = 2 cos(psi)."""
    psi = sp.Symbol("psi", positive=True)
    density = 2 * sp.sin(psi) ** 2 / sp.pi
    return sp.integrate(sp.expand(density * weight(2 * sp.cos(psi))), (psi, 0, angle))


def functions() -> tuple[Function, ...]:
    """Mass and trace of what lies above."""
    mass, moment = semicircle_top()
    return (
        Function(
            "semicircle_top",
            "mass and trace of the unit semicircle above 2 cos(theta)",
            (theta,),
            (Output("mass", r"\mu", mass), Output("trace", r"c", moment)),
        ),
    )


def steps() -> tuple[Step, ...]:
    """The semicircle."""
    mass, moment = semicircle_top()
    return (
        Step(
            "semicircle",
            "Semicircle of the noise alone",
            r"The eigenvalues of a symmetric Gaussian matrix above $2\cos\theta$, by the angle of $x=2\cos\psi$.",
            (Display(r"\mu", mass), Display("c", moment)),
            functions(),
        ),
    )
