"""Interpolation threshold of tokens whose norms are not Gaussian (theory note, sections 5 and 13).

Labels that are fitted fix the visible scores. The elastic cost of the scores of a token with itself
lacks a part along the covariance C, so that a multiple of C in S is nearly free. It lifts the
eigenvalues of S above zero, and the constraint S >= 0 binds less. Perfect recovery of isotropic
tokens does not change: its least distance is stationary in the decay, which is a multiple of C
there.
"""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.channel import row_softmax
from derive.language.index import SymmetricScores
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import (
    Display,
    Function,
    Step,
    other_symbols,
    outputs,
    require_zero,
)
from derive.passes.channel.token_norms import conjugate
from derive.passes.channel.visible import blocks
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.saddle_point import conjugates_at, reduced_with_norms
from derive.passes.limits.zero_decay import interpolating_envelope, sample_ratio
from derive.passes.softmax.label_numbers import difference_map

alpha, beta, beta0, D, rho, m, q, V, t, t0 = sym("alpha beta beta0 D rho m q V t t0")
v, b, c, J, J_v, J_b, mh, th, vartheta = sym("v b c J J_v J_b mh th vartheta")
J_vv, J_bv, J_vartheta, mass, M_t = sym("J_vv J_bv J_vartheta mass M_t")
share, deficit, square, gain, T = sym("norm_share norm_deficit cov_square norm_gain T")


@cache
def mean_share(model: Model) -> sp.Expr:
    """Return the mean share of scores of a token with itself over the visible directions.

    For softmax rows of any number T of tokens it is computed for T = 2, 3 and 4, and the form is
    checked at 5.
    """
    if model.channel.output is not row_softmax or model.index != SymmetricScores(2):
        total = sum(
            one.copies * (one.covariance.inv() * one.norms).trace() for one in blocks(model)
        )
        return sp.nsimplify(total / sum(one.copies * one.size for one in blocks(model)))
    found = {}
    for tokens in (2, 3, 4, 5):
        rows = difference_map(tokens)
        visible = sp.Matrix([rows.row(k) for k in rows.T.rref()[1]])
        own = sp.diag(*(int(a == c) for a in range(tokens) for c in range(a, tokens)))
        covariance = visible * (sp.eye(own.rows) + own) * visible.T
        shares = (covariance.inv() * visible * own * visible.T).trace()
        found[tokens] = shares / covariance.rows
    inverse = sp.interpolate([(n, n * (n + 2) * found[n]) for n in (2, 3, 4)], T)
    form = sp.factor(inverse / (T * (T + 2)))
    require_zero(form.subs(T, 5) - found[5], "mean share of scores of a token with itself")
    return form


def share_step(model: Model) -> Step:
    """Return the step of the mean share, which belongs to the model."""
    share = mean_share(model)
    return Step(
        "norm_shares",
        "Share of scores of a token with itself",
        r"The mean over the directions of the visible index, in units of its covariance.",
        (Display(r"\bar s", share),),
        (
            Function(
                "mean_norm_share",
                "mean share of scores of a token with itself in the visible index, as a fraction",
                other_symbols(share),
                outputs(dict(zip(("numerator", "denominator"), sp.fraction(share), strict=True))),
            ),
        ),
    )


class Residuals(NamedTuple):
    """What vanishes at interpolation: the balance of v, and that of the multiple of C."""

    of_v: sp.Expr
    of_shift: sp.Expr


@cache
def residuals(model: Model) -> Residuals:
    """Return the residuals, with J and its derivatives at b = 0 and at the multiple vartheta of C.

    `norm_share` is the mean share of scores of a token with itself, over the D directions.
    """
    lost = D * share * deficit * (t - beta0 / beta * t0) ** 2 / (2 * V)
    envelope = interpolating_envelope() - lost
    prior, conjugates = denoiser(model), conjugates_at(model, envelope)
    of_t = conjugate().subs(M_t, sp.diff(envelope, t))
    order = {name: form.subs(b, 0) for name, form in reduced_with_norms(model).items()}
    at_limit = {c: prior.gain.subs(conjugates)}
    found = {name: form.subs(at_limit) for name, form in order.items()}
    ratio = sample_ratio(model)
    shift = (of_t / (mh * square)).subs(conjugates)
    variance = prior.variance.subs(conjugates)
    balances = (
        form.subs({m: found[m], q: found[q], t: found[t]}).subs(alpha, ratio)
        for form in (v - variance, vartheta - shift)
    )
    of_v, of_shift = (
        sp.expand(sp.cancel(one).subs(deficit, gain * square / share)) for one in balances
    )
    for one in (of_v, of_shift):
        for temperature in (beta, beta0):
            require_zero(sp.diff(one, temperature), "interpolation knows no temperature")
    return Residuals(sp.expand(sp.cancel(of_v * J_v)), of_shift)


def objective() -> sp.Expr:
    """Return 2 D v alpha, whose greatest value over v and over vartheta gives the threshold."""
    return J - rho - 2 * square * t0 * vartheta - square * vartheta**2 / gain


def check_objective(model: Model) -> None:
    """Check that the residuals vanish where the objective over v is stationary."""
    found, value = residuals(model), objective()
    along_shift = sp.diff(value, vartheta) + J_vartheta
    require_zero(along_shift + 2 * square / gain * found.of_shift, "objective along the shift")
    (slope,) = sp.solve(found.of_shift, J_vartheta)
    along_v = (v * J_v - value).subs(J_vartheta, slope)
    require_zero(along_v + found.of_v.subs(J_vartheta, slope), "objective along v")


def slopes(model: Model) -> dict[str, sp.Expr]:
    """Return the slopes of both residuals in v and vartheta for isotropic tokens.

    There J depends on b - vartheta, at b = 0.
    """
    by_v = {J: J_v, J_v: J_vv, J_b: J_bv}
    by_b = {J: J_b, J_v: J_bv, J_b: 2 * mass}
    found = {}
    for name, form in zip(("v", "shift"), isotropic(model), strict=True):
        found[f"{name}_v"] = sp.diff(form, v) + sum(sp.diff(form, x) * y for x, y in by_v.items())
        found[f"{name}_shift"] = sp.diff(form, vartheta) - sum(
            sp.diff(form, x) * y for x, y in by_b.items()
        )
    return {name: sp.expand(form) for name, form in found.items()}


def isotropic(model: Model) -> Residuals:
    """Return the residuals for isotropic tokens, where the shift moves the threshold alone."""
    return Residuals(
        *(form.subs({J_vartheta: -J_b, square: 1}).expand() for form in residuals(model))
    )


def step(model: Model) -> Step:
    """Return the step of the threshold."""
    check_objective(model)
    given = (J, J_v, J_b, v, vartheta, t0, rho, gain)
    found, slope = isotropic(model), slopes(model)
    return Step(
        "interpolation_norms",
        "Interpolation threshold with norms of tokens",
        r"Fitted labels leave a multiple $\vartheta$ of the covariance nearly free. The loss can "
        r"vanish if and only if $2D\alpha v$ is at most the value shown, for some $v$ and "
        r"$\vartheta$. Here $\chi=(2-w)\bar s$ with the mean share $\bar s$ of scores of a token "
        r"with itself. Perfect recovery of isotropic tokens does not change.",
        (Display(r"2D\alpha v", objective()),),
        (
            Function(
                "interpolation_norms",
                "vanish at interpolation; J and its derivatives at the threshold -vartheta",
                given,
                outputs({"residual_v": found.of_v, "residual_shift": found.of_shift}),
            ),
            Function(
                "interpolation_norms_slopes",
                "slopes of both in v and vartheta",
                (J_v, J_b, J_vv, J_bv, mass, v, vartheta, t0, gain),
                outputs(slope),
            ),
        ),
    )
