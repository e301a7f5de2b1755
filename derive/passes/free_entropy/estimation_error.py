"""Errors of S as a matrix, from overlaps and from the spectral function: estimation, denoising, multiples of the target.

Theory note, section 3.
"""

from collections.abc import Mapping

import sympy as sp

from derive.language.notation import sym
from derive.language.step import Function, Output, require_zero, scalar
from derive.passes.spectral_function.eigenvalue_list import complement

m, q, q0, v, b, c, J, J_v, J_b = sym("m q q0 v b c J J_v J_b")
STUDENT, TARGET = sp.symbols("S S_0")
Order = Mapping[sp.Symbol, sp.Expr]


def in_overlaps(quadratic: sp.Expr) -> sp.Expr:
    """Trace over d of a quadratic form in S and S0: each product replaced by its overlap."""
    expanded = sp.expand(quadratic)
    return expanded.xreplace({STUDENT**2: q, TARGET**2: q0}).subs(STUDENT * TARGET, m)


def estimation_error() -> sp.Expr:
    """tr(S - S0)^2/d in the overlaps."""
    return in_overlaps((STUDENT - TARGET) ** 2)


def multiple_overlaps() -> dict[sp.Symbol, sp.Expr]:
    """Overlaps of S = c S0."""
    forms = {m: STUDENT * TARGET, q: STUDENT**2}
    return {order: in_overlaps(form.subs(STUDENT, c * TARGET)) for order, form in forms.items()}


def denoising_error(order: Order) -> tuple[sp.Expr, sp.Expr]:
    """||S/c - S0||^2/d from the spectral function above the threshold, and from that of the mirrored law at -b, of what lies below.

    The second has no moment of the target: nothing cancels where nearly all of it is learned. `order` gives the order parameters in
    the reduced variables.
    """
    above = sp.expand(estimation_error().subs({name: order[name].subs(c, 1) for name in (m, q)}))
    mirrored = complement()
    below = sp.expand(above.subs({J: mirrored.J, J_v: mirrored.J_v, J_b: mirrored.J_b}, simultaneous=True))
    require_zero(sp.diff(below, q0), "the error below the threshold knows no second moment")
    return above, below


def functions(order: Order) -> tuple[Function, ...]:
    """What solvers evaluate; `order` gives the order parameters in the reduced variables."""
    above, below = denoising_error(order)
    spectral = (J, J_v, J_b, v, b)
    return (
        scalar(
            "estimation_error",
            "||S - S0||^2/d from the overlaps",
            (q0, m, q),
            r"\tfrac1d\|S-S_0\|^2",
            estimation_error(),
        ),
        Function(
            "multiple_overlaps",
            "overlaps of S = c S0",
            (c, q0),
            tuple(Output(str(name), sp.latex(name), form) for name, form in multiple_overlaps().items()),
        ),
        scalar("denoising_error", "||S/c - S0||^2/d from the spectral function", (q0, *spectral), "R", above),
        scalar(
            "denoising_error_below",
            "||S/c - S0||^2/d from the spectral function of the mirrored law at -b",
            spectral,
            "R",
            below,
        ),
    )
