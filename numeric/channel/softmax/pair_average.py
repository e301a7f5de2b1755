"""Averages over the output channel of tied attention at two tokens, always at the global minimum of
the inner problem.

A sample has a target field z, labels p = label(z), a student field w, and a minimiser u of the
Moreau energy; all are pairs.  For large V the energy has up to four minima and the global one jumps
when (z, w) varies, so that a plain Gauss-Hermite product converges only to ~1e-4.  Here the four
Gaussian coordinates are rotated and integrated in turn:

1. w = L sqrt(q) g_in and z = L sqrt(rho) (c g_in + s g_out), c = m/sqrt(rho q), c^2 + s^2 = 1, L
   L^T the covariance. All of w lies in the inner pair, so the outer one only blurs the labels: few
   nodes suffice, also for s -> 0. Each column of L has its own q, m and rho if the norms of tokens
   are not Gaussian.
2. g_out: Gauss-Hermite.  Exchange of the tokens and change of all signs leave every average
   invariant, so one quadrant does.  Across the lines of g_in (its second component): Gauss-Hermite.
3. Along a line: Gauss-Legendre on pieces between the jumps, which are located where two branches of
   minima tie in energy.  Close to a critical point a branch is steep without a jump; there pieces
   are split until the polynomial through the minimisers at the nodes reproduces the minimisers at
   both ends, which are found independently.

Formulas come from generated/tied_attention (theory.md, sections 1-3).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from numeric.channel.softmax import line_integral, pair_minimiser
from numeric.channel.softmax.gauss_hermite import gauss_hermite
from numeric.channel.softmax.line_integral import CUT, integrate_line, nearly_unlearned
from numeric.channel.softmax.pair_minimiser import Line, Setting
from numeric.maths.domain import OutsideDomain
from numeric.maths.kernels import digest, entry, inner, over_blocks
from numeric.model import float64 as physics
from numeric.problem.axes import AxisOverlaps

Array = NDArray[np.float64]

#: Probability of all lines that a rule leaves out, the least probable ones; as much as lies beyond
#: CUT.
NEGLIGIBLE = 1e-12
# of one panel, waiting to be integrated; each split at least halves a piece or removes a jump
MAX_PIECES = 64


class PairMeans(NamedTuple):
    """Means over the samples of the two-token channel (theory.md, sections 2 and 3).

    Attributes:
        train: mean loss at the minimiser u, unit loss.
        test: mean loss at the field w, unit loss.
        R: mean elastic energy, index^2.
        F1: dual field times the Gaussian that the label sees, along each axis, shape (2,).
        F2: dual field times the Gaussian that only the student sees, along each axis, shape (2,).
    """

    train: float
    test: float
    R: float
    F1: Array
    F2: Array


@dataclass(frozen=True)
class Resolution:
    """Node counts of the quadrature.

    outer:     Gauss-Hermite nodes per component of g_out, even (no node on the symmetry axes)
    across:    Gauss-Hermite nodes across the lines of g_in
    panels:    initial pieces of a line; global minima are sought at all their ends
    nodes:     Gauss-Legendre nodes per piece
    tolerance: largest interpolation error of beta u at the ends of a piece, times the root of the
               piece's probability, on the most probable line; on others more by the root of how
               much less probable they are
    """

    outer: int
    across: int
    panels: int
    nodes: int
    tolerance: float

    def __post_init__(self) -> None:
        if self.outer < 2 or self.outer % 2:
            raise ValueError(
                f"outer must be even and positive (no node on the axes), got {self.outer!r}"
            )
        if min(self.across, self.panels) < 1 or self.nodes < 4 or not self.tolerance > 0:
            raise ValueError(f"need across, panels >= 1, nodes >= 4 and tolerance > 0, got {self}")

    def refined(self) -> "Resolution":
        """About one and a half times the nodes in each direction."""
        return Resolution(
            outer=self.outer + 2 * ((self.outer + 2) // 4),
            across=self.across + (self.across + 1) // 2,
            panels=self.panels + 1,
            nodes=self.nodes + 2,
            tolerance=self.tolerance / 4,
        )


COARSE = Resolution(outer=8, across=16, panels=5, nodes=10, tolerance=2e-3)


class Coefficients(NamedTuple):
    """Coefficients along each axis, shape (2,): w = student g_in and z = seen g_in + blur g_out."""

    student: Array
    seen: Array
    blur: Array


@inner
def _line(axes, at, x1, y1, y2):
    """The line y = y2 of g_in at g_out = (x1, y1)."""
    L11, L12, L21, L22 = axes
    student, seen, blur = at.student, at.seen, at.blur
    return Line(
        student[1] * L12 * y2,
        student[1] * L22 * y2,
        student[0] * L11,
        student[0] * L21,
        seen[1] * L12 * y2 + blur[0] * L11 * x1 + blur[1] * L12 * y1,
        seen[1] * L22 * y2 + blur[0] * L21 * x1 + blur[1] * L22 * y1,
        seen[0] * L11,
        seen[0] * L21,
    )


_SOURCES = digest(physics, pair_minimiser, line_integral)


@entry
def _add_bundles(
    first,
    last,
    axes,
    at,
    setting,
    rule,
    panels,
    tolerance,
    stack,
    sums,
    total,
    bundles,
    sources=_SOURCES,
):
    """Add each bundle of lines of one g_out, `first` to `last`, to its row of `bundles`: loss at u,
    loss at w, f^T Sigma f, f along each column of L times its g_in, the same with g_out, and the
    unresolved probability; f less the field of S = 0 where `nearly_unlearned`.
    """
    outer, outer_weights, across, across_weights, nodes, weights, ends, least, heaviest = rule
    L11, L12, L21, L22 = axes
    for bundle in range(first, last):
        i, j = bundle // len(outer), bundle % len(outer)
        x1, y1, averages = outer[i], outer[j], bundles[bundle]
        for k in range(len(across)):
            weight, y2 = outer_weights[i] * outer_weights[j] * across_weights[k], across[k]
            if weight < least:
                continue
            line = _line(axes, at, x1, y1, y2)
            allowed = tolerance * np.sqrt(
                heaviest / weight
            )  # the error of a line counts as much as its probability
            unresolved = integrate_line(
                line, setting, panels, nodes, weights, ends, allowed, stack, sums, total
            )
            for term in range(3):
                averages[term] += weight * total[term]
            f_x, f_y = L11 * total[3] + L21 * total[4], L12 * total[3] + L22 * total[4]
            averages[3] += weight * (L11 * total[5] + L21 * total[6])
            averages[4] += weight * y2 * f_y
            averages[5] += weight * x1 * f_x
            averages[6] += weight * y1 * f_y
            averages[7] += weight * unresolved


def _sum_over_lines(at: Coefficients, setting: Setting, resolution: Resolution) -> Array:
    """The eight averages of `_add_bundles` over all lines, bundles added up in a fixed order."""
    rule, axes = _rule(resolution), _axes()
    bundles = np.zeros((len(rule[0]) ** 2, 8))

    def work(first: int, last: int) -> None:
        _add_bundles(
            first,
            last,
            axes,
            at,
            setting,
            rule,
            resolution.panels,
            resolution.tolerance,
            np.empty((MAX_PIECES, 6)),
            np.empty(7),
            np.empty(7),
            bundles,
        )

    over_blocks(work, len(bundles))
    return bundles.sum(axis=0)


@lru_cache(maxsize=16)
def _rule(resolution: Resolution) -> tuple[Any, ...]:
    """Nodes and weights: quadrant of g_out, across the lines, along a piece; Lagrange weights at a
    piece's ends.

    Then the weight below which a line is left out, and that of the most probable line.
    """
    outer, outer_weights = gauss_hermite(resolution.outer)
    across, across_weights = gauss_hermite(resolution.across)
    nodes, weights = leggauss(resolution.nodes)
    quadrant = outer > 0.0
    differences = nodes[:, None] - nodes + np.eye(len(nodes))
    lagrange_at_left = np.prod(
        (-1.0 - nodes + np.eye(len(nodes)) * (2.0 + nodes)) / differences, axis=1
    )
    ends = np.stack([lagrange_at_left, lagrange_at_left[::-1]])
    outer_weights = 2.0 * outer_weights[quadrant] / outer_weights.sum()
    across_weights = across_weights / across_weights.sum()
    lines = np.sort(
        np.multiply.outer(np.outer(outer_weights, outer_weights), across_weights), axis=None
    )
    least = float(lines[np.searchsorted(np.cumsum(lines), NEGLIGIBLE)])
    return (
        outer[quadrant],
        outer_weights,
        across,
        across_weights,
        nodes,
        weights,
        ends,
        least,
        float(lines[-1]),
    )


def _axes() -> tuple[float, float, float, float]:
    L11, L12, L21, L22 = (float(entry) for entry in physics.principal_axes())
    return L11, L12, L21, L22


def _require(rule: str, valid: bool, **values: float) -> None:
    if not valid:
        raise OutsideDomain(
            f"{rule}, got {', '.join(f'{name} = {value!r}' for name, value in values.items())}"
        )


def norm_shares() -> Array:
    """Return the shares of scores of a token with itself along the axes, shape (2,)."""
    return np.array(physics.axis_norm_shares())


def average(
    axes: AxisOverlaps, V: float, beta: float, beta0: float, resolution: Resolution
) -> PairMeans:
    """Means over samples at T = 2 (theory.md, sections 2 and 3), by deterministic quadrature.

    Args:
        axes: overlaps along the two axes.
        V: index^2/loss, positive
        beta, beta0: inverse temperatures of student and target, 1/index

    Raises:
        OutsideDomain: an argument is, or a jump or a steep stretch of the minimiser could not be
            resolved.
    """
    _require("need beta, beta0 > 0", min(beta, beta0) > 0.0, beta=beta, beta0=beta0)
    _require("need V > 0 (for S = 0 use unlearned)", V > 0.0, V=V)
    # Closer to m^2 = q rho fewer than four digits of q - m^2/rho are left in double precision.
    distinct = bool(np.all(axes.q - axes.m**2 / axes.rho > 1e-12 * axes.q))
    rule = "need q > m^2/rho (by 1e-12 q); approach the limit from larger q"
    _require(rule, distinct, m=float(axes.m[0]), q=float(axes.q[0]), rho=float(axes.rho[0]))
    teacher, independent, scale_z, *_ = axes.fields
    student = np.hypot(teacher, independent)
    c, s = teacher / student, independent / student
    at = Coefficients(student, scale_z * c, scale_z * s)
    setting = Setting(float(V), float(beta), float(beta0))
    sums = _sum_over_lines(at, setting, resolution)
    train, test, dual = map(float, sums[:3])
    f_in, f_out, unresolved = sums[3:5], sums[5:7], float(sums[7])
    if unresolved > resolution.tolerance:
        raise OutsideDomain(
            f"samples of probability {unresolved:.1e} not resolved at V = {V!r}: raise panels or "
            "nodes"
        )
    # The Gaussian of z is c g_in + s g_out, and that of the student alone s g_in - c g_out; R = V^2
    # f^T Sigma f as V f = Sigma^-1 (u - w). The dual field of S = 0 is a function of the first
    # Gaussian alone: it adds to F1 and, by symmetry, nothing to F2.
    F1, F2 = c * f_in + s * f_out, s * f_in - c * f_out
    if nearly_unlearned(setting):
        F1 = F1 + _label_averages(tuple(axes.rho.tolist()), beta, beta0, resolution).overlap
    return PairMeans(train, test, V**2 * dual, F1, F2)


def unlearned(rho: Array, beta: float, beta0: float, resolution: Resolution) -> "LabelAverages":
    """Return the averages over labels at S = 0, where the envelope is the loss at w = 0.

    Args:
        rho: second moment of the noisy target along the two axes, shape (2,).
        beta, beta0: inverse temperatures of student and target, 1/index
        resolution: node counts.

    Raises:
        OutsideDomain: an argument is.
    """
    least = float(np.min(rho))
    _require(
        "need rho, beta, beta0 > 0",
        min(least, beta, beta0) > 0.0,
        rho=least,
        beta=beta,
        beta0=beta0,
    )
    return _label_averages(tuple(rho.tolist()), beta, beta0, resolution)


class LabelAverages(NamedTuple):
    """Averages at w = 0 over the labels: loss, f^T Sigma f, f along each axis times its Gaussian,
    shape (2,), with f the dual field, and curvature tr Sigma H.
    """

    loss: float
    dual: float
    overlap: Array
    curvature: float


@lru_cache(maxsize=64)
def _label_averages(
    rho: tuple[float, float], beta: float, beta0: float, resolution: Resolution
) -> LabelAverages:
    # Trapezoidal rule: exponentially accurate for integrands even in each coordinate; ~100 nodes
    # resolve beta0 ~ 10.
    x = np.linspace(0.0, CUT, 16 * resolution.outer)
    weights = np.exp(-0.5 * x**2)
    weights[0] *= 0.5
    weights /= weights.sum()
    x1, y1, product = x[:, None], x[None, :], weights[:, None] * weights
    L11, L12, L21, L22 = _axes()
    first, second = np.sqrt(rho)
    z1, z2 = L11 * first * x1 + L12 * second * y1, L21 * first * x1 + L22 * second * y1
    p1, p2 = physics.label(z1, beta0), physics.label(z2, beta0)
    slope1, slope2 = physics.loss_gradient(0.0, 0.0, p1, p2, beta)
    curvature = physics.curvature_trace(*physics.loss_hessian(0.0, 0.0, p1, p2, beta))
    return LabelAverages(
        loss=float(np.sum(product * physics.sample_loss(0.0, 0.0, p1, p2, beta))),
        dual=float(np.sum(product * physics.dual_energy(-slope1, -slope2))),
        overlap=np.array(
            [
                np.sum(product * (-slope1 * L11 - slope2 * L21) * x1),
                np.sum(product * (-slope1 * L12 - slope2 * L22) * y1),
            ]
        ),
        curvature=float(np.sum(product * curvature)),
    )
