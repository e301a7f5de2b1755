"""Stationarity of the free entropy: six saddle-point equations, and their reduction to the
equations of a solver.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import sympy as sp

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import LATEX, sym
from derive.language.setting import setting
from derive.language.step import (
    Display,
    Function,
    Step,
    other_symbols,
    outputs,
    require_zero,
    scalar,
)
from derive.passes.free_entropy import estimation_error
from derive.passes.free_entropy.free_entropy import ENVELOPE, SPECTRAL, free_entropy
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.replicas import coupling_term

alpha, beta, c, b, delta, v, x = sym("alpha beta c b delta v x")
m, q, V, mh, qh, Vh, q0 = sym("m q V mh qh Vh q0")
t, th, vartheta, J_vartheta, square = sym("t th vartheta J_vartheta cov_square")
M, M_m, M_q, M_V, J, J_v, J_b = sym("M M_m M_q M_V J J_v J_b")
_FACTOR = setting("factor", "of the linear penalty, which no equation keeps")


def name_channel(expression: sp.Expr) -> sp.Expr:
    """Replace M(m, q, V) and its first derivatives by symbols."""
    envelope = ENVELOPE(m, q, V)
    names = {envelope.diff(m): M_m, envelope.diff(q): M_q, envelope.diff(V): M_V}
    return expression.xreplace(names).xreplace({envelope: M})


def spectral_derivatives(model: Model, variable: sp.Symbol) -> sp.Expr:
    """Return d Psi/d variable by the chain rule, with J, J_v, J_b at the (v, b) of the model as
    symbols.

    Args:
        model: the model.
        variable: a conjugate.
    """
    prior = denoiser(model)
    v_of, b_of = prior.variance, prior.threshold
    chain = J_v * sp.diff(v_of, variable) + J_b * sp.diff(b_of, variable)
    return sp.diff(prior.prefactor, variable) * J + prior.prefactor * chain


@cache
def stationarity(model: Model) -> Mapping[sp.Symbol, sp.Expr]:
    """Return each order parameter from the equation de/d(conjugate) = 0, which is linear in it."""
    prior = denoiser(model)
    explicit = free_entropy(model) + prior.prefactor * SPECTRAL(
        prior.variance, prior.threshold
    )  # e + Psi
    pairs = ((m, mh), (q, Vh), (V, qh), (mh, m), (Vh, q), (qh, V))
    solved = {}
    for unknown, variable in pairs:
        slope = name_channel(sp.diff(explicit, variable)) - spectral_derivatives(model, variable)
        (solved[unknown],) = sp.solve(slope, unknown)
    return MappingProxyType(solved)


def conjugates_at(model: Model, envelope: sp.Expr) -> dict[sp.Symbol, sp.Expr]:
    """Return the conjugates for an averaged envelope that is an explicit function of m, q and V.

    Args:
        model: the model.
        envelope: the averaged envelope.
    """
    slopes = {M_m: sp.diff(envelope, m), M_q: sp.diff(envelope, q), M_V: sp.diff(envelope, V)}
    return {
        conjugate: stationarity(model)[conjugate].xreplace(slopes) for conjugate in (mh, qh, Vh)
    }


def solve_for_order_parameters(energy: sp.Expr) -> dict[sp.Symbol, sp.Expr]:
    """Return m, q, V from stationarity of the prior part of the free entropy in their
    conjugates.
    """
    return {
        order: sp.solve(sp.diff(energy, conjugate), order)[0]
        for order, conjugate in ((m, mh), (q, Vh), (V, qh))
    }


@cache
def reduced(model: Model) -> Mapping[sp.Symbol, sp.Expr]:
    """Return the order parameters in the reduced variables: gain c, semicircle variance v,
    threshold b (theory note, section 3).
    """
    model = _with_factor(model)
    prior, equations = denoiser(model), stationarity(model)
    (at_gain,) = sp.solve(prior.gain - c, mh)
    conjugate_of = {mh: at_gain, qh: sp.solve(prior.variance - v, qh)[0].subs(mh, at_gain)}
    result = {}
    for unknown in (m, q, V):
        expression = _at_threshold(equations[unknown], prior.threshold).subs(conjugate_of)
        result[unknown] = sp.expand(sp.cancel(expression))
    return MappingProxyType(result)


def _with_factor(model: Model) -> Model:
    """Return the model with a factor in front of the linear penalty, which the threshold can
    replace for any settings of the penalty.
    """
    return replace(model, matrix=replace(model.matrix, linear=_FACTOR * model.matrix.linear))


def _at_threshold(expression: sp.Expr, threshold: sp.Expr) -> sp.Expr:
    """Return the expression with the threshold renamed to b; it is zero if the penalty sets no
    threshold.
    """
    return (
        expression
        if threshold == 0
        else expression.subs(_FACTOR, sp.solve(threshold - b, _FACTOR)[0])
    )


@cache
def reduced_with_norms(model: Model) -> Mapping[sp.Symbol, sp.Expr]:
    """Return the order parameters, t among them, if J depends on the coefficient of the covariance.

    This is vartheta = th/(mh tr C^2/d), the reduced conjugate of t (step `token_norms`).
    """
    model = _with_factor(model)
    prior = denoiser(model)
    arguments = (prior.variance, prior.threshold, th / (mh * square))
    slopes = (J_v, J_b, J_vartheta)

    def slope_of(variable: sp.Symbol) -> sp.Expr:
        chain = sum(
            slope * sp.diff(one, variable) for slope, one in zip(slopes, arguments, strict=True)
        )
        return sp.diff(prior.prefactor, variable) * J + prior.prefactor * chain

    coupling = coupling_term() + t * th
    (at_gain,) = sp.solve(prior.gain - c, mh)
    back = {
        th: vartheta * mh * square,
        qh: sp.solve(prior.variance - v, qh)[0],
    }
    result = {}
    for unknown, conjugate in ((m, mh), (q, Vh), (V, qh), (t, th)):
        (solved,) = sp.solve(sp.diff(coupling, conjugate) - slope_of(conjugate), unknown)
        expression = _at_threshold(solved, prior.threshold).subs(back).subs(mh, at_gain)
        result[unknown] = sp.expand(sp.cancel(expression))
    for unknown, form in reduced(model).items():
        require_zero(
            result[unknown].subs(vartheta, 0) - form, f"{unknown} without a conjugate of t"
        )
    return MappingProxyType(result)


def unreduced(model: Model) -> dict[sp.Symbol, sp.Expr]:
    """Return the conjugates that give the reduced variables."""
    prior = denoiser(model)
    pairs = (prior.variance - v, prior.threshold - b, prior.gain - c)
    (solution,) = sp.solve(pairs, (mh, qh, Vh), dict=True)
    return {conjugate: sp.cancel(solution[conjugate]) for conjugate in (mh, qh, Vh)}


def free_entropy_value(model: Model) -> sp.Expr:
    """Return e with M and J as numbers."""
    return name_channel(free_entropy(model)).replace(SPECTRAL, lambda *_: J)


def functions(model: Model) -> tuple[Function, ...]:
    """Return the functions that a solver evaluates."""
    prior, conjugate, order = denoiser(model), stationarity(model), reduced(model)
    frobenius = other_symbols(model.matrix.quadratic)  # settings of the penalty
    inverse = (
        [
            Function(
                "unreduced_variables",
                "conjugates from the spectral problem: its inverse",
                (v, b, c, *model.matrix.settings),
                outputs(unreduced(model)),
            )
        ]
        if model.matrix.linear != 0
        else []
    )
    with_norms = (
        [
            Function(
                "overlaps_with_norms",
                "order parameters, t among them, from the spectral function at (v, b, vartheta)",
                (J, J_v, J_b, J_vartheta, v, b, vartheta, c, Vh, square, *frobenius),
                outputs(reduced_with_norms(model)),
            )
        ]
        if model.matrix.kind is Kind.POSITIVE
        else []
    )
    return (
        Function(
            "reduced_variables",
            "semicircle variance, threshold and gain of the spectral problem",
            (mh, qh, Vh, *model.matrix.settings),
            outputs({v: prior.variance, b: prior.threshold, c: prior.gain}),
        ),
        *inverse,
        Function(
            "overlaps",
            "order parameters from the spectral function at (v, b)",
            (J, J_v, J_b, v, b, c, Vh, *frobenius),
            outputs(order),
        ),
        *with_norms,
        Function(
            "conjugates",
            "conjugate order parameters from the derivatives of the channel average",
            (alpha, M_m, M_q, M_V),
            outputs({name: conjugate[name] for name in (mh, qh, Vh)}),
        ),
        scalar(
            "free_entropy",
            "limit of (min L)/d^2",
            (alpha, M, m, q, V, mh, qh, Vh, J, *frobenius),
            "e",
            free_entropy_value(model),
        ),
        *estimation_error.functions(order, model.matrix.kind),
        scalar(
            "shrinkage",
            "eigenvalue of S for an eigenvalue x > b of Y",
            (x, b, c),
            "s^*",
            c * (x - b),
        ),
    )


def steps(model: Model) -> tuple[Step, ...]:
    """Return the steps of stationarity and reduction."""
    return (
        Step(
            "stationarity",
            "Six saddle-point equations",
            r"Each derivative of $e$ is linear in one order parameter. $J_v$ and $J_b$ are the "
            r"derivatives of the spectral "
            r"function at the $v$ and $b$ of the prior.",
            tuple(Display(LATEX[name], form) for name, form in stationarity(model).items()),
        ),
        Step(
            "reduction",
            "Reduction to (v, b, c)",
            r"The conjugates enter the spectral problem only through the noise variance $v$, the "
            r"threshold $b$ and the gain $c$: "
            r"what a solver evaluates.",
            (),
            functions(model),
        ),
    )
