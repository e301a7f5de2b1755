"""What S keeps of the target, eigenvalue by eigenvalue: outliers, the response of the shrinkage, and the split of its error.

Theory note, sections 3 (stability), 4 (outliers) and 7 (decomposition).
"""

import sympy as sp

from derive.language.elementary import ImaginaryPart
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, require_zero, scalar
from derive.passes.spectral_function.eigenvalue_list import position, position_slope

v, x, y, b, mass, mixed = sym("v x y b mass mixed")
s, transform, spread = sym("s transform spread")
m, q, q0, c_star, q_top, q0_top, gain = sym("m q q0 c_star q_top q0_top gain")
g, u = sym("g u")


def outlier() -> tuple[sp.Expr, sp.Expr]:
    """Position and squared overlap of the outlier of a target eigenvalue s of vanishing weight.

    The eigenvalue s adds a pole of weight w -> 0 to the transform of the others, which takes effect at u = s only. Its share of the
    resolvent is w/(u(x) - s), a pole in x of residue w dx/du at s: the overlap.
    """
    return position().subs({u: s, g: transform}), position_slope()


def divided_difference() -> sp.Expr:
    """[(x - b)_+ - (y - b)_+]/(x - y) for x > b > y, where (y - b)_+ = 0."""
    return (x - b) / (x - y)


def second_difference() -> sp.Expr:
    """Double integral of the squared divided difference: it is 1 for x, y > b, 0 below, and symmetric; `mixed` is over x > b > y."""
    above = sp.cancel(((x - b) - (y - b)) / (x - y))
    return above**2 * mass**2 + 2 * mixed


def first_difference() -> sp.Expr:
    """Double integral of the divided difference itself, which is J_v: J_v = 2 int (x - b)_+ Re g dmu, Re g = int dmu(y)/(x - y)."""
    above = sp.cancel(((x - b) - (y - b)) / (x - y))
    return above * mass**2 + 2 * mixed


def feature_share() -> sp.Expr:
    """Mean squared overlap of an eigenvector of Y with a target eigenvector of unit weight: their densities, from the resolvents.

    The resolvent of Y is that of S0 at u, on average.
    """
    return ImaginaryPart(1 / (u - s)) / ImaginaryPart(g)


def decomposition() -> tuple[Output, ...]:
    """||S - c* S0||^2/d by parts.

    S has a part of energy q_top that stands for target features of energy q0_top, and a noisy rest: `gain` times the other features,
    and what is orthogonal to them.
    """
    others = q0 - q0_top
    overfitting, underfitting = q - q_top - gain**2 * others, (c_star - gain) ** 2 * others
    approximation = q_top + c_star**2 * q0_top - 2 * c_star * (m - gain * others)
    distance = q - 2 * c_star * m + c_star**2 * q0
    require_zero(distance - overfitting - underfitting - approximation, "the parts add up to the distance")
    return (
        Output("overfitting", r"\epsilon_{\rm over}", overfitting),
        Output("underfitting", r"\epsilon_{\rm under}", underfitting),
        Output("approximation", r"\epsilon_{\rm approx}", approximation),
        Output("distance", r"\tfrac1d\|S-c^*S_0\|^2", distance),
    )


def functions() -> tuple[Function, ...]:
    """Generated functions of outliers, response and decomposition."""
    position, overlap = outlier()
    return (
        Function(
            "outlier",
            "position and squared overlap of the outlier of a target eigenvalue s, from the transform of the others",
            (s, v, transform, spread),
            (Output("position", r"x_s", position), Output("overlap", r"o_s", overlap)),
        ),
        scalar(
            "divided_difference",
            "response of the shrinkage over its gain, x > b > y",
            (x, y, b),
            "D",
            divided_difference(),
        ),
        scalar(
            "first_difference",
            "double integral of the divided difference from its part x > b > y",
            (mass, mixed),
            r"\iint D",
            first_difference(),
        ),
        scalar(
            "second_difference",
            "double integral of the squared divided difference from its part x > b > y",
            (mass, mixed),
            r"\iint D^2",
            second_difference(),
        ),
        scalar(
            "feature_share",
            "mean squared overlap of an eigenvector of Y with a target eigenvector of unit weight",
            (u, s, g),
            "o(x,s)",
            feature_share(),
        ),
        Function(
            "decomposition",
            "parts of ||S - c* S0||^2/d and their sum",
            (m, q, q0, q_top, q0_top, gain, c_star),
            decomposition(),
        ),
    )


def steps() -> tuple[Step, ...]:
    """Outliers, response and decomposition."""
    position, overlap = outlier()
    return (
        Step(
            "features",
            "What is kept of the target",
            r"A target eigenvalue $s$ of vanishing weight adds a pole at $u=s$ to $G$: an outlier at the image of $s$ under "
            r"$x=u+vG(u)$, whose residue is the squared overlap, positive while it is an outlier. The eigenvalues of $Y$ that stand "
            r"for target features, and the rest, split $\|S-c^*S_0\|^2$.",
            (Display("x_s", position), Display("o_s", overlap), Display(r"\iint D^2", second_difference())),
            functions(),
        ),
    )
