"""Tokens whose norms are less random than those of Gaussian tokens (theory note, section 13).

A token x = C^{1/2} g has ||x||^2 = g^T C g. In whitened matrices the score of a token with itself
is h_aa = (g^T S g - tr S)/sqrt(d), and the part of S along C, S = t C + rest with
t = tr(C S)/tr(C^2), adds t (||x||^2 - d)/sqrt(d) to it. Gaussian tokens have Var ||x||^2 =
2 tr C^2; if it is w tr C^2, the scores of a token with itself lose the variance
(2 - w) t^2 tr C^2/d. All other scores keep theirs.
"""

from functools import cache

import sympy as sp

from derive.language.index import Index
from derive.language.notation import sym
from derive.language.step import (
    Display,
    Function,
    Step,
    outputs,
    require_zero,
    scalar,
)
from derive.passes.channel.visible import norm_covariance

m, q, rho, t, t0, th, mh, alpha = sym("m q rho t t0 th mh alpha")
M_m, M_q, M_t = sym("M_m M_q M_t")
deficit, share, square = sym("norm_deficit norm_share cov_square")


def check_lost_variance() -> None:
    """Check the covariance of two scores h_aa if the part of the tokens along C is rescaled.

    E (g^T A g - tr A)(g^T B g - tr B) = 2 tr AB. Two dimensions with diagonal matrices show every
    product of eigenvalues.
    """
    c = sp.symbols("c1 c2", positive=True)
    s, r = sp.symbols("s1 s2"), sp.symbols("r1 r2")
    w = sp.Symbol("w")

    def trace(*factors: tuple[sp.Symbol, ...]) -> sp.Expr:
        return sum(sp.prod(parts) for parts in zip(*factors, strict=True))

    t_s, t_r = (trace(c, one) / trace(c, c) for one in (s, r))
    rest_s, rest_r = (
        tuple(a - along * b for a, b in zip(one, c, strict=True))
        for one, along in ((s, t_s), (r, t_r))
    )
    require_zero(sp.simplify(trace(rest_s, c)), "the rest is uncorrelated with the norm")
    found = 2 * trace(rest_s, rest_r) + w * t_s * t_r * trace(c, c)
    expected = 2 * trace(s, r) - (2 - w) * trace(c, c) * t_s * t_r
    require_zero(sp.simplify(found - expected), "variance of a score of a token with itself")


def has_norms(index: Index) -> bool:
    """Return whether the index has scores of a token with itself."""
    return any(index.is_of_one_token(entry) for entry in index.entries)


def axis_shares(axes: sp.Matrix, visible: sp.Matrix, index: Index) -> tuple[sp.Expr, ...]:
    """Return the share of the scores of a token with itself along each column of the axes.

    In units of the covariance of the visible index the axes are orthonormal; the covariance of
    the scores of a token with itself must be diagonal in them, too.

    Args:
        axes: L with L L^T the covariance of the visible index per unit.
        visible: the visible index as a linear map of the index.
        index: geometry of the indices.
    """
    inverse = axes.inv()
    shares = (inverse * norm_covariance(visible, index) * inverse.T).applyfunc(sp.simplify)
    require_zero(
        sum((shares - sp.diag(*shares.diagonal())).applyfunc(sp.Abs)),
        "norms and covariance have the same axes",
    )
    return tuple(shares.diagonal())


def axis_overlaps() -> dict[sp.Symbol, sp.Expr]:
    """Return the overlaps per unit along a direction of the visible index."""
    return {
        m: m - deficit * share * t * t0,
        q: q - deficit * share * t**2,
        rho: rho - deficit * share * t0**2,
    }


def axis_slope() -> sp.Expr:
    """Return the part of dM/dt from a direction with the derivatives M_m and M_q."""
    along = axis_overlaps()
    return M_m * sp.diff(along[m], t) + M_q * sp.diff(along[q], t)


def conjugate() -> sp.Expr:
    """Return th from the stationarity of e = alpha M + t th + ... in t."""
    energy = alpha * M_t * t + t * th  # M to first order in t
    (found,) = sp.solve(sp.diff(energy, t), th)
    return found


@cache
def step() -> Step:
    """Return the step of the norms of tokens, for any model."""
    check_lost_variance()
    return Step(
        "token_norms",
        "Norms of tokens",
        r"Scores of a token with itself contain $t\,(\|x\|^2-d)/\sqrt d$, where "
        r"$t=\operatorname{tr}C\tilde S/\operatorname{tr}C^2$. If $\|x\|^2$ has the variance "
        r"$w\operatorname{tr}C^2$ in place of $2\operatorname{tr}C^2$, their covariances lose "
        r"$f=(2-w)\operatorname{tr}C^2/d$ times products of $t$ and $t_0$. In units of the "
        r"covariance of the visible index these scores have the share $s_j$ of direction $j$. The "
        r"conjugate $\hat t$ adds $\vartheta\,C$ to the matrix that is denoised, with "
        r"$\vartheta=\hat t/(\hat m\operatorname{tr}C^2/d)$.",
        tuple(Display(rf"{name}_j", form) for name, form in axis_overlaps().items()),
        (
            Function(
                "axis_overlaps",
                "overlaps and target variance along a direction of the visible index",
                (m, q, rho, t, t0, deficit, share),
                outputs(axis_overlaps(), "{}_j"),
            ),
            scalar(
                "axis_slope",
                "part of dM/dt from the derivatives along a direction",
                (M_m, M_q, t, t0, deficit, share),
                r"\partial_t M_j",
                axis_slope(),
            ),
            scalar("norm_conjugate", "conjugate of t", (alpha, M_t), r"\hat t", conjugate()),
            scalar(
                "norm_shift",
                "coefficient of the covariance in the matrix that is denoised",
                (th, mh, square),
                r"\vartheta",
                th / (mh * square),
            ),
            scalar(
                "norm_coupling",
                "part of the free entropy that couples t to its conjugate",
                (t, th),
                r"t\hat t",
                t * th,
            ),
        ),
    )
