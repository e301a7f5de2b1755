"""Bounds on interpolation by projections on the admissible matrices, and by counting parameters (theory note, section 5)."""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Function, Output, scalar

D, q0, t0 = sym("D q0 t0")
kappa, trace = sym("kappa trace")


def interpolation_bounds(model: Model) -> tuple[sp.Expr, sp.Expr]:
    """Bounds on v that hold for every root of E(v) = q0 + noise and every rank limit.

    With P the projection on the cone of admissible S, E = tr P(S0 + delta G) S0/d lies between delta tr P(G) S0/d = delta c t0
    (|P(G + eps S0)|^2 is convex in eps) and |P(S0 + delta G)| |S0| <= (sqrt q0 + delta) sqrt q0 (|P| is 1-Lipschitz).
    """
    noise = model.channel.noise
    return (noise / sp.sqrt(q0)) ** 2, ((q0 + noise) / (trace * t0)) ** 2


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
            "manifold_bound",
            "sample ratio above which noisy labels outnumber the parameters of S",
            (kappa, D),
            r"\alpha_{\rm dim}",
            manifold_bound(),
        ),
    )
