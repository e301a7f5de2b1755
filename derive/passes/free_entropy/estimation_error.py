"""Errors of the matrix S from overlaps and from the spectral function: estimation, denoising,
multiples of the target.

See the theory note, section 3.
"""

from collections.abc import Mapping

import sympy as sp

from derive.language.matrix import Kind
from derive.language.notation import sym
from derive.language.step import Function, outputs, require_zero, scalar
from derive.passes.spectral_function.eigenvalue_list import complement

m, q, q0, v, b, c, J, J_v, J_b = sym("m q q0 v b c J J_v J_b")
STUDENT, TARGET = sp.symbols("S S_0")
Order = Mapping[sp.Symbol, sp.Expr]


def in_overlaps(quadratic: sp.Expr) -> sp.Expr:
    """Return the trace over d of a quadratic form in S and S0, with each product replaced by its
    overlap.
    """
    expanded = sp.expand(quadratic)
    return expanded.xreplace({STUDENT**2: q, TARGET**2: q0}).subs(STUDENT * TARGET, m)


def estimation_error() -> sp.Expr:
    """Return tr(S - S0)^2/d in terms of the overlaps."""
    return in_overlaps((STUDENT - TARGET) ** 2)


def multiple_overlaps() -> dict[sp.Symbol, sp.Expr]:
    """Return the overlaps of S = c S0."""
    forms = {m: STUDENT * TARGET, q: STUDENT**2}
    return {order: in_overlaps(form.subs(STUDENT, c * TARGET)) for order, form in forms.items()}


def denoising_error(order: Order) -> sp.Expr:
    """Return ||S/c - S0||^2/d in terms of the spectral function above the threshold, from order
    parameters in the reduced variables.
    """
    return sp.expand(estimation_error().subs({name: order[name].subs(c, 1) for name in (m, q)}))


def denoising_error_below(order: Order) -> sp.Expr:
    """Return the denoising error of positive matrices from the mirrored law at -b, that is from the
    part of the law below the threshold.

    It contains no moment of the target, so that nothing cancels if nearly all of the target is
    learned.
    """
    mirrored = complement()
    names = {J: mirrored.J, J_v: mirrored.J_v, J_b: mirrored.J_b}
    below = sp.expand(denoising_error(order).subs(names, simultaneous=True))
    require_zero(sp.diff(below, q0), "the error below the threshold knows no second moment")
    return below


def functions(order: Order, kind: Kind) -> tuple[Function, ...]:
    """Return the functions that solvers evaluate.

    Args:
        order: order parameters in the reduced variables.
        kind: class of the matrix.
    """
    spectral = (J, J_v, J_b, v, b)
    found = (
        scalar(
            "estimation_error",
            "||S - S0||^2/d from the overlaps",
            (q0, m, q),
            r"\tfrac1d\|S-S_0\|^2",
            estimation_error(),
        ),
        Function(
            "multiple_overlaps", "overlaps of S = c S0", (c, q0), outputs(multiple_overlaps())
        ),
        scalar(
            "denoising_error",
            "||S/c - S0||^2/d from the spectral function",
            (q0, *spectral),
            "R",
            denoising_error(order),
        ),
    )
    if kind is not Kind.POSITIVE:
        return found
    below = scalar(
        "denoising_error_below",
        "||S/c - S0||^2/d from the spectral function of the mirrored law at -b",
        spectral,
        "R",
        denoising_error_below(order),
    )
    return *found, below
