"""Stability against replica symmetry breaking: the replicon eigenvalue (theory note, end of section 3).

A perturbation of the fields w, independent from sample to sample, of covariance C dq perturbs f and with it the field on S; the
denoiser turns that into a new perturbation of S. Replica symmetry is stable if the perturbation shrinks in one round.
"""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Step, scalar
from derive.passes.channel.two_tokens import average_derivatives
from derive.passes.free_entropy.prior import sensing_variance
from derive.passes.free_entropy.saddle_point import stationarity

alpha, V, qh, M_V, R, F, DD, c, mh = sym("alpha V qh M_V R F DD c mh")


def field_growth(model: Model) -> sp.Expr:
    """D qh/d q: qh is alpha times E f^T C f, a quadratic form in f, so that its perturbation is alpha F per unit dq."""
    dual_energy = sp.Symbol("dual_energy")  # E f^T C f = R/V^2
    qh_of = stationarity(model)[qh].subs(M_V, average_derivatives()["M_V"]).subs(R, V**2 * dual_energy)
    return sp.diff(qh_of, dual_energy) * F


def denoiser_growth() -> sp.Expr:
    """D q/d qh: in the eigenbasis of Y the entries of S move by c/mh DD(x, y) times those of the field."""
    return (c / mh) ** 2 * DD * sensing_variance()


def growth(model: Model) -> sp.Expr:
    """Growth of a perturbation in one round."""
    return field_growth(model) * denoiser_growth()


def steps(model: Model) -> tuple[Step, ...]:
    """The replicon eigenvalue."""
    round_trip = growth(model)
    value = 1 - round_trip
    return (
        Step(
            "stability",
            "Stability of the replica-symmetric solution",
            r"Independent perturbations of the fields of all samples grow by $\alpha F$ in the channel, "
            r"$F=\mathbb E\|C^{1/2}\partial_wf\,C^{1/2}\|^2$, and by $(c/\hat m)^2\langle DD^2\rangle/2$ in the denoiser, "
            r"$DD$ the divided difference of the shrinkage over its gain. The solution is stable while their product is below one.",
            (Display(r"\Lambda", value),),
            (
                scalar(
                    "replicon_growth",
                    "growth of an independent perturbation in one round",
                    (alpha, F, DD, c, mh),
                    r"1-\Lambda",
                    round_trip,
                ),
                scalar(
                    "replicon",
                    "replicon eigenvalue; negative: replica symmetry is broken",
                    (alpha, F, DD, c, mh),
                    r"\Lambda",
                    value,
                ),
            ),
        ),
    )
