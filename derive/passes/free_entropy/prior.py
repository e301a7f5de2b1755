"""Prior: denoising of a matrix, which shrinks the eigenvalues of Y = S0 + delta G above a threshold
(theory note, section 2).
"""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import require_zero
from derive.passes.free_entropy.replicas import TEMPERATURE, conjugates, zero_temperature

mh, x = sym("mh x")


class Denoiser(NamedTuple):
    """Scalar problem of the prior at one eigenvalue x of Y = S0 + noise.

    The maximiser is gain (x - threshold)_+, and the maximum is prefactor (x - threshold)_+^2.
    `variance` is the variance of the semicircle that the noise adds to the target law.
    """

    gain: sp.Expr
    threshold: sp.Expr
    prefactor: sp.Expr
    variance: sp.Expr


@cache
def sensing_variance(kind: Kind) -> sp.Expr:
    """Return the off-diagonal entry variance (times d) of the Gaussian Z of this class with Var
    tr(Z^T S) = tr S^T S/d.

    It is solved on an explicit 3 x 3 matrix. The diagonal entries of a symmetric Z have twice this
    variance.
    """
    size, omega = 3, sp.Symbol("omega", positive=True)
    if kind is Kind.GENERAL:
        S = sp.Matrix(size, size, lambda i, j: sp.Symbol(f"S{i}{j}"))
        variance = omega * sum(entry**2 for entry in S)
    else:
        S = sp.Matrix(size, size, lambda i, j: sp.Symbol(f"S{min(i, j)}{max(i, j)}"))
        variance = sum(2 * omega * S[i, i] ** 2 for i in range(size))
        variance += sum(omega * (2 * S[i, j]) ** 2 for i in range(size) for j in range(i + 1, size))
    entries = sorted(S.free_symbols, key=str)
    (solution,) = sp.solve(sp.Poly(variance - (S.T * S).trace(), *entries).coeffs(), omega).values()
    return solution


@cache
def denoiser(model: Model) -> Denoiser:
    """Return the prior of the model's matrix class, at an eigenvalue s of the same sign as x."""
    s = sp.Symbol("s", nonnegative=True)
    return shrinkage(model.matrix.cost(s), s, model.matrix.kind)


def shrinkage(cost: sp.Expr, s: sp.Symbol, kind: Kind) -> Denoiser:
    """Return the prior at zero temperature: the maximum of -Vh s^2/2 + mh s x - cost(s) over s, at
    an eigenvalue x of Y.

    Qh splits into -Vh/tau on the diagonal (confinement) and qh/tau^2 everywhere. A symmetric
    Gaussian matrix Z of the class decouples the latter: the field on S is mh S0 + sqrt(qh) Z = mh
    Y.

    Args:
        cost: penalty as a function of s.
        s: eigenvalue of S.
        kind: class of the matrix, which sets the domain of s.
    """
    confinement = zero_temperature(conjugates().diagonal - conjugates().offdiagonal)
    field_variance = sp.cancel(TEMPERATURE**2 * conjugates().offdiagonal)
    energy = confinement * s**2 / 2 + mh * s * x - cost
    (best,) = sp.solve(sp.diff(energy, s), s)
    (threshold,) = sp.solve(best, x)
    gain = sp.diff(best, x)
    require_zero(
        best - gain * (x - threshold), "shrinkage is gain times the excess over a threshold"
    )
    prefactor = sp.cancel(energy.subs(s, best) / (x - threshold) ** 2)
    return Denoiser(gain, threshold, prefactor, field_variance * sensing_variance(kind) / mh**2)
