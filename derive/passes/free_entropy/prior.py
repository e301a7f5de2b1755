"""Prior: denoising of a matrix, which shrinks the eigenvalues of Y = S0 + delta G above a threshold (theory note, section 2)."""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import require_zero
from derive.passes.free_entropy.replicas import TEMPERATURE, conjugates, zero_temperature

mh, x = sym("mh x")


class Denoiser(NamedTuple):
    """Scalar problem of the prior at one eigenvalue x of Y = S0 + noise.

    The maximiser is gain (x - threshold)_+, the maximum prefactor (x - threshold)_+^2; `variance` is that of the
    semicircle which the noise adds to the target law.
    """

    gain: sp.Expr
    threshold: sp.Expr
    prefactor: sp.Expr
    variance: sp.Expr


@cache
def sensing_variance() -> sp.Expr:
    """Off-diagonal entry variance (times d) of the symmetric Gaussian Z for which Var tr(Z S) = tr S^2/d.

    Solved on an explicit 3 x 3 matrix with diagonal variance twice the off-diagonal one.
    """
    size, omega = 3, sp.Symbol("omega", positive=True)
    S = sp.Matrix(size, size, lambda i, j: sp.Symbol(f"S{min(i, j)}{max(i, j)}"))
    diagonal = sum(2 * omega * S[i, i] ** 2 for i in range(size))
    offdiagonal = sum(omega * (2 * S[i, j]) ** 2 for i in range(size) for j in range(i + 1, size))
    (solution,) = sp.solve(
        sp.Poly(diagonal + offdiagonal - (S * S).trace(), *sorted(S.free_symbols, key=str)).coeffs(), omega
    ).values()
    return solution


@cache
def denoiser(model: Model) -> Denoiser:
    """Prior of the model's penalty on the cone s >= 0."""
    s = sp.Symbol("s", nonnegative=True)
    return shrinkage(model.penalty.cost.subs(model.penalty.eigenvalue, s), s)


def shrinkage(cost: sp.Expr, s: sp.Symbol) -> Denoiser:
    """Zero-temperature prior: -Vh s^2/2 + mh s x - cost(s), maximised over the domain of s, at an eigenvalue x of Y.

    Qh splits into -Vh/tau on the diagonal (confinement) and qh/tau^2 everywhere, which a symmetric Gaussian matrix Z
    with Var tr(Z S) = tr S^2/d decouples: the field on S is mh S0 + sqrt(qh) Z = mh Y.
    """
    confinement = zero_temperature(conjugates().diagonal - conjugates().offdiagonal)
    field_variance = sp.cancel(TEMPERATURE**2 * conjugates().offdiagonal)
    energy = confinement * s**2 / 2 + mh * s * x - cost
    (best,) = sp.solve(sp.diff(energy, s), s)
    threshold = sp.solve(best, x)[0]
    gain = sp.diff(best, x)
    require_zero(best - gain * (x - threshold), "shrinkage is gain times the excess over a threshold")
    prefactor = sp.cancel(energy.subs(s, best) / (x - threshold) ** 2)
    return Denoiser(gain, threshold, prefactor, field_variance * sensing_variance() / mh**2)
