"""Leading features kept exactly: their indices are products of Gaussians, not Gaussian (theory note, section 10).

A feature of weight w whose index on a sequence keeps its own law enters the channel by the part l = u^T S u that the student has of
it, beside the overlaps of all that is left. Its conjugate acts on the student as an eigenvalue of the target does: the prior is that
of a target in which the feature has another strength.
"""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Step, scalar
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.replicas import coupling_term

alpha, M_m, M_q, M_l, m, q = sym("alpha M_m M_q M_l m q")
mh, Vh, J_s, s, weight, learned, c = sym("mh Vh J_s s weight learned c")


def coupling() -> sp.Expr:
    """Order parameters times conjugates: m is the overlap of the rest, and the feature of strength s pulls as the target does."""
    return coupling_term().subs(m, m + weight * s * learned)


def strength() -> sp.Expr:
    """The eigenvalue that the prior sees in place of the feature's own, from stationarity in m and l at fixed q = tr S^2/d.

    Of the envelope only the slopes enter: by the overlaps m and q - w l^2 of the rest, and by l.
    """
    channel = alpha * (M_m * m + M_q * (q - weight * learned**2) + M_l * learned)
    by_rest, by_learned = (sp.diff(channel + coupling(), variable) for variable in (m, learned))
    (conjugate,), (found,) = sp.solve(by_rest, mh), sp.solve(by_learned, s)
    return sp.factor(found.subs(mh, conjugate))


def overlap(model: Model) -> sp.Expr:
    """What the student has of the feature, from stationarity in its strength."""
    prior = denoiser(model).prefactor * J_s
    (found,) = sp.solve(sp.diff(coupling(), s) - prior, learned)
    return sp.cancel(found.subs(Vh, mh / c))


def steps(model: Model) -> tuple[Step, ...]:
    """Features that are not Gaussian."""
    return (
        Step(
            "leading_features",
            "Leading features kept exactly",
            r"The channel knows a leading feature by $\ell=u^\top Su$, the rest by $m$ and $q-w\ell^2$. Stationarity in $\ell$ gives "
            r"the strength with which the prior sees the feature, stationarity in the strength gives $\ell$.",
            (Display("s", strength()), Display(r"\ell", overlap(model))),
            (
                scalar(
                    "leading_strength",
                    "eigenvalue of the target that the prior sees in place of a leading feature",
                    (M_m, M_q, M_l, learned, weight),
                    "s",
                    strength(),
                ),
                scalar(
                    "leading_overlap",
                    "part of the student along a leading feature",
                    (c, J_s, weight),
                    r"\ell",
                    overlap(model),
                ),
            ),
        ),
    )
