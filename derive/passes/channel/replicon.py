"""Stability against replica symmetry breaking: the replicon eigenvalue (theory note, end of section
3).

Consider a perturbation of the fields w, independent for each sample, with covariance C dq. It
perturbs f, and through f the field on S. The denoiser then turns the field into a new perturbation
of S. Replica symmetry is stable if the perturbation shrinks in one such round. The two parts of a
general matrix perturb each other; then the growth is a matrix, and its largest eigenvalue decides.
"""

import sympy as sp

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Step, require_zero, scalar
from derive.passes.channel.envelope_derivatives import average_derivatives
from derive.passes.free_entropy import direct_training as direct
from derive.passes.free_entropy.prior import sensing_variance
from derive.passes.free_entropy.saddle_point import stationarity

alpha, q, V, qh, Vh, M_V, R, F, DD, c, mh, q0 = sym("alpha q V qh Vh M_V R F DD c mh q0")
F_ss, F_sa, F_as, F_aa, V_a = sym("F_ss F_sa F_as F_aa V_a")


def field_growth(model: Model) -> sp.Expr:
    """Return d qh/d q: qh is alpha times E f^T C f, a quadratic form in f, so that its perturbation
    is alpha F per unit dq.
    """
    dual_energy = sp.Symbol("dual_energy")  # E f^T C f = R/V^2
    qh_of = (
        stationarity(model)[qh].subs(M_V, average_derivatives()["M_V"]).subs(R, V**2 * dual_energy)
    )
    return sp.diff(qh_of, dual_energy) * F


def denoiser_growth(kind: Kind) -> sp.Expr:
    """Return d q/d qh: in the eigenbasis of Y, the entries of S move by c/mh DD(x, y) times those
    of the field.
    """
    return (c / mh) ** 2 * DD * sensing_variance(kind)


def growth(model: Model) -> sp.Expr:
    """Return the growth of a perturbation in one round."""
    return field_growth(model) * denoiser_growth(model.matrix.kind)


def direct_growth(model: Model) -> sp.Expr:
    """Return d q/d qh of direct training in terms of V; the antisymmetric part has the same, with
    mh = q0 = 0.

    The shrinkage is linear, so that this is `denoiser_growth` at DD = 1.
    """
    order = direct.order_parameters(model)
    response = sp.Symbol("response", positive=True)  # V, treated as a function of Vh
    (stiffness,) = sp.solve(order[V] - response, Vh)
    found = sp.cancel(sp.diff(order[q], qh).subs(Vh, stiffness))
    require_zero(
        sp.diff(found, mh) + sp.diff(found, q0), "the response of direct training knows no target"
    )
    linear = (
        denoiser_growth(Kind.SYMMETRIC)
        .subs(DD, 1)
        .subs(c, direct.denoiser().gain)
        .subs(Vh, stiffness)
    )
    require_zero(found - linear, "direct training shrinks linearly")
    return found.subs(response, V)


def general_growth(model: Model) -> sp.Matrix:
    """Return the growth of perturbations of the symmetric and the antisymmetric part of a general
    matrix.

    Each row belongs to one part that responds. Fields of either part perturb both dual fields, and
    the estimator turns each dual field into a perturbation of its own part.
    """
    by_field = sp.Matrix([[F_ss, F_sa], [F_as, F_aa]]).applyfunc(
        lambda response: field_growth(model).subs(F, response)
    )
    return sp.diag(direct_growth(model), direct_growth(model).subs(V, V_a)) * by_field


def largest_eigenvalue(matrix: sp.Matrix) -> sp.Expr:
    """Return the largest eigenvalue of a 2 x 2 matrix without negative entries; its eigenvalues are
    real.
    """
    half_trace = matrix.trace() / 2
    half_gap = (matrix[0, 0] - matrix[1, 1]) / 2
    value = half_trace + sp.sqrt(half_gap**2 + matrix[0, 1] * matrix[1, 0])
    require_zero(
        (matrix - value * sp.eye(2)).det(), "the eigenvalue solves the characteristic equation"
    )
    return value


def step(model: Model) -> Step:
    """Return the step of the replicon eigenvalue."""
    value = 1 - growth(model)
    matrix = general_growth(model)
    return Step(
        "stability",
        "Stability of the replica-symmetric solution",
        r"Independent perturbations of the fields of all samples grow by $\alpha F$ in the "
        r"channel, "
        r"$F=\mathbb E\|C^{1/2}\partial_wf\,C^{1/2}\|^2$, and by $(c/\hat m)^2\langle "
        r"DD^2\rangle/2$ in the denoiser, "
        r"$DD$ the divided difference of the shrinkage over its gain. The solution is stable while "
        r"their product is below one. "
        r"The two parts of a general matrix $A$ perturb each other: $\Lambda_A$ is one minus the "
        r"largest eigenvalue of $G$.",
        (
            Display(r"\Lambda", value),
            *(
                Display(f"G_{{{i}{j}}}", matrix["sa".index(i), "sa".index(j)])
                for i in "sa"
                for j in "sa"
            ),
        ),
        (
            scalar(
                "replicon",
                "replicon eigenvalue; negative: replica symmetry is broken",
                (alpha, F, DD, c, mh),
                r"\Lambda",
                value,
            ),
            scalar(
                "general_replicon",
                "replicon eigenvalue of a general matrix trained directly",
                (alpha, F_ss, F_sa, F_as, F_aa, V, V_a),
                r"\Lambda_A",
                1 - largest_eigenvalue(matrix),
            ),
        ),
    )
