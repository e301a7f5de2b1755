"""Square loss of one softmax row for any number of tokens: slope and curvature from power sums over
the row.

A row has softmax entries s_k and residuals e_k = s_k - label_k. All expressions are polynomials in
s and e of one or two entries, and in the power sums S[i, j] = sum_c s_c^i e_c^j of the row.
Derivatives by an index h_l are polynomials of the same kind, because d s_c/d h_l = beta s_c
(delta_cl - s_l) = d e_c/d h_l.
"""

from dataclasses import dataclass
from functools import cache

import sympy as sp

from derive.language.index import Index
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Step, outputs, require_zero, scalar
from derive.passes.free_entropy.replicas import envelope_energy
from derive.passes.softmax.square_loss import entry_loss

beta, s_k, e_k, s_l, e_l, row_se, row_ss = sym("beta s_k e_k s_l e_l row_se row_ss")
x_i, w_i, f_i, stiffness, V = sym("x_i w_i f_i stiffness V")
y_k, y_l, row_sy, beta0 = sym("y_k y_l row_sy beta0")
NAMED_SUMS = {(1, 1): row_se, (2, 0): row_ss}
CHECKED_TOKENS = (2, 3)


def power_sum(i: int, j: int) -> sp.Expr:
    """Return S[i, j]; the softmax sums to one, and so do the labels.

    Args:
        i: power of s.
        j: power of e.
    """
    if (i, j) in ((1, 0), (0, 1)):
        return sp.Integer(i)
    return sp.Symbol(f"S_{i}_{j}")


@dataclass(frozen=True)
class RowDerivative:
    """Derivative d/dh_l of a polynomial at entry k: `smooth` + delta_kl * `local`."""

    smooth: sp.Expr
    local: sp.Expr


def _transport(polynomial: sp.Expr) -> sp.Expr:
    """Return d/ds + d/de at one entry: residual and softmax change together."""
    return sp.diff(polynomial, s_k) + sp.diff(polynomial, e_k)


def _slope_of_sum(polynomial: sp.Expr) -> sp.Expr:
    """Return d/dh_l of sum_c polynomial(s_c, e_c)."""
    moved = _transport(polynomial)
    at_l = moved.subs({s_k: s_l, e_k: e_l}, simultaneous=True)
    terms = sp.Poly(sp.expand(moved * s_k), s_k, e_k).terms()
    mean = sp.Add(*(coefficient * power_sum(*powers) for powers, coefficient in terms))
    return beta * s_l * (at_l - mean)


def differentiate(expression: sp.Expr, sums: dict[sp.Symbol, sp.Expr]) -> RowDerivative:
    """Return d/dh_l of an expression at entry k.

    Args:
        expression: polynomial in s_k, e_k and power sums.
        sums: the polynomial behind each power sum in `expression`.
    """
    moved = beta * s_k * _transport(expression)
    through_sums = sp.Add(
        *(sp.diff(expression, name) * _slope_of_sum(term) for name, term in sums.items())
    )
    return RowDerivative(sp.expand(through_sums - s_l * moved), sp.expand(moved))


@cache
def loss_slope() -> sp.Expr:
    """Return d/dh_k of the loss of a row, at entry k."""
    slope = _slope_of_sum(entry_loss()).xreplace({s_l: s_k, e_l: e_k})
    return sp.factor(slope.xreplace({power_sum(1, 1): row_se}))


@cache
def loss_curvature() -> RowDerivative:
    """Return d^2/dh_k dh_l of the loss of a row."""
    curvature = differentiate(loss_slope(), {row_se: s_k * e_k})
    named = {power_sum(*powers): name for powers, name in NAMED_SUMS.items()}
    return RowDerivative(
        sp.factor(curvature.smooth.xreplace(named)), sp.factor(curvature.local.xreplace(named))
    )


@cache
def label_slope() -> RowDerivative:
    """Return the change of d/dh_k of the loss of a row with index l of the target.

    The label is a softmax at beta0, and e = s - y: d e_c/d z_l = -beta0 y_c (delta_cl - y_l).
    """
    by_residual, by_sum = (sp.diff(loss_slope(), symbol) for symbol in (e_k, row_se))
    through_sum = by_sum * -beta0 * y_l * (s_l - row_sy)
    return RowDerivative(
        sp.factor(by_residual * beta0 * y_k * y_l + through_sum),
        sp.factor(-by_residual * beta0 * y_k),
    )


@cache
def check_against_explicit_rows() -> None:
    """Check that the formulas equal the derivatives of the explicit loss of one row of 2 and of 3
    tokens.
    """
    slope, curvature = loss_slope(), loss_curvature()
    for tokens in CHECKED_TOKENS:
        weights = sp.symbols(f"E1:{tokens + 1}", positive=True)  # exp(beta h_c)
        labels = sp.symbols(f"y1:{tokens}")
        labels = (*labels, 1 - sum(labels))
        softmax = [weight / sum(weights) for weight in weights]
        residual = [s - y for s, y in zip(softmax, labels, strict=True)]
        loss = sum(entry_loss().subs(e_k, e) for e in residual)
        sums = {
            name: sum(s**i * e**j for s, e in zip(softmax, residual, strict=True))
            for (i, j), name in NAMED_SUMS.items()
        }
        for k, l in ((0, 0), (0, 1)):
            at = {s_k: softmax[k], e_k: residual[k], s_l: softmax[l], e_l: residual[l], **sums}
            first = beta * weights[k] * sp.diff(loss, weights[k])
            second = beta * weights[l] * sp.diff(first, weights[l])
            claimed = curvature.smooth + (curvature.local if k == l else 0)
            require_zero(first - slope.subs(at), f"slope of a softmax row of {tokens} tokens")
            targets = sp.symbols(f"F1:{tokens + 1}", positive=True)  # exp(beta0 z_c)
            rows = dict(zip(labels, (one / sum(targets) for one in targets), strict=True))
            given = dict(list(rows.items())[:-1])  # the last label is one minus the others
            third = beta0 * targets[l] * sp.diff(first.subs(given), targets[l])
            there = {y_k: rows[labels[k]], y_l: rows[labels[l]]}
            there[row_sy] = sum(s * y for s, y in zip(softmax, rows.values(), strict=True))
            changed = label_slope()
            by_label = changed.smooth + (changed.local if k == l else 0)
            require_zero(
                third - by_label.subs({**at, **there}), f"label of a row of {tokens} tokens"
            )
            require_zero(
                second - claimed.subs(at), f"curvature of a softmax row of {tokens} tokens"
            )


def antisymmetric_variance(index: Index) -> sp.Expr:
    """Return the variance of x_a^T K x_b per unit tr K K^T/d for antisymmetric K, relative to that
    of symmetric matrices, from 3 x 3 matrices.

    For independent standard normal x_a, x_b both are sums of squares of the entries.
    """
    size = 3
    upper = {(i, j): sp.Symbol(f"K{i}{j}") for i in range(size) for j in range(i, size)}
    variances = {}
    for sign in (1, -1):
        K = sp.Matrix(
            size,
            size,
            lambda i, j, sign=sign: (
                upper[i, j]
                if i < j
                else sign * upper[j, i]
                if j < i
                else (1 + sign) * upper[i, i] / 2
            ),
        )
        moment = sum(entry**2 for entry in K)  # E (x_a^T K x_b)^2
        variances[sign] = sp.cancel(moment / (K * K.T).trace())
    require_zero(
        variances[1] - index.variance((0, 1)),
        "variance per unit of a symmetric index off the diagonal",
    )
    return variances[-1]


def least_curvature() -> sp.Expr:
    """Return the most negative curvature of a row's loss along a unit vector of its indices, at
    beta = 1, from two tokens.

    The curvature is linear in the label, and therefore extreme at a saturated label. The sign of
    the difference of the two indices does not matter, so that one token suffices. More tokens have
    no lower curvature; this is a result of numerical minimisation (tests/numeric/channel).
    """
    softmax, label = sp.symbols("s y", positive=True)
    rows = ((softmax, softmax - label), (1 - softmax, label - softmax))
    sums = {name: sum(s**i * e**j for s, e in rows) for (i, j), name in NAMED_SUMS.items()}
    curvature = loss_curvature()

    def entry(k: int, l: int) -> sp.Expr:
        at = dict(zip((s_k, e_k, s_l, e_l), (*rows[k], *rows[l]), strict=True))
        return (curvature.smooth + (curvature.local if k == l else 0)).subs({**at, **sums, beta: 1})

    along = sp.expand((entry(0, 0) - entry(0, 1) - entry(1, 0) + entry(1, 1)) / 2)
    require_zero(sp.diff(along, label, 2), "the curvature is linear in the label")
    saturated = along.subs(label, 0)
    values = [
        sp.radsimp(saturated.subs(softmax, at))
        for at in sp.solve(sp.diff(saturated, softmax), softmax)
    ]
    return sp.together(sp.expand(min(values)))


def component_energy() -> sp.Expr:
    """Return the elastic energy of one whitened component, of unit variance per unit of overlap."""
    return envelope_energy(x_i - w_i).subs(V, 1 / stiffness)


def component_dual() -> sp.Expr:
    """Return the slope of this energy, the dual field; at a minimiser it is minus the slope of the
    loss.
    """
    return sp.factor(sp.diff(component_energy(), x_i))


def component_displacement() -> sp.Expr:
    """Return x - w where the dual field is f."""
    (displaced,) = sp.solve(component_dual() - f_i, x_i)
    return sp.cancel(displaced - w_i)


def component_functions() -> tuple[Function, ...]:
    """Return the functions for the elastic part of a sample, by component, at any number of
    tokens.
    """
    component = (x_i, w_i, stiffness)
    return (
        scalar(
            "component_energy",
            "elastic energy of a whitened component",
            component,
            "E_i",
            component_energy(),
        ),
        scalar("component_dual", "its slope, the dual field", component, "f_i", component_dual()),
        scalar(
            "component_displacement",
            "displacement of a component from its dual field",
            (f_i, stiffness),
            "x_i-w_i",
            component_displacement(),
        ),
    )


def step(model: Model) -> Step:
    """Return the step for one softmax row at any number of tokens."""
    curvature = loss_curvature()
    check_against_explicit_rows()
    variances = {
        "diagonal": sp.sympify(model.index.variance((0, 0))),
        "offdiagonal": sp.sympify(model.index.variance((0, 1))),
        "antisymmetric": sp.sympify(antisymmetric_variance(model.index)),
    }
    entries = (s_k, e_k, s_l, e_l, row_se, row_ss, beta)
    return Step(
        "softmax_row",
        "Softmax row of any length",
        r"With $s_k$ the softmax of a row and $e_k=s_k-y_k$, derivatives by the index act as "
        r"$\partial_l s_k=\partial_l e_k=\beta s_k(\delta_{kl}-s_l)$ and close on $s_k$, $e_k$ and "
        r"the power sums "
        r"$\sum_c s_ce_c$, $\sum_c s_c^2$; checked against written-out rows of 2 and 3 tokens. In "
        r"whitened components the elastic "
        r"energy is a sum.",
        (
            Display("E_i", component_energy()),
            Display(r"\partial_k\ell", loss_slope()),
            Display(r"\partial_k\partial_l\ell\;(l\ne k)", curvature.smooth),
        ),
        (
            *component_functions(),
            scalar(
                "row_slope",
                "slope of a row's loss in h_k",
                (s_k, e_k, row_se, beta),
                r"\partial_k\ell",
                loss_slope(),
            ),
            scalar(
                "row_curvature",
                "its slope in h_l, l not k",
                entries,
                r"\partial_k\partial_l\ell",
                curvature.smooth,
            ),
            scalar(
                "row_curvature_local",
                "added to row_curvature where l = k",
                (s_k, e_k, row_se, beta),
                r"\delta_{kl}",
                curvature.local,
            ),
            scalar(
                "row_label_slope",
                "change of row_slope with index l of the target, l not k, through the label",
                (s_k, s_l, y_k, y_l, row_sy, beta, beta0),
                r"\partial_{z_l}\partial_k\ell",
                label_slope().smooth,
            ),
            scalar(
                "row_label_slope_local",
                "added to row_label_slope where l = k",
                (s_k, y_k, beta, beta0),
                r"\delta_{kl}",
                label_slope().local,
            ),
            scalar(
                "least_row_curvature",
                "most negative curvature of a row's loss along a unit vector of indices at beta = "
                "1",
                (),
                r"\min\partial^2\ell",
                least_curvature(),
            ),
            Function(
                "index_variances",
                "variances per unit of overlap: diagonal and off-diagonal symmetric index, "
                "antisymmetric index",
                (),
                outputs(variances, r"\text{{{}}}"),
            ),
        ),
    )
