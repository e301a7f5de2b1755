"""Response of the shrinkage (x - b)_+: its divided difference, and double integrals of it (theory
note, section 3, stability).
"""

import sympy as sp

from derive.language.notation import sym
from derive.language.step import Display, Step, scalar

x, y, b, mass, mixed = sym("x y b mass mixed")


def divided_difference() -> sp.Expr:
    """Return [(x - b)_+ - (y - b)_+]/(x - y) for x > b > y, where (y - b)_+ = 0."""
    return (x - b) / (x - y)


def _above() -> sp.Expr:
    """Return the divided difference for x, y > b."""
    return sp.cancel(((x - b) - (y - b)) / (x - y))


def second_difference() -> sp.Expr:
    """Return the double integral of the squared divided difference, which is 1 for x, y > b, 0 for
    x, y < b, and symmetric.

    `mixed` is the integral over x > b > y.
    """
    return _above() ** 2 * mass**2 + 2 * mixed


def first_difference() -> sp.Expr:
    """Return the double integral of the divided difference, which is J_v.

    J_v = 2 int (x - b)_+ Re g dmu with Re g = int dmu(y)/(x - y).
    """
    return _above() * mass**2 + 2 * mixed


def step() -> Step:
    """Return the step for the response of the shrinkage."""
    return Step(
        "divided_difference",
        "Divided difference of the shrinkage",
        r"In the eigenbasis of $Y$ a perturbation of the field moves the entries of $S$ by "
        r"$D(x,y)=[(x-b)_+-(y-b)_+]/(x-y)$: one "
        r"above the threshold, zero below. What is left to integrate is $x>b>y$.",
        (
            Display("D", divided_difference()),
            Display(r"\iint D", first_difference()),
            Display(r"\iint D^2", second_difference()),
        ),
        (
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
        ),
    )
