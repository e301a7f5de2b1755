"""Direct training of the attention matrix: Frobenius penalty lambda d ||A||^2 instead of the trace
(theory note, section 6).

The prior becomes a quadratic form, without positivity and without threshold. The antisymmetric part
of a general A has no target and obeys the same equations with m = mh = q0 = 0, which is checked.
"""

from functools import cache

import sympy as sp

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, outputs, require_zero, scalar
from derive.passes.free_entropy.prior import Denoiser, shrinkage
from derive.passes.free_entropy.replicas import coupling_term
from derive.passes.free_entropy.saddle_point import solve_for_order_parameters

alpha, lambda_, M, m, q, V, mh, qh, Vh, q0, v, c, g = sym("alpha lambda_ M m q V mh qh Vh q0 v c g")


def noisy_second_moment(model: Model) -> sp.Expr:
    """Return the second moment of mu_v: free cumulants add, and the semicircle has only the second
    one.
    """
    target = model.target
    cumulants = sp.series(target.r_transform.subs(target.g, g) + v * g, g, 0, 2).removeO()
    mean, variance = cumulants.coeff(g, 0), cumulants.coeff(g, 1)
    without_noise = (mean**2 + variance).subs(v, 0)
    return q0 + sp.cancel(mean**2 + variance - without_noise)


def denoiser() -> Denoiser:
    """Return the scalar problem of the prior: without positivity the penalty shrinks every
    eigenvalue by the same factor.
    """
    s = sp.Symbol("s", real=True)
    found = shrinkage(lambda_ * s**2, s, Kind.SYMMETRIC)
    require_zero(found.threshold, "the Frobenius penalty sets no threshold")
    return found


@cache
def prior(model: Model) -> sp.Expr:
    """Return Psi of direct training for symmetric A."""
    return sp.factor(denoiser().prefactor * noisy_second_moment(model).subs(v, denoiser().variance))


def antisymmetric_sensing_variance() -> sp.Expr:
    """Return the entry variance (times d) of the antisymmetric Gaussian Z with Var tr(Z^T K) = tr
    K^T K/d, from 3 x 3 matrices.
    """
    size, omega = 3, sp.Symbol("omega", positive=True)
    entries = [sp.Symbol(f"K{i}{j}") for i in range(size) for j in range(i + 1, size)]
    variance = sum(omega * (2 * entry) ** 2 for entry in entries)
    norm = sum(2 * entry**2 for entry in entries)
    (solution,) = sp.solve(sp.Poly(variance - norm, *entries).coeffs(), omega).values()
    return solution


def antisymmetric_prior() -> sp.Expr:
    """Return Psi of the antisymmetric part; each entry of the Gaussian field is shrunk
    independently.
    """
    s, field = sp.symbols("s z", real=True)
    energy = sp.expand(-Vh * s**2 / 2 + field * s - lambda_ * s**2)
    (best,) = sp.solve(sp.diff(energy, s), s)
    per_square = sp.cancel(energy.subs(s, best) / field**2)
    return per_square * qh * antisymmetric_sensing_variance()


def order_parameters(model: Model) -> dict[sp.Symbol, sp.Expr]:
    """Return m, q, V from stationarity in the conjugates."""
    return solve_for_order_parameters(coupling_term() - prior(model))


def step(model: Model) -> Step:
    """Return the step of direct training."""
    psi, order = prior(model), order_parameters(model)
    require_zero(
        psi.subs({mh: 0, q0: 0}) - antisymmetric_prior(),
        "antisymmetric part: the symmetric prior without target",
    )
    gain = sp.cancel(denoiser().gain / order[V]) * V
    return Step(
        "direct_training",
        "Direct training with a Frobenius penalty",
        r"Replacing the trace by $\lambda d\|A\|_F^2$ over symmetric $A$ makes the prior "
        r"quadratic: $A=cY$ with no threshold. "
        r"The antisymmetric part of a general $A$ adds $T(T-1)/2$ independent indices without "
        r"target. If tokens have a covariance, an entry of the whitened matrix in the eigenvectors "
        r"of $C$ has the penalty $\lambda/(c_ic_j)$; values below are averages over entries.",
        (Display(r"\Psi_F(\hat m,\hat q,\hat V)", prior(model)),),
        (
            Function(
                "direct_overlaps",
                "order parameters, square of V and prior part of the free entropy of direct "
                "training; the antisymmetric part has mh = 0",
                (mh, qh, Vh, lambda_, q0),
                (
                    *outputs({name: sp.factor(order[name]) for name in (m, q, V)}),
                    Output("V_squared", "V^2", sp.factor(order[V] ** 2)),
                    Output("prior", r"\Psi_F", psi),
                ),
            ),
            Function(
                "direct_denoising",
                "semicircle variance and gain of the spectral problem: A = c Y",
                (mh, qh, V),
                outputs({v: denoiser().variance, c: gain}),
            ),
            scalar(
                "direct_free_entropy",
                "free entropy of direct training at its order parameters, without the prior part",
                (alpha, M, m, q, V, mh, qh, Vh),
                r"e+\Psi_F",
                alpha * M + coupling_term(),
            ),
        ),
    )
