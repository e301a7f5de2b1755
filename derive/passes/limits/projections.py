"""Bounds on interpolation by projections on the admissible matrices, and by counting parameters (theory note, section 5)."""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Function, Output, require_zero, scalar

D, q0, t0 = sym("D q0 t0")
kappa, trace = sym("kappa trace")
v, J, v_other, J_other, excess, level = sym("v J v_other J_other excess level")


def interpolation_bounds(model: Model) -> tuple[sp.Expr, sp.Expr]:
    """Bounds on v that hold for every root of E(v) = q0 + noise and every rank limit.

    With P the projection on the cone of admissible S, E = tr P(S0 + delta G) S0/d lies between delta tr P(G) S0/d = delta c t0
    (|P(G + eps S0)|^2 is convex in eps) and |P(S0 + delta G)| |S0| <= (sqrt q0 + delta) sqrt q0 (|P| is 1-Lipschitz).
    """
    noise = model.channel.noise
    return (noise / sp.sqrt(q0)) ** 2, ((q0 + noise) / (trace * t0)) ** 2


def growth_bound() -> sp.Expr:
    """Most that E grows from v to v' > v: half of what J does.

    J = |P(S0 + delta G)|^2 is convex in delta, so that 2 v J_v = delta dJ/d delta and the Legendre transform 2 v J_v - J increase with
    it. E is half of J less half of that transform.
    """
    J_v, transform = sp.symbols("J_v transform")
    E = (J - v * J_v).subs(J_v, sp.solve(2 * v * J_v - J - transform, J_v)[0])
    require_zero(E - (J - transform) / 2, "E by J and its Legendre transform")
    return sp.diff(E, J) * (J_other - J)


def stretched_excess() -> sp.Expr:
    """Bound on the excess of E at v' from that at v: from above for v' > v, from below for v' < v.

    |P(G + eps S0)|^2 is convex in eps = 1/delta, and its slope there is 2 E/delta: E/delta does not increase with delta.
    """
    value = excess + level
    return value * sp.sqrt(v_other / v) - level


def manifold_bound() -> sp.Expr:
    """Sample ratio above which labels with noise outnumber the parameters of S, d kappa - kappa^2 d^2/2 of them.

    Noise-disturbed labels then lie on the image of the manifold of S with probability zero (Sard), whatever its shape.
    """
    return sp.expand((kappa - kappa**2 / 2) / D)


def functions(model: Model) -> tuple[Function, ...]:
    """What a proven search for the threshold needs besides the condition."""
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
            "bound on the excess of J - v J_v at v' from that at v: from above for v' > v, else from below",
            (excess, level, v, v_other),
            r"E'-E_0",
            stretched_excess(),
        ),
        scalar(
            "manifold_bound",
            "sample ratio above which noisy labels outnumber the parameters of S",
            (kappa, D),
            r"\alpha_{\rm dim}",
            manifold_bound(),
        ),
    )
