"""Bounds on interpolation from projections on the admissible matrices, and from counting parameters
(theory note, section 5).
"""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Function, Output, require_zero, scalar

D, q0, t0 = sym("D q0 t0")
kappa, trace = sym("kappa trace")
v, J, v_other, J_other, excess, level = sym("v J v_other J_other excess level")


def interpolation_bounds(model: Model) -> tuple[sp.Expr, sp.Expr]:
    """Return bounds on v that are valid for every root of E(v) = q0 + noise and every rank limit.

    P is the projection on the cone of admissible S. Then E = tr P(S0 + delta G) S0/d is at least
    delta tr P(G) S0/d = delta c t0, because |P(G + eps S0)|^2 is convex in eps. It is at most |P(S0
    + delta G)| |S0| <= (sqrt q0 + delta) sqrt q0, because |P| is 1-Lipschitz.
    """
    noise = model.channel.noise
    return (noise / sp.sqrt(q0)) ** 2, ((q0 + noise) / (trace * t0)) ** 2


def growth_bound() -> sp.Expr:
    """Return the largest growth of E from v to v' > v: half of that of J.

    J = |P(S0 + delta G)|^2 is convex in delta. Therefore 2 v J_v = delta dJ/d delta and the
    Legendre transform 2 v J_v - J increase with delta. E is half of J minus half of that transform.
    """
    J_v, transform = sp.symbols("J_v transform")
    E = (J - v * J_v).subs(J_v, sp.solve(2 * v * J_v - J - transform, J_v)[0])
    require_zero(E - (J - transform) / 2, "E by J and its Legendre transform")
    return sp.diff(E, J) * (J_other - J)


def excess_bound() -> sp.Expr:
    """Return a bound on the excess of E at v' from the excess at v: an upper bound for v' > v, a
    lower bound for v' < v.

    |P(G + eps S0)|^2 is convex in eps = 1/delta, and its slope there is 2 E/delta. Therefore
    E/delta does not increase with delta.
    """
    value = excess + level
    return value * sp.sqrt(v_other / v) - level


def manifold_bound() -> sp.Expr:
    """Return the sample ratio above which noisy labels outnumber the d kappa - kappa^2 d^2/2
    parameters of S.

    Noisy labels then lie on the image of the manifold of S with probability zero (Sard), for any
    shape of the manifold.
    """
    return sp.expand((kappa - kappa**2 / 2) / D)


def functions(model: Model) -> tuple[Function, ...]:
    """Return the functions that a proven search for the threshold needs in addition to the
    condition.
    """
    noise = model.channel.noise_settings
    least, most = interpolation_bounds(model)
    return (
        Function(
            "interpolation_bounds",
            "bounds on v at every root of the interpolation residual",
            (q0, t0, trace, *noise),
            (Output("least", r"v_{\min}", least), Output("most", r"v_{\max}", most)),
        ),
        scalar(
            "interpolation_growth",
            "most that J - v J_v grows from v to a larger v'",
            (J, J_other),
            r"\Delta E",
            growth_bound(),
        ),
        scalar(
            "interpolation_stretched",
            "bound on the excess of J - v J_v at v' from that at v: from above for v' > v, else "
            "from below",
            (excess, level, v, v_other),
            r"E'-E_0",
            excess_bound(),
        ),
        scalar(
            "manifold_bound",
            "sample ratio above which noisy labels outnumber the parameters of S",
            (kappa, D),
            r"\alpha_{\rm dim}",
            manifold_bound(),
        ),
    )
