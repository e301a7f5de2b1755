"""Spectral function of the largest kappa d eigenvalues only, for a student of limited rank (theory
note, section 4).

Above the quantile Q, (x - b)^2 = (x - Q + Q - b)^2 expresses it by values of J at Q, for any law of
the target.
"""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.elementary import ImaginaryPart
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, outputs, require_zero, scalar
from derive.passes.spectral_function.rational_law import spectral_integrands

b, g, v, kappa, Q, Q_v = sym("b g v kappa Q Q_v")
J, J_v, J_b, J_bv, J_vv = sym("J J_v J_b J_bv J_vv")
J_vvv, J_bvv, J_bbv, J_bbb = sym("J_vvv J_bvv J_bbv J_bbb")


@cache
def third_derivatives() -> dict[sp.Symbol, sp.Expr]:
    """Return the third derivatives of J for any law.

    For example J_bb/2 = mass(x > b) = -(1/pi) Im int (z - b) dg has slope -Im g/pi in -b. Two
    derivatives under the integral give an integrand linear in z - b; the third gives a power of g,
    for any z(g).
    """
    third = spectral_integrands(sp.Function("z0")(g) + v * g - b).J

    def integral(*variables: sp.Symbol) -> sp.Expr:
        return -ImaginaryPart(sp.integrate(sp.expand(sp.diff(third, *variables)), g)) / sp.pi

    return {
        J_vvv: integral(v, v, v),
        J_bvv: integral(b, v, v),
        J_bbv: integral(b, b, v),
        J_bbb: integral(b, b, b),
    }


class RankLimited(NamedTuple):
    """Spectral function of the largest eigenvalues only, in terms of the values at their quantile
    Q.
    """

    J: sp.Expr
    J_v: sp.Expr
    J_b: sp.Expr
    J_vv: sp.Expr
    Q_v: sp.Expr


@cache
def rank_limited() -> RankLimited:
    """Return J, J_v, J_b, J_vv of the largest eigenvalues only, those above the quantile Q > b with
    mass(Q) = kappa.

    (x - b)^2 = (x - Q + Q - b)^2 above Q. The result is stationary in Q where mass = J_bb/2 =
    kappa, so that the motion of the quantile adds nothing to first derivatives.
    """
    spectral = sp.Function("J")
    at_quantile = spectral(v, Q)
    energy = at_quantile - (Q - b) * sp.diff(at_quantile, Q) + (Q - b) ** 2 * kappa
    curvature = sp.diff(at_quantile, Q, 2)
    require_zero(
        sp.diff(energy, Q).xreplace({curvature: 2 * kappa}),
        "rank-limited J is stationary in the quantile",
    )
    drift = -sp.diff(curvature, v) / sp.diff(
        curvature, Q
    )  # keeps the mass above the quantile equal to kappa
    slope = sp.diff(energy, v)
    second = sp.diff(slope, v) + sp.diff(slope, Q) * Q_v
    names = {
        sp.diff(at_quantile, Q, v, v): J_bvv,
        sp.diff(at_quantile, Q, Q, v): J_bbv,
        sp.diff(at_quantile, Q, Q, Q): J_bbb,
        sp.diff(at_quantile, Q, v): J_bv,
        sp.diff(at_quantile, v, v): J_vv,
        sp.diff(at_quantile, v): J_v,
        sp.diff(at_quantile, Q): J_b,
    }

    def named(expression: sp.Expr) -> sp.Expr:
        for derivative, name in names.items():
            expression = expression.xreplace({derivative: name})
        return expression.xreplace({at_quantile: J})

    return RankLimited(
        *(named(form) for form in (energy, slope, sp.diff(energy, b), second, drift))
    )


def step() -> Step:
    """Return the step for limited rank."""
    limited = rank_limited()
    limited_outputs = (("J", r"J_\kappa"), ("J_v", r"J_{\kappa,v}"), ("J_b", r"J_{\kappa,b}"))
    return Step(
        "rank_limit",
        "Limited rank: the largest eigenvalues only",
        r"A student of rank $\kappa d$ keeps the eigenvalues above the quantile $Q$ of $\mu_v$. "
        r"$J_\kappa$ is stationary in the "
        r"quantile, so that its motion adds nothing to first derivatives; third derivatives of $J$ "
        r"move it in second ones.",
        (
            Display(r"J_\kappa", limited.J),
            Display(r"\partial_vJ_\kappa", limited.J_v),
            Display(r"\partial_bJ_\kappa", limited.J_b),
        ),
        (
            Function(
                "rank_limited",
                "J, J_v, J_b of the eigenvalues above the quantile Q, from the values at Q",
                (J, J_v, J_b, J_bv, Q, b, kappa),
                tuple(Output(name, left, getattr(limited, name)) for name, left in limited_outputs),
            ),
            Function(
                "third_derivatives",
                "third derivatives of J at the physical root g, for any target law",
                (g,),
                outputs(third_derivatives()),
            ),
            scalar(
                "quantile_drift", "dQ/dv at fixed mass above Q", (J_bbv, J_bbb), "Q_v", limited.Q_v
            ),
            scalar(
                "rank_limited_curvature",
                "second derivative in v of the rank-limited J, from the values at Q",
                (J_vv, J_bvv, J_bbv, Q_v, Q, b),
                r"J_{\kappa,vv}",
                limited.J_vv,
            ),
        ),
    )
