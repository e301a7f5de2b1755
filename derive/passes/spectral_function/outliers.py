"""Outlier in the spectrum of Y for each target eigenvalue, and overlap of the eigenvectors (theory
note, section 4).
"""

from functools import cache

import sympy as sp

from derive.language.elementary import ImaginaryPart
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, scalar
from derive.passes.spectral_function.eigenvalue_list import position, position_slope

g, u, v, s, transform, spread = sym("g u v s transform spread")


@cache
def outlier() -> tuple[sp.Expr, sp.Expr]:
    """Return the position and the squared overlap of the outlier of a target eigenvalue s of
    vanishing weight.

    The eigenvalue s adds a pole of weight w -> 0 to the transform of the others, which has an
    effect at u = s only. Its part of the resolvent is w/(u(x) - s), a pole in x with residue w
    dx/du at s, which is the overlap.
    """
    return position().subs({u: s, g: transform}), position_slope()


def feature_density() -> sp.Expr:
    """Return the density in x of the squared overlaps of eigenvectors of Y with a target
    eigenvector of eigenvalue s.

    On average the resolvent of Y is that of S0 at u.
    """
    return -ImaginaryPart(1 / (u - s)) / sp.pi


def step() -> Step:
    """Return the step for outliers and overlaps."""
    position, overlap = outlier()
    return Step(
        "outliers",
        "Outliers: features of the target that Y shows",
        r"A target eigenvalue $s_0$ of vanishing weight adds a pole at $u=s_0$ to $G$: an outlier "
        r"at the image of $s_0$ under "
        r"$x=u+vG(u)$, whose residue is the squared overlap, positive while it is an outlier.",
        (
            Display("x_{s_0}", position),
            Display("o_{s_0}", overlap),
            Display(r"\rho_{s_0}(x)", feature_density()),
        ),
        (
            Function(
                "outlier",
                "position and squared overlap of the outlier of a target eigenvalue s, from the "
                "transform of the others",
                (s, v, transform, spread),
                (Output("position", r"x_{s_0}", position), Output("overlap", r"o_{s_0}", overlap)),
            ),
            scalar(
                "feature_density",
                "density in x of the squared overlaps of a target eigenvector with the "
                "eigenvectors of Y",
                (u, s),
                r"\rho_{s_0}(x)",
                feature_density(),
            ),
        ),
    )
