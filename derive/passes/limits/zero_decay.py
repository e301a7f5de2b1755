"""Limit lambda -> 0 below interpolation, where every label is fitted (theory note, sections 5 and
6).
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Step, outputs, require_zero, scalar
from derive.passes.channel.replicon import growth
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.replicas import envelope_energy
from derive.passes.free_entropy.saddle_point import conjugates_at, reduced

alpha, beta, beta0, D, rho, m, q, V, Vh, q0 = sym("alpha beta beta0 D rho m q V Vh q0")
v, b, c, J, J_v, J_b, F, DD, mh = sym("v b c J J_v J_b F DD mh")
J_vv, J_bv, mass = sym("J_vv J_bv mass")


def interpolating_envelope() -> sp.Expr:
    """Return M if every label can be fitted (V -> infinity): the elastic cost of h = (beta0/beta) z
    up to a shift.

    One visible direction of unit variance costs E(h - w)^2/(2V), with (w, z) of covariance [[q, m],
    [m, rho]]. There are D of them.
    """
    ratio = beta0 / beta
    per_direction = sp.expand(ratio**2 * rho - 2 * ratio * m + q)
    return D * per_direction / (2 * V)


@cache
def weak_regularisation(model: Model) -> Mapping[sp.Symbol, sp.Expr]:
    """Return v, c and V Vh of the reduced problem below interpolation, where V diverges as 1/lambda
    for lambda -> 0.
    """
    prior, conjugates = denoiser(model), conjugates_at(model, interpolating_envelope())
    at_limit = {v: prior.variance, c: prior.gain, V: V * Vh}
    return MappingProxyType(
        {name: sp.cancel(form.subs(conjugates)) for name, form in at_limit.items()}
    )


@cache
def sample_ratio(model: Model) -> sp.Expr:
    """Return alpha in terms of J_v: V Vh = J_v/2 from the spectrum equals V Vh of the fitted
    channel.
    """
    (ratio,) = sp.solve(sp.Eq(reduced(model)[V] * Vh, weak_regularisation(model)[V]), alpha)
    return sp.cancel(ratio)


def interpolating_residual(model: Model) -> sp.Expr:
    """Return the expression that vanishes below interpolation: the balance of v, with the sample
    ratio from V Vh = J_v/2.

    Temperatures only set the gain: labels are fitted at beta0/beta times the target, with its
    noise.
    """
    limit, order, ratio = weak_regularisation(model), reduced(model), sample_ratio(model)
    overlap, norm = (order[name].subs(c, limit[c]) for name in (m, q))
    balance = v - limit[v].subs({m: overlap, q: norm}).subs(alpha, ratio)
    residual = sp.expand(sp.cancel(balance * J_v)).subs(rho, q0 + model.channel.noise)
    for temperature in (beta, beta0):
        require_zero(
            sp.diff(residual, temperature), "the balance below interpolation knows no temperature"
        )
    return residual


def residual_slope(model: Model, along: sp.Symbol) -> sp.Expr:
    """Return the derivative of this residual in v or b; J depends on both.

    Args:
        model: the model.
        along: v or b.
    """
    rates = {v: {J: J_v, J_v: J_vv, J_b: J_bv}, b: {J: J_b, J_v: J_bv, J_b: 2 * mass}}[along]
    residual = interpolating_residual(model)
    return sp.expand(
        sp.diff(residual, along)
        + sum(sp.diff(residual, name) * rate for name, rate in rates.items())
    )


def interpolating_response() -> sp.Expr:
    """Return F if every label is fitted: the dual field f = (h - w)/V responds to w with -1/V along
    each of the D visible directions.
    """
    h, w = sp.symbols("h w")
    dual = -sp.diff(envelope_energy(h - w), w)
    return D * sp.diff(dual, w) ** 2


def interpolating_replicon(model: Model) -> sp.Expr:
    """Return the replicon below interpolation; V and the sample ratio drop out with V Vh = D alpha
    = J_v/2.
    """
    ratio = sample_ratio(model)
    stiffness = weak_regularisation(model)[V] / V  # Vh, which is mh/c
    value = 1 - growth(model).subs(F, interpolating_response()).subs(c, mh / stiffness).subs(
        alpha, ratio
    )
    return sp.expand(sp.cancel(value))


def step(model: Model) -> Step:
    """Return the step of weak regularisation."""
    limit = weak_regularisation(model)
    noise = model.channel.noise_settings
    return Step(
        "weak_regularisation",
        "Weak regularisation below interpolation",
        r"As $\lambda\to0$ every label is fitted, $V$ grows as $1/\lambda$ and the envelope "
        r"becomes quadratic, with $D$ visible "
        r"directions.",
        (
            Display("M", interpolating_envelope()),
            Display("v", limit[v]),
            Display("c", limit[c]),
            Display(r"V\hat V", limit[V]),
            Display("F", interpolating_response()),
            Display(r"\Lambda", interpolating_replicon(model)),
        ),
        (
            scalar(
                "interpolating_residual",
                "vanishes below interpolation at lambda -> 0, J, J_v, J_b at (v, b)",
                (J, J_v, J_b, v, b, *noise, q0),
                "0",
                interpolating_residual(model),
            ),
            Function(
                "interpolating_slopes",
                "slopes of that residual in v and b",
                (J_vv, J_bv, mass, v, b),
                outputs({x: residual_slope(model, x) for x in (v, b)}, r"\partial_{}", "by_{}"),
            ),
            scalar(
                "interpolating_gain",
                "gain below interpolation at lambda -> 0: labels are reproduced",
                (beta, beta0),
                "c",
                weak_regularisation(model)[c],
            ),
            scalar(
                "interpolating_replicon",
                "replicon eigenvalue below interpolation at lambda -> 0",
                (DD, J_v),
                r"\Lambda",
                interpolating_replicon(model),
            ),
        ),
    )
