"""Interpolation threshold: the sample ratio up to which every label can be fitted (theory note,
section 5).
"""

from functools import cache

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Step, require_zero, scalar
from derive.passes.free_entropy.saddle_point import reduced
from derive.passes.limits import projections
from derive.passes.limits.zero_decay import sample_ratio, weak_regularisation
from derive.passes.spectral_function.semicircle import open_bulk

alpha, D, rho, m, q, q0 = sym("alpha D rho m q q0")
v, b, c, zero_mass = sym("v b c zero_mass")
J, J_v, J_vv = sym("J J_v J_vv")


@cache
def interpolation(model: Model) -> tuple[sp.Expr, sp.Expr]:
    """Return the condition E(v) = J - v J_v = q0 + noise at b -> 0, as a residual that vanishes,
    and the sample ratio there.

    At interpolation V diverges, so that b = lambda sqrt(kappa)/mh -> 0.
    """
    limit, order, ratio = weak_regularisation(model), reduced(model), sample_ratio(model)
    at_edge = {b: 0, c: limit[c]}
    overlap, norm = order[m].subs(at_edge), order[q].subs(at_edge)
    balance = sp.expand(v - limit[v].subs({m: overlap, q: norm}).subs(alpha, ratio))
    residual = sp.cancel(balance * J_v)  # J_v > 0: the density above 0 is not zero
    return sp.expand(residual / sp.diff(residual, J)).subs(rho, q0 + model.channel.noise), ratio


def interpolation_slope(model: Model) -> sp.Expr:
    """Return the derivative of the residual in v, from J' = J_v and J_v' = J_vv at fixed b."""
    residual, _ = interpolation(model)
    return sp.expand(
        sp.diff(residual, v) + sp.diff(residual, J) * J_v + sp.diff(residual, J_v) * J_vv
    )


def interpolation_objective(model: Model) -> sp.Expr:
    """Return alpha as a function of v whose maximum is the threshold: (J - q0 - noise)/(2 D v) for
    symmetric matrices.

    The training loss can vanish if and only if alpha is at most this value for some v: the dual of
    the loss, minimised over S at fixed v, is the difference. Its stationary points are the roots of
    the residual, where it equals the generated ratio.
    """
    residual, ratio = interpolation(model)
    objective = ratio.subs(J_v, (J - q0 - model.channel.noise) / v)
    stationary = sp.diff(objective, v) + sp.diff(objective, J) * J_v
    require_zero(
        stationary + residual * sp.diff(ratio, J_v) / v**2,
        "the objective is stationary at the roots of the residual",
    )
    require_zero(
        (objective - ratio).subs(J, sp.solve(residual, J)[0]),
        "the objective at a root is the ratio",
    )
    return objective


def vanishing_noise_ratio(model: Model) -> sp.Expr:
    """Return the threshold for label noise -> 0: alpha(v) at v -> 0, because alpha(v) then
    decreases with v as J is concave.

    There J is smaller than q0 + v by the negative half of the semicircle of the zero eigenvalues,
    of mass z0 and variance z0 v. Eigenvalues above 0 do not move.
    """
    lacking = (1 - open_bulk().J) * zero_mass * (zero_mass * v)
    noiseless = dict.fromkeys(model.channel.noise_settings, 0)
    return sp.factor(interpolation_objective(model).subs(noiseless).subs(J, q0 + v - lacking))


def indefinite_ratio(model: Model) -> sp.Expr:
    """Return the threshold if both ends of the law are learned: J = q0 + v at b = 0, and the
    objective increases with v.

    The limit v -> infinity counts parameters against labels, and depends on neither the target nor
    the noise.
    """
    objective = sp.expand(interpolation_objective(model).subs(J, q0 + v))
    if sp.diff(objective, v).is_nonnegative is not True:
        raise DerivationError(
            f"the sample ratio {objective} up to which labels can be fitted does not grow with v"
        )
    return sp.limit(objective, v, sp.oo)


def _ratio(model: Model) -> Function:
    """Return the function for the sample ratio; at vanishing decay it counts the free directions
    above any threshold b.
    """
    meaning = "interpolation threshold from J_v at the root"
    return scalar(
        "interpolation_ratio", meaning, (J_v, D), r"\alpha_{\rm interp}", interpolation(model)[1]
    )


def step(model: Model) -> Step:
    """Return the step of the interpolation threshold."""
    if model.matrix.kind is not Kind.POSITIVE:
        return _indefinite_step(model)
    residual, _ = interpolation(model)
    noise = model.channel.noise_settings
    return Step(
        "interpolation",
        "Interpolation threshold",
        r"At interpolation $V$ is finite again, so $b\to0$. The loss can vanish if and only if "
        r"$2D\alpha v\le J-q_0-\Delta/2$ for "
        r"some $v$, so that the threshold is the greatest value of $\alpha(v)$; its stationary "
        r"points are the roots of the "
        r"residual.",
        (Display(r"\alpha(v)", interpolation_objective(model)),),
        (
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
            _ratio(model),
            scalar(
                "interpolation_objective",
                "sample ratio at v whose greatest value is the threshold",
                (J, v, *noise, q0, D),
                r"\alpha(v)",
                interpolation_objective(model),
            ),
            scalar(
                "interpolation_limit",
                "interpolation threshold as the noise goes to 0, for a share of zero eigenvalues "
                "of the target",
                (zero_mass, D),
                r"\alpha_{\rm interp}(0^+)",
                vanishing_noise_ratio(model),
            ),
            *projections.functions(model),
        ),
    )


def _indefinite_step(model: Model) -> Step:
    return Step(
        "interpolation",
        "Interpolation threshold",
        r"The loss can vanish if $\alpha$ is at most $\alpha(v)$ for some $v$. Both ends of the "
        r"law are learned and $b\to0$: "
        r"$J=q_0+v$, so that $\alpha(v)$ grows with $v$ and the threshold is its limit, the number "
        r"of parameters over the number of label entries.",
        (Display(r"\alpha(v)", interpolation_objective(model).subs(J, q0 + v)),),
        (
            _ratio(model),
            scalar(
                "interpolation_count",
                "interpolation threshold of matrices of either sign",
                (D,),
                r"\alpha_{\rm interp}",
                indefinite_ratio(model),
            ),
        ),
    )
