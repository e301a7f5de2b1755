"""Channel average at two tokens: visible part of the index, and Moreau energy of one sample.

See the theory note, section 3. The softmax depends on the symmetric 2 x 2 index only through u =
(h11 - h12, h22 - h12).
"""

from functools import cache

import sympy as sp

from derive.language.elementary import Logistic, expand_custom_functions
from derive.language.index import Index
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, outputs, require_zero, scalar
from derive.passes.channel import envelope_derivatives
from derive.passes.channel.token_norms import axis_shares
from derive.passes.free_entropy.replicas import envelope_energy
from derive.passes.softmax.label_numbers import difference_map
from derive.passes.softmax.square_loss import entry_loss

m, q, V, rho, beta, beta0 = sym("m q V rho beta beta0")
u1, u2, w1, w2, p1, p2, f1, f2 = sym("u1 u2 w1 w2 p1 p2 f1 f2")
s1, s2 = sp.symbols("s1 s2")  # first softmax entries of the student's rows, functions of u1 and u2
H11, H12, H22, tr_H = sym("H11 H12 H22 tr_H")
train, R, F1, F2, q0, e_k = sym("train R F1 F2 q0 e_k")
U = sp.Matrix([u1, u2])
W = sp.Matrix([w1, w2])


def visible_map() -> sp.Matrix:
    """Return A in u = A (h11, h12, h22) at two tokens."""
    return -difference_map(2)


def index_covariance(index: Index) -> sp.Matrix:
    """Return the covariance per unit of (h11, h12, h22)."""
    return sp.diag(*(index.variance(entry) for entry in index.entries))


@cache
def visible_covariance(index: Index) -> sp.Matrix:
    """Return the covariance per unit of u.

    Minimising over the invisible shift leaves the quadratic form of its inverse, which is checked.
    """
    A, C = visible_map(), index_covariance(index)
    sigma = A * C * A.T
    shift = sp.Symbol("h12")
    h = sp.Matrix([u1 + shift, shift, u2 + shift])
    w = sp.Matrix([w1, 0, w2])
    energy = ((h - w).T * C.inv() * (h - w))[0]
    (best,) = sp.solve(sp.diff(energy, shift), shift)
    require_zero(
        energy.subs(shift, best) - ((U - W).T * sigma.inv() * (U - W))[0],
        "elimination of the invisible shift",
    )
    return sigma.as_immutable()


def principal_axes(index: Index) -> sp.Matrix:
    """Return L with L L^T = Sigma, whose columns are along the eigenvectors of Sigma."""
    columns = []
    for value, _, (vector,) in sorted(
        visible_covariance(index).eigenvects(), key=lambda item: -item[0]
    ):
        vector = vector / vector[0]
        columns.append(vector * sp.sqrt(value / (vector.T * vector)[0]))
    axes = sp.Matrix.hstack(*columns)
    require_zero(
        sum((axes * axes.T - visible_covariance(index)).applyfunc(sp.Abs)), "principal axes"
    )
    return axes


@cache
def first_softmax_entry(temperature: sp.Expr, u: sp.Expr) -> sp.Expr:
    """Return the first entry of the two-token softmax of a row with difference u, as a logistic
    function that cannot overflow.

    Args:
        temperature: inverse temperature.
        u: difference of the two indices.
    """
    x = temperature * u
    entry = Logistic(x)
    value, row = expand_custom_functions(entry), sp.exp(x) / (sp.exp(x) + 1)
    require_zero(sp.simplify(value - row), "softmax of two tokens is logistic")
    require_zero(
        sp.simplify(sp.diff(value, u) - temperature * value * (1 - value)),
        "slope of a softmax entry in itself",
    )
    return entry


def loss() -> sp.Expr:
    """Return the square loss of both rows and both columns."""
    total = sp.Integer(0)
    for label, predicted in ((p1, s1), (p2, s2)):
        columns = ((predicted, label), (1 - predicted, 1 - label))
        total += sp.factor(sp.expand(sum(entry_loss().subs(e_k, s - y) for s, y in columns)))
    return total


@cache
def compact_loss() -> sp.Expr:
    """Return the loss as 2 sum (p - s)^2 in the softmax entries s, which is checked to equal the
    sum over all entries.
    """
    compact = sum(2 * (label - predicted) ** 2 for label, predicted in ((p1, s1), (p2, s2)))
    require_zero(compact - loss(), "both columns of a row carry the same residual")
    return sp.sympify(compact)


def in_indices(expression: sp.Expr) -> sp.Expr:
    """Return the expression with the softmax entries as functions of the indices u."""
    return expression.subs({s1: first_softmax_entry(beta, u1), s2: first_softmax_entry(beta, u2)})


def slope(expression: sp.Expr, u: sp.Expr) -> sp.Expr:
    """Return the derivative in u1 or u2, in terms of the softmax entries.

    All derivatives of a row then need one elementary function.

    Args:
        expression: expression in the softmax entries.
        u: u1 or u2.
    """
    entry = {u1: s1, u2: s2}[u]
    return sp.diff(expression, u) + sp.diff(expression, entry) * beta * entry * (1 - entry)


def elastic_energy(index: Index) -> sp.Expr:
    """Return the elastic part of the Moreau energy: the replica result per unit variance, in the
    metric of the visible index.
    """
    per_unit = envelope_energy(sp.Integer(1))
    require_zero(per_unit - 1 / (2 * V), "stiffness of the Moreau energy")
    return per_unit * _displacement_form(index)


def _displacement_form(index: Index) -> sp.Expr:
    """Return the elastic form in terms of displacements u - w, which does not lose digits if u is
    close to w.
    """
    precision = visible_covariance(index).inv()
    e1, e2 = u1 - w1, u2 - w2
    return precision[0, 0] * e1**2 + 2 * precision[0, 1] * e1 * e2 + precision[1, 1] * e2**2


@cache
def sample_functions(index: Index) -> tuple[Function, ...]:
    """Return the functions for loss and Moreau energy of one sample, with first and second
    derivatives in u.
    """
    loss_value = compact_loss()
    energy = elastic_energy(index) + loss_value
    dual = visible_covariance(index).inv() * (U - W) / V
    sample, fit = (u1, u2, w1, w2, p1, p2, V, beta), (u1, u2, p1, p2, beta)

    def gradient(expression: sp.Expr) -> tuple[Output, ...]:
        slopes = {k: in_indices(slope(expression, u)) for k, u in (("1", u1), ("2", u2))}
        return outputs(slopes, r"\partial_{{{}}}", "d{}")

    def hessian(expression: sp.Expr) -> tuple[Output, ...]:
        pairs = (("11", u1, u1), ("12", u1, u2), ("22", u2, u2))
        slopes = {k: in_indices(slope(slope(expression, a), c)) for k, a, c in pairs}
        return outputs(slopes, r"\partial_{{{}}}", "d{}")

    return (
        scalar(
            "label",
            "first softmax entry of a row with difference u1",
            (u1, beta),
            "p",
            first_softmax_entry(beta, u1),
        ),
        scalar("sample_loss", "square loss of one sample", fit, r"\ell", in_indices(loss_value)),
        Function("loss_gradient", "gradient of the loss in u", fit, gradient(loss_value)),
        Function("loss_hessian", "second derivatives of the loss in u", fit, hessian(loss_value)),
        scalar("sample_energy", "Moreau energy of one sample", sample, "E", in_indices(energy)),
        Function("sample_gradient", "gradient of the Moreau energy in u", sample, gradient(energy)),
        Function(
            "sample_hessian",
            "second derivatives of the Moreau energy in u",
            sample,
            hessian(energy),
        ),
        scalar(
            "elastic_energy",
            "(u - w)^T Sigma^-1 (u - w)",
            (u1, u2, w1, w2),
            "R",
            _displacement_form(index),
        ),
        Function(
            "dual_field",
            "f = Sigma^-1 (u - w)/V",
            (u1, u2, w1, w2, V),
            outputs({f1: sp.factor(dual[0]), f2: sp.factor(dual[1])}),
        ),
    )


def average_functions(model: Model) -> tuple[Function, ...]:
    """Return the functions for the Gaussian indices of samples, and for quadratic forms in
    averages.
    """
    sigma, axes, noise = (
        visible_covariance(model.index),
        principal_axes(model.index),
        model.channel.noise,
    )
    dual, curvature = sp.Matrix([f1, f2]), sp.Matrix([[H11, H12], [H12, H22]])

    return (
        scalar(
            "noisy_variance",
            "variance per unit of the noisy target index",
            (q0, *model.channel.noise_settings),
            r"\rho",
            q0 + noise,
        ),
        Function(
            "principal_axes",
            "rows of L, L L^T the covariance of the visible index per unit",
            (),
            outputs(dict(zip(("11", "12", "21", "22"), axes, strict=True)), "L_{{{}}}", "L{}"),
        ),
        Function(
            "axis_norm_shares",
            "share of scores of a token with itself along each column of L",
            (),
            outputs(
                dict(zip("12", axis_shares(axes, visible_map(), model.index), strict=True)),
                "s_{{{}}}",
                "s{}",
            ),
        ),
        scalar("dual_energy", "f^T Sigma f", (f1, f2), "R", sp.expand((dual.T * sigma * dual)[0])),
        scalar(
            "curvature_trace",
            "tr Sigma H",
            (H11, H12, H22),
            r"\operatorname{tr}\Sigma H",
            sp.expand((sigma * curvature).trace()),
        ),
        scalar(
            "pair_response",
            "square of the dual field's response to its field, tr (Sigma df/dw)^2",
            (H11, H12, H22, V),
            "F",
            _squared_response(sigma, curvature),
        ),
    )


def _squared_response(sigma: sp.Matrix, curvature: sp.Matrix) -> sp.Expr:
    """Return the squared response from the invariants of X = Sigma H.

    df/dw = -(1 + V H Sigma)^-1 H has eigenvalues -x/(1 + V x) in whitened components.
    """
    trace, determinant = sp.symbols("trace determinant")
    sizes = 1 + V * trace + V**2 * determinant
    total, product = (trace + 2 * V * determinant) / sizes, determinant / sizes
    found = (total**2 - 2 * product).subs(
        {trace: (sigma * curvature).trace(), determinant: (sigma * curvature).det()}
    )
    screening = sp.eye(2) + V * sigma * curvature
    squared = (screening.adjugate() * sigma * curvature) ** 2
    require_zero(
        found - squared.trace() / screening.det() ** 2,
        "the response of a pair by trace and determinant",
    )
    return found


def step(model: Model) -> Step:
    """Return the step of the channel at two tokens."""
    return Step(
        "two_tokens",
        "Channel at two tokens",
        r"A constant added to all entries of the index is invisible to the softmax and is "
        r"minimised out. What remains is the "
        r"pair $u=(h_{11}-h_{12},h_{22}-h_{12})$ with covariance $\Sigma$ per unit, and a logistic "
        r"label per row.",
        (
            Display(r"\Sigma", visible_covariance(model.index)),
            Display(r"\ell(u,p)", in_indices(compact_loss())),
        ),
        (
            *sample_functions(model.index),
            *average_functions(model),
            *envelope_derivatives.functions(),
        ),
    )
