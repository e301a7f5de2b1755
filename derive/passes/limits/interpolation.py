"""Weak regularisation: the limit lambda -> 0 below interpolation, and the interpolation threshold (theory note, section 5)."""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, require_zero, scalar
from derive.passes.channel.replicon import growth
from derive.passes.channel.two_tokens import difference_map
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.replicas import channel_limit, envelope_energy
from derive.passes.free_entropy.saddle_point import conjugates_at, reduced

alpha, beta, beta0, T, D, rho, m, q, V, q0, t0 = sym("alpha beta beta0 T D rho m q V q0 t0")
v, b, c, kappa, theta, trace = sym("v b c kappa theta trace")
J, J_v, J_b, J_vv, F, DD, mh = sym("J J_v J_b J_vv F DD mh")


def label_numbers() -> sp.Expr:
    """Numbers that one label carries: rank of the within-row differences of a symmetric T x T index.

    Computed for T = 2, 3, 4 and interpolated, checked at 5 and 6; a constant shift of all entries is the one direction
    the rows cannot see.
    """
    ranks = {tokens: difference_map(tokens).rank() for tokens in (2, 3, 4, 5, 6)}
    polynomial = sp.interpolate([(tokens, ranks[tokens]) for tokens in (2, 3, 4)], T)
    for tokens in (5, 6):
        require_zero(polynomial.subs(T, tokens) - ranks[tokens], f"numbers in a label of {tokens} tokens")
    return sp.expand(polynomial)


def interpolating_envelope() -> sp.Expr:
    """M when every label can be fitted (V -> infinity): the elastic cost of reaching h = (beta0/beta) z up to a shift.

    One visible direction of unit variance costs E(h - w)^2/(2V), with (w, z) of covariance [[q, m], [m, rho]];
    there are D of them.
    """
    ratio = beta0 / beta
    per_direction = sp.expand(ratio**2 * rho - 2 * ratio * m + q)
    return D * per_direction / (2 * V)


@cache
def weak_regularisation(model: Model) -> Mapping[sp.Symbol, sp.Expr]:
    """v, c and V Vh of the reduced problem below interpolation, where lambda -> 0 sends V to infinity as 1/lambda."""
    prior, conjugates = denoiser(model), conjugates_at(model, interpolating_envelope())
    (Vh,) = sym("Vh")
    at_limit = {v: prior.variance, c: prior.gain, V: V * Vh}
    return MappingProxyType({name: sp.cancel(form.subs(conjugates)) for name, form in at_limit.items()})


@cache
def interpolation(model: Model) -> tuple[sp.Expr, sp.Expr]:
    """Condition E(v) = J - v J_v = q0 + noise at b -> 0 and the sample ratio there.

    At interpolation V stops growing, so b = lambda sqrt(kappa)/mh -> 0. Returns (residual that vanishes, alpha).
    """
    limit, order = weak_regularisation(model), reduced(model)
    (stiffness,) = sym("Vh")
    (ratio,) = sp.solve(sp.Eq(order[V] * stiffness, limit[V]), alpha)  # V Vh = J_v/2 fixes alpha
    at_edge = {b: 0, c: limit[c]}
    overlap, norm = order[m].subs(at_edge), order[q].subs(at_edge)
    balance = sp.expand(v - limit[v].subs({m: overlap, q: norm}).subs(alpha, ratio))
    residual = sp.cancel(balance * J_v)  # J_v > 0: the density above 0 is not zero
    return sp.expand(residual / sp.diff(residual, J)).subs(rho, q0 + model.channel.noise), sp.cancel(ratio)


def interpolation_slope(model: Model) -> sp.Expr:
    """d/dv of the residual along v, from J' = J_v and J_v' = J_vv at fixed b."""
    residual, _ = interpolation(model)
    return sp.expand(sp.diff(residual, v) + sp.diff(residual, J) * J_v + sp.diff(residual, J_v) * J_vv)


@cache
def semicircle_top() -> tuple[sp.Expr, sp.Expr]:
    """Mass and trace of the unit semicircle law above 2 cos(theta), 0 < theta < pi/2."""
    mass, trace = (semicircle_above(lambda x, power=power: x**power, theta) for power in (0, 1))  # type: ignore[misc]
    return sp.expand(mass), sp.expand(trace)


def semicircle_above(weight: Callable[[sp.Expr], sp.Expr], angle: sp.Symbol) -> sp.Expr:
    """Integral of weight(x) over the unit semicircle law above 2 cos(angle), by the angle of x = 2 cos(psi)."""
    psi = sp.Symbol("psi", positive=True)
    density = 2 * sp.sin(psi) ** 2 / sp.pi
    return sp.integrate(sp.expand(density * weight(2 * sp.cos(psi))), (psi, 0, angle))


def interpolation_bounds(model: Model) -> tuple[sp.Expr, sp.Expr]:
    """Bounds on v that hold for every root of E(v) = q0 + noise and every rank limit.

    With P the projection on the cone of admissible S, E = tr P(S0 + delta G) S0/d lies between delta tr P(G) S0/d = delta c t0
    (|P(G + eps S0)|^2 is convex in eps) and |P(S0 + delta G)| |S0| <= (sqrt q0 + delta) sqrt q0 (|P| is 1-Lipschitz).
    """
    noise = model.channel.noise
    return (noise / sp.sqrt(q0)) ** 2, ((q0 + noise) / (trace * t0)) ** 2


def interpolation_objective(model: Model) -> sp.Expr:
    """Alpha as a function of v whose greatest value is the threshold: (J - q0 - noise)/(2 D v).

    The training loss can vanish if and only if 2 D alpha v <= J - q0 - noise for some v: the dual of the loss, minimised over S
    at fixed v, is that difference. Its stationary points are the roots of the residual, where it equals the generated ratio.
    """
    residual, ratio = interpolation(model)
    objective = (J - q0 - model.channel.noise) / (2 * D * v)
    stationary = sp.diff(objective, v) + sp.diff(objective, J) * J_v
    require_zero(stationary * 2 * D * v**2 + residual, "the objective is stationary at the roots of the residual")
    require_zero((objective - ratio).subs(J, sp.solve(residual, J)[0]), "the objective at a root is the ratio")
    return objective


def manifold_bound() -> sp.Expr:
    """Sample ratio above which labels with noise outnumber the parameters of S, d kappa - kappa^2 d^2/2 of them.

    Noise-disturbed labels then lie on the image of the manifold of S with probability zero (Sard), whatever its shape.
    """
    return sp.expand((kappa - kappa**2 / 2) / D)


def interpolating_residual(model: Model) -> sp.Expr:
    """What vanishes below interpolation: the balance of v at the sample ratio that V Vh = J_v/2 fixes.

    Temperatures set the gain alone: labels are fitted at beta0/beta times the target, with its noise, whatever the two are.
    """
    limit, order = weak_regularisation(model), reduced(model)
    _, ratio = interpolation(model)
    overlap, norm = (order[name].subs(c, limit[c]) for name in (m, q))
    balance = v - limit[v].subs({m: overlap, q: norm}).subs(alpha, ratio)
    residual = sp.expand(sp.cancel(balance * J_v)).subs(rho, q0 + model.channel.noise)
    for temperature in (beta, beta0):
        require_zero(sp.diff(residual, temperature), "the balance below interpolation knows no temperature")
    return residual


def interpolating_response() -> sp.Expr:
    """F where every label is fitted: the dual field f = (h - w)/V answers to w with -1/V along each of the D visible directions."""
    h, z, gaussian = sp.symbols("h z g_2", real=True)
    field = channel_limit(z, gaussian).field
    per_unit = sp.cancel(envelope_energy(h, z, gaussian) / (h - field) ** 2)
    w = sp.Symbol("w")
    dual = -sp.diff(per_unit * (h - w) ** 2, w)
    return D * sp.diff(dual, w) ** 2


def interpolating_replicon(model: Model) -> sp.Expr:
    """The replicon below interpolation: V and the sample ratio drop out with V Vh = D alpha = J_v/2."""
    _, ratio = interpolation(model)
    stiffness = weak_regularisation(model)[V] / V  # Vh, which is mh/c
    value = 1 - growth(model).subs(F, interpolating_response()).subs(c, mh / stiffness).subs(alpha, ratio)
    return sp.expand(sp.cancel(value))


def functions(model: Model) -> tuple[Function, ...]:
    """Generated functions of the interpolation threshold."""
    residual, ratio = interpolation(model)
    noise = model.channel.noise_settings
    mass, moment = semicircle_top()
    least, most = interpolation_bounds(model)
    return (
        scalar("label_numbers", "numbers that one label carries", (T,), "D", label_numbers()),
        scalar(
            "interpolation_residual",
            "vanishes at interpolation, J and J_v at b = 0",
            (J, J_v, v, *noise, q0),
            "0",
            residual,
        ),
        scalar(
            "interpolation_level",
            "value of J - v J_v at interpolation",
            (q0, *noise),
            r"q_0+\Delta/2",
            sp.expand(J - J_v * v - residual),
        ),
        scalar(
            "interpolation_slope",
            "derivative of the interpolation residual along v",
            (J_vv, v),
            r"\partial_v",
            interpolation_slope(model),
        ),
        scalar(
            "interpolation_ratio",
            "interpolation threshold from J_v at the root",
            (J_v, D),
            r"\alpha_{\rm interp}",
            ratio,
        ),
        scalar(
            "interpolation_objective",
            "sample ratio at v whose greatest value is the threshold",
            (J, v, *noise, q0, D),
            r"\alpha(v)",
            interpolation_objective(model),
        ),
        Function(
            "semicircle_top",
            "mass and trace of the unit semicircle above 2 cos(theta)",
            (theta,),
            (Output("mass", r"\mu", mass), Output("trace", r"c", moment)),
        ),
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
        scalar(
            "interpolating_residual",
            "vanishes below interpolation at lambda -> 0, J, J_v, J_b at (v, b)",
            (J, J_v, J_b, v, b, *noise, q0),
            "0",
            interpolating_residual(model),
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
    )


def steps(model: Model) -> tuple[Step, ...]:
    """Weak regularisation, interpolation."""
    limit = weak_regularisation(model)
    return (
        Step(
            "weak_regularisation",
            "Weak regularisation below interpolation",
            r"As $\lambda\to0$ every label is fitted, $V$ grows as $1/\lambda$ and the envelope becomes quadratic, with $D$ visible "
            r"directions.",
            (
                Display("M", interpolating_envelope()),
                Display("v", limit[v]),
                Display("c", limit[c]),
                Display(r"V\hat V", limit[V]),
                Display("F", interpolating_response()),
                Display(r"\Lambda", interpolating_replicon(model)),
            ),
        ),
        Step(
            "interpolation",
            "Interpolation threshold",
            r"At interpolation $V$ is finite again, so $b\to0$. The loss can vanish if and only if $2D\alpha v\le J-q_0-\Delta/2$ for "
            r"some $v$, so that the threshold is the greatest value of $\alpha(v)$; its stationary points are the roots of the "
            r"residual.",
            (Display(r"\alpha(v)", interpolation_objective(model)),),
            functions(model),
        ),
    )
