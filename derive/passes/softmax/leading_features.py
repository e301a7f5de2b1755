"""Leading features treated exactly: their indices are products of Gaussians, and not Gaussian
(theory note, section 10).

A feature of weight w whose index keeps its exact law enters the channel by the student's part l =
u^T S u of it, in addition to the overlaps of everything else. The conjugate of l acts on the
student like an eigenvalue of the target does. Therefore the prior is that of a target in which the
feature has another strength.
"""

from functools import cache

import sympy as sp

from derive.language.index import Index
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Step, outputs, require_zero, scalar
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.replicas import coupling_term

alpha, M_m, M_q, M_l, F_l, m, q, rho = sym("alpha M_m M_q M_l F_l m q rho")
mh, Vh, J_s, s, strength, weight, learned, c = sym("mh Vh J_s s strength weight learned c")
z_a, z_b, delta_ab = sym("z_a z_b delta_ab")


def feature_index(index: Index) -> sp.Expr:
    """Return the index of a feature, x_a^T S x_b - delta_ab tr S for S = u u^T.

    Its mean is checked to be zero, and its variances to be those of the model's index.
    """
    product = z_a * z_b - delta_ab
    for same, other in ((1, z_a), (0, z_b)):
        value = product.subs({delta_ab: same, z_b: other})
        require_zero(_gaussian_mean(value), "mean of the index of a feature")
        variance = _gaussian_mean(value**2)
        require_zero(
            variance - index.variance((0, 1 - same)), "variance per unit of the index of a feature"
        )
    return product


def _gaussian_mean(polynomial: sp.Expr) -> sp.Expr:
    """Return the mean over independent standard Gaussians z_a, z_b."""
    return sp.Add(
        *(
            coefficient * sp.factorial2(a - 1) * sp.factorial2(b - 1)
            for (a, b), coefficient in sp.Poly(polynomial, z_a, z_b).terms()
            if a % 2 == b % 2 == 0
        )
    )


@cache
def index_coefficient(part: sp.Expr) -> sp.Expr:
    """Return the coefficient of the feature's index in the index of a matrix with part u^T S u of
    it; w part^2 is its part of tr S^2/d.
    """
    coefficient = sp.Symbol("coefficient", positive=True)
    (found,) = sp.solve(coefficient**2 - weight * part**2, coefficient)
    return found


def overlaps() -> dict[sp.Symbol, sp.Expr]:
    """Return the feature's parts of m, q and rho: covariances, per unit, of its contributions to
    the indices of student and target.
    """
    student, target = index_coefficient(learned), index_coefficient(s)
    return {m: student * target, q: student**2, rho: target**2}


def envelope_slope() -> sp.Expr:
    """Return M_l at fixed overlaps of the rest: the student's field moves with l, and the envelope
    by minus the dual field times that.
    """
    return -F_l * sp.diff(index_coefficient(learned), learned)


def coupling() -> sp.Expr:
    """Return order parameters times conjugates: m is the overlap of the rest, and a feature of this
    strength pulls like the target.
    """
    return coupling_term().subs(m, m + overlaps()[m].subs(s, strength))


def effective_strength() -> sp.Expr:
    """Return the eigenvalue that replaces the feature's eigenvalue in the prior, from stationarity
    in m and l at fixed q = tr S^2/d.

    Only the derivatives of the envelope enter: by the overlaps m and q - w l^2 of the rest, and by
    l. For a Gaussian index M_l follows from the overlaps alone, and the eigenvalue is not changed.
    """
    channel = alpha * (M_m * m + M_q * (q - overlaps()[q]) + M_l * learned)
    by_rest, by_learned = (sp.diff(channel + coupling(), variable) for variable in (m, learned))
    (conjugate,), (found,) = sp.solve(by_rest, mh), sp.solve(by_learned, strength)
    found = sp.factor(found.subs(mh, conjugate))
    gaussian = sum(
        slope * sp.diff(overlaps()[order], learned) for order, slope in ((m, M_m), (q, M_q))
    )
    require_zero(
        found.subs(M_l, gaussian) - s, "a feature with a Gaussian index has its strength unchanged"
    )
    return found


def learned_overlap(model: Model) -> sp.Expr:
    """Return the student's part of the feature, from stationarity in its strength."""
    prior = denoiser(model).prefactor * J_s
    (found,) = sp.solve(sp.diff(coupling(), strength) - prior, learned)
    return sp.cancel(found.subs(Vh, sp.solve(denoiser(model).gain - c, Vh)[0]))


def overlap_difference() -> sp.Expr:
    """Return the difference between m with the feature and the overlap from the prior.

    By stationarity in mh, the prior gives the overlap with the target whose eigenvalue is replaced.
    """
    seen = sp.diff(coupling(), mh)
    return sp.factor(m + overlaps()[m] - seen)


def step(model: Model) -> Step:
    """Return the step for features that are not Gaussian."""
    return Step(
        "leading_features",
        "Leading features treated exactly",
        r"The index of a feature is $z_az_b-\delta_{ab}$, its coefficient $\sqrt w\,\ell$ in the "
        r"student and $\sqrt w\,s_0$ in the "
        r"target. The channel knows the feature by $\ell=u^\top Su$, the rest by $m-ws_0\ell$ and "
        r"$q-w\ell^2$. Stationarity in "
        r"$\ell$ gives the strength $a$ with which the prior sees the feature, stationarity in the "
        r"strength gives $\ell$; the "
        r"prior's overlap refers to this target.",
        (
            Display(r"M_\ell", envelope_slope()),
            Display("a", effective_strength()),
            Display(r"\ell", learned_overlap(model)),
            Display(r"m-m_{\rm seen}", overlap_difference()),
        ),
        (
            scalar(
                "feature_index",
                "index of a feature of unit coefficient on tokens a and b",
                (z_a, z_b, delta_ab),
                r"h_{ab}",
                feature_index(model.index),
            ),
            scalar(
                "leading_share",
                "coefficient of a feature's index in the index of a matrix that contains the "
                "feature with this strength",
                (learned, weight),
                r"\sqrt{w}\,\ell",
                index_coefficient(learned),
            ),
            Function(
                "leading_parts",
                "what a feature of the target adds to m, q and rho",
                (learned, s, weight),
                outputs(overlaps(), r"\Delta {}"),
            ),
            scalar(
                "leading_slope",
                "slope of M by the part learned, at fixed overlaps of the rest",
                (F_l, weight),
                r"M_\ell",
                envelope_slope(),
            ),
            scalar(
                "leading_strength",
                "eigenvalue of the target that the prior sees in place of a leading feature",
                (M_m, M_q, M_l, learned, weight),
                "a",
                effective_strength(),
            ),
            scalar(
                "leading_overlap",
                "part of the student along a leading feature",
                (c, J_s, weight),
                r"\ell",
                learned_overlap(model),
            ),
            scalar(
                "unseen_overlap",
                "what m exceeds the overlap with the target as the prior sees it, by one feature",
                (learned, s, strength, weight),
                r"m-m_{\rm seen}",
                overlap_difference(),
            ),
        ),
    )
