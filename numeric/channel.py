"""Averages over the output channel of tied attention at two tokens, always at the global minimum of the inner problem.

A sample has a target field z, labels p = label(z), a student field w, and a minimiser u of the Moreau energy; all are
pairs.  For large V the energy has up to four minima and the global one jumps when (z, w) varies, so that a plain
Gauss-Hermite product converges only to ~1e-4.  Here the four Gaussian coordinates are rotated and integrated in turn:

1. w = sqrt(q) L g_in and z = sqrt(rho) L (c g_in + s g_out), c = m/sqrt(rho q), c^2 + s^2 = 1, L L^T the covariance.
   All of w lies in the inner pair, so the outer one only blurs the labels: few nodes suffice, also for s -> 0.
2. g_out: Gauss-Hermite.  Exchange of the tokens and change of all signs leave every average invariant, so one quadrant
   does.  Across the lines of g_in (its second component): Gauss-Hermite.
3. Along a line: Gauss-Legendre on pieces between the jumps, which are located where two branches of minima tie in
   energy.  Close to a critical point a branch is steep without a jump; there pieces are split until the polynomial
   through the minimisers at the nodes reproduces the minimisers at both ends, which are found independently.

Formulas come from generated/tied_attention (theory.md, sections 1-3).
"""

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from generated.tied_attention import float64 as physics

Array = NDArray[np.float64]

CUT = 6.0  # standard deviations kept of a Gaussian line; the rest has probability 2e-9
NEGLIGIBLE = 1e-10  # probability below which a line is skipped; at most ~1000 lines are
REACH = 2.0  # largest step from a start, in units of 1/beta: half the width of a sigmoid, so that no barrier is jumped
MAX_PIECES = 64  # of one panel, waiting to be integrated; each split at least halves a piece or removes a jump


class ChannelAverages(NamedTuple):
    """Averages per sample of the two-token channel (theory.md, sections 2 and 3)."""

    M: float  #: mean Moreau envelope of the loss, unit loss
    dM_dm: float  #: unit loss/eigenvalue^2
    dM_dq: float  #: unit loss/eigenvalue^2
    dM_dV: float  #: unit loss^2/index^2
    train_error: float  #: mean loss at the minimiser u, unit loss
    test_error: float  #: mean loss at the field w, unit loss


@dataclass(frozen=True)
class Resolution:
    """Node counts of the quadrature.

    outer:     Gauss-Hermite nodes per component of g_out, even (no node on the symmetry axes)
    across:    Gauss-Hermite nodes across the lines of g_in
    panels:    initial pieces of a line; global minima are sought at all their ends
    nodes:     Gauss-Legendre nodes per piece
    tolerance: largest interpolation error of beta u at the ends of a piece, times the root of the piece's probability
    """

    outer: int
    across: int
    panels: int
    nodes: int
    tolerance: float

    def __post_init__(self) -> None:
        if self.outer < 2 or self.outer % 2:
            raise ValueError(f"outer must be even and positive (no node on the axes), got {self.outer!r}")
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


COARSE = Resolution(outer=8, across=16, panels=5, nodes=10, tolerance=1e-2)
FINE = COARSE.refined()


class Setting(NamedTuple):
    """What all samples share."""

    V: float
    beta: float
    beta0: float


class Line(NamedTuple):
    """Fields along a line of g_in: value at x = 0 and slope of each component."""

    w1: float
    w2: float
    w1_slope: float
    w2_slope: float
    z1: float
    z2: float
    z1_slope: float
    z2_slope: float


class Sample(NamedTuple):
    """Student field, target field and labels."""

    w1: float
    w2: float
    z1: float
    z2: float
    p1: float
    p2: float


_label = njit(physics.label)
_energy = njit(physics.sample_energy)
_gradient = njit(physics.sample_gradient)
_hessian = njit(physics.sample_hessian)
_loss = njit(physics.sample_loss)
_loss_gradient = njit(physics.loss_gradient)
_dual_field = njit(physics.dual_field)
_dual_energy = njit(physics.dual_energy)
_inner = njit(error_model="numpy")  # not cached one by one: see _compiled


@_inner
def _sample(line: Line, x: float, setting: Setting) -> Sample:
    z1, z2 = line.z1 + x * line.z1_slope, line.z2 + x * line.z2_slope
    labels = _label(z1, setting.beta0), _label(z2, setting.beta0)
    return Sample(line.w1 + x * line.w1_slope, line.w2 + x * line.w2_slope, z1, z2, labels[0], labels[1])


@_inner
def _energy_at(u1: float, u2: float, at: Sample, setting: Setting) -> float:
    return _energy(u1, u2, at.w1, at.w2, at.p1, at.p2, setting.V, setting.beta)


@_inner
def _newton_step(g1: float, g2: float, h11: float, h12: float, h22: float, V: float) -> tuple[float, float, bool]:
    """Newton's step, or Levenberg and Marquardt's where the Hessian is not positive; and whether it is Newton's."""
    lowest = 0.5 * (h11 + h22) - np.sqrt(0.25 * (h11 - h22) ** 2 + h12**2)
    newton = lowest > 0.0
    if not newton:
        shift = 0.02 / V - 2.0 * lowest  # new lowest eigenvalue: |old| + a small part of the elastic stiffness ~1/V
        h11, h22 = h11 + shift, h22 + shift
    determinant = h11 * h22 - h12**2
    return (h12 * g2 - h22 * g1) / determinant, (h12 * g1 - h11 * g2) / determinant, newton


@_inner
def _descend(u1: float, u2: float, at: Sample, setting: Setting, reach: float) -> tuple[float, float]:
    """The local minimiser that Newton's method, safeguarded and with steps of at most `reach`, comes to from u."""
    V, beta = setting.V, setting.beta
    for _ in range(100):
        g1, g2 = _gradient(u1, u2, at.w1, at.w2, at.p1, at.p2, V, beta)
        h11, h12, h22 = _hessian(u1, u2, at.w1, at.w2, at.p1, at.p2, V, beta)
        d1, d2, newton = _newton_step(g1, g2, h11, h12, h22, V)
        size = abs(d1) + abs(d2)
        if size > reach:
            d1, d2, size = d1 * reach / size, d2 * reach / size, reach
        if size * beta > 1.0:  # beyond the range 1/beta of the quadratic model: backtrack until the energy falls
            ceiling = _energy_at(u1, u2, at, setting)
            while size * beta > 1e-6 and _energy_at(u1 + d1, u2 + d2, at, setting) > ceiling:
                d1, d2, size = 0.4 * d1, 0.4 * d2, 0.4 * size
        u1, u2 = u1 + d1, u2 + d2
        if newton and size < 1e-7 * (1.0 + abs(u1) + abs(u2)):  # quadratic convergence: error now ~1e-14
            break
    return u1, u2


@_inner
def _global_minimiser(u1: float, u2: float, at: Sample, setting: Setting) -> tuple[float, float]:
    """The lowest minimum reached from u and from each component either at rest or fitted (its label reproduced).

    Per component the energy has at most these two wells: the elastic one, centred where the other component leaves it
    at rest, and the dip of the loss, which a saturated label widens to a half-line with its edge near u = 0.
    """
    V, beta = setting.V, setting.beta
    far = 4.0 / beta  # starts further out than the edge of the dip would only cost steps
    fit1 = min(max(at.z1 * setting.beta0 / beta, -far), far)
    fit2 = min(max(at.z2 * setting.beta0 / beta, -far), far)
    stiffness1 = _dual_field(at.w1 + 1.0, at.w2, at.w1, at.w2, V)[0]
    stiffness2 = _dual_field(at.w1, at.w2 + 1.0, at.w1, at.w2, V)[1]
    rest1 = at.w1 - _dual_field(at.w1, fit2, at.w1, at.w2, V)[0] / stiffness1
    rest2 = at.w2 - _dual_field(fit1, at.w2, at.w1, at.w2, V)[1] / stiffness2
    u1, u2 = _descend(u1, u2, at, setting, np.inf)
    lowest = _energy_at(u1, u2, at, setting)
    for start1, start2 in ((at.w1, at.w2), (fit1, rest2), (rest1, fit2), (fit1, fit2)):
        v1, v2 = _descend(start1, start2, at, setting, REACH / beta)
        energy = _energy_at(v1, v2, at, setting)
        if energy < lowest and abs(v1 - u1) + abs(v2 - u2) > 1e-6:
            u1, u2, lowest = v1, v2, energy
    return u1, u2


@_inner
def _follow(x: float, line: Line, u1: float, u2: float, setting: Setting) -> tuple[float, float, float]:
    """The minimum at x on the branch of u, if it exists there (another one otherwise), and its energy."""
    at = _sample(line, x, setting)
    u1, u2 = _descend(u1, u2, at, setting, np.inf)
    return u1, u2, _energy_at(u1, u2, at, setting)


@_inner
def _locate_change(left, a1, a2, right, b1, b2, line, setting):  # type: ignore[no-untyped-def]
    """Where the minimiser changes between a at x = left and b at x = right.

    If the branches of a and b coexist, the change is a jump, at equal energies: a secant iteration kept inside a
    bisection.  If they merge, it is where the branch is steepest.  Returns x, whether it is a jump, and both sides.
    """
    x, last_x, last_difference = 0.5 * (left + right), np.nan, np.nan
    for _ in range(60):
        c1, c2, energy_c = _follow(x, line, a1, a2, setting)
        d1, d2, energy_d = _follow(x, line, b1, b2, setting)
        proposal = np.nan
        if abs(c1 - d1) + abs(c2 - d2) > 1e-6:
            difference = energy_c - energy_d
            if abs(difference) < 1e-14 or right - left < 1e-12:
                return x, True, c1, c2, d1, d2
            proposal = x - difference * (x - last_x) / (difference - last_difference)
            last_x, last_difference = x, difference
            advance = difference < 0.0
        else:
            advance = abs(c1 - a1) + abs(c2 - a2) < abs(c1 - b1) + abs(c2 - b2)
        if advance:
            left, a1, a2 = x, c1, c2
        else:
            right, b1, b2 = x, d1, d2
        if (abs(a1 - b1) + abs(a2 - b2)) * setting.beta < 0.02:
            break
        x = proposal if left < proposal < right else 0.5 * (left + right)
    return x, False, a1, a2, b1, b2


@_inner
def _integrate_piece(left, a1, a2, right, b1, b2, line, setting, nodes, weights, ends, sums):  # type: ignore[no-untyped-def]
    """Gauss-Legendre sums over a piece, on the branch of a; returns how far the branch's interpolant misses a and b.

    sums: loss at u, loss at w, f^T Sigma f, f1, f2, x f1, x f2 with f the dual field.
    """
    centre, half = 0.5 * (left + right), 0.5 * (right - left)
    sums[:] = 0.0
    slope1, slope2 = (b1 - a1) / (right - left), (b2 - a2) / (right - left)
    miss_a1, miss_a2, miss_b1, miss_b2 = a1, a2, b1, b2
    u1, u2, last = a1, a2, left
    for k in range(len(nodes)):
        x = centre + half * nodes[k]
        at = _sample(line, x, setting)
        v1, v2 = _descend(u1 + slope1 * (x - last), u2 + slope2 * (x - last), at, setting, np.inf)
        slope1, slope2 = (v1 - u1) / (x - last), (v2 - u2) / (x - last)
        u1, u2, last = v1, v2, x
        miss_a1, miss_a2 = miss_a1 - ends[0, k] * u1, miss_a2 - ends[0, k] * u2
        miss_b1, miss_b2 = miss_b1 - ends[1, k] * u1, miss_b2 - ends[1, k] * u2
        f1, f2 = _dual_field(u1, u2, at.w1, at.w2, setting.V)
        if setting.V < 1.0:  # the same number without the cancellation in (u - w)/V, as u is stationary
            slope_1, slope_2 = _loss_gradient(u1, u2, at.p1, at.p2, setting.beta)
            f1, f2 = -slope_1, -slope_2
        weight = half * weights[k] * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
        sums[0] += weight * _loss(u1, u2, at.p1, at.p2, setting.beta)
        sums[1] += weight * _loss(at.w1, at.w2, at.p1, at.p2, setting.beta)
        sums[2] += weight * _dual_energy(f1, f2)
        sums[3] += weight * f1
        sums[4] += weight * f2
        sums[5] += weight * x * f1
        sums[6] += weight * x * f2
    return abs(miss_a1) + abs(miss_a2) + abs(miss_b1) + abs(miss_b2)


@_inner
def _split(piece, line, setting, left_half, right_half):  # type: ignore[no-untyped-def]
    """Cut a piece (left, a1, a2, right, b1, b2) at its jump or steepest point."""
    left, right = piece[0], piece[3]
    x, jump, a1, a2, b1, b2 = _locate_change(left, piece[1], piece[2], right, piece[4], piece[5], line, setting)
    if not jump and not 0.02 < (x - left) / (right - left) < 0.98:  # already cut there
        x = 0.5 * (left + right)
    at = _sample(line, x, setting)
    c1, c2 = _global_minimiser(a1, a2, at, setting)
    third_branch = _energy_at(c1, c2, at, setting) < _energy_at(a1, a2, at, setting) - 1e-10
    if not jump or third_branch:
        a1, a2, b1, b2 = c1, c2, c1, c2
    left_half[:] = left, piece[1], piece[2], x, a1, a2
    right_half[:] = x, b1, b2, right, piece[4], piece[5]


@_inner
def _integrate_panel(stack, line, setting, nodes, weights, ends, tolerance, sums, total):  # type: ignore[no-untyped-def]
    """Add the integral over the panel stack[0] to total; returns the probability of what could not be resolved."""
    pieces, unresolved = 1, 0.0
    while pieces > 0:
        pieces -= 1
        left, a1, a2, right, b1, b2 = stack[pieces]
        if right - left < 1e-12:  # a jump at the very end of a piece
            continue
        miss = _integrate_piece(left, a1, a2, right, b1, b2, line, setting, nodes, weights, ends, sums)
        nearest = 0.0 if left < 0.0 < right else min(abs(left), abs(right))
        probability = (right - left) * np.exp(-0.5 * nearest**2) / np.sqrt(2.0 * np.pi)
        resolved = (miss * setting.beta) ** 2 * probability < tolerance**2  # Gauss rules converge like miss^2
        if resolved or pieces + 2 > len(stack):
            total += sums
            unresolved += 0.0 if resolved else probability
            continue
        _split(stack[pieces].copy(), line, setting, stack[pieces + 1], stack[pieces])
        pieces += 2
    return unresolved


@_inner
def _integrate_line(line, setting, panels, nodes, weights, ends, tolerance, stack, sums, total):  # type: ignore[no-untyped-def]
    """Integrals along a line, left in total (as in _integrate_piece); returns the unresolved probability."""
    total[:] = 0.0
    unresolved, left = 0.0, -CUT
    at = _sample(line, left, setting)
    a1, a2 = _global_minimiser(at.w1, at.w2, at, setting)
    for panel in range(panels):
        right = CUT * (2.0 * (panel + 1) / panels - 1.0)
        b1, b2 = _global_minimiser(a1, a2, _sample(line, right, setting), setting)
        stack[0] = left, a1, a2, right, b1, b2
        unresolved += _integrate_panel(stack, line, setting, nodes, weights, ends, tolerance, sums, total)
        left, a1, a2 = right, b1, b2
    return unresolved


@_inner
def _line(axes, c, s, scale_w, scale_z, x1, y1, y2):  # type: ignore[no-untyped-def]
    """The line y = y2 of g_in at g_out = (x1, y1)."""
    L11, L12, L21, L22 = axes
    return Line(
        scale_w * L12 * y2,
        scale_w * L22 * y2,
        scale_w * L11,
        scale_w * L21,
        scale_z * (c * L12 * y2 + s * (L11 * x1 + L12 * y1)),
        scale_z * (c * L22 * y2 + s * (L21 * x1 + L22 * y1)),
        scale_z * c * L11,
        scale_z * c * L21,
    )


@_inner
def _sum_over_lines(axes, c, s, scale_w, scale_z, setting, rule, panels, tolerance):  # type: ignore[no-untyped-def]
    """Averages: loss at u, loss at w, f^T Sigma f, f.L g_in, f.L g_out, and the unresolved probability."""
    outer, outer_weights, across, across_weights, nodes, weights, ends = rule
    L11, L12, L21, L22 = axes
    averages, total, sums, stack = np.zeros(6), np.empty(7), np.empty(7), np.empty((MAX_PIECES, 6))
    for i in range(len(outer)):
        for j in range(len(outer)):
            for k in range(len(across)):
                weight = outer_weights[i] * outer_weights[j] * across_weights[k]
                if weight < NEGLIGIBLE:
                    continue
                x1, y1, y2 = outer[i], outer[j], across[k]
                line = _line(axes, c, s, scale_w, scale_z, x1, y1, y2)
                unresolved = _integrate_line(line, setting, panels, nodes, weights, ends, tolerance, stack, sums, total)
                averages[:3] += weight * total[:3]
                f_x, f_y = L11 * total[3] + L21 * total[4], L12 * total[3] + L22 * total[4]
                averages[3] += weight * (L11 * total[5] + L21 * total[6] + y2 * f_y)
                averages[4] += weight * (x1 * f_x + y1 * f_y)
                averages[5] += weight * unresolved
    return averages


def _compiled(digest: str) -> Any:
    """The sum over lines with a cache on disk, valid for this digest of the generated formulas.

    numba's cache key holds the function's own source file and its closure, but no callee in another file.
    """

    @njit(cache=True)
    def sum_over_lines(*arguments):  # type: ignore[no-untyped-def]
        _ = digest
        return _sum_over_lines(*arguments)

    return sum_over_lines


_cached_sum_over_lines = _compiled(hashlib.sha256(inspect.getsource(physics).encode()).hexdigest())


@lru_cache(maxsize=16)
def _rule(resolution: Resolution) -> tuple[Array, ...]:
    """Nodes and weights: quadrant of g_out, across the lines, along a piece; and Lagrange weights at a piece's ends."""
    outer, outer_weights = hermegauss(resolution.outer)
    across, across_weights = hermegauss(resolution.across)
    nodes, weights = leggauss(resolution.nodes)
    quadrant = outer > 0.0
    differences = nodes[:, None] - nodes + np.eye(len(nodes))
    lagrange_at_left = np.prod((-1.0 - nodes + np.eye(len(nodes)) * (2.0 + nodes)) / differences, axis=1)
    ends = np.stack([lagrange_at_left, lagrange_at_left[::-1]])
    outer_weights = 2.0 * outer_weights[quadrant] / outer_weights.sum()
    return outer[quadrant], outer_weights, across, across_weights / across_weights.sum(), nodes, weights, ends


def _axes() -> tuple[float, float, float, float]:
    L11, L12, L21, L22 = (float(entry) for entry in physics.principal_axes())
    return L11, L12, L21, L22


def _require(rule: str, valid: bool, **values: float) -> None:
    if not valid:
        raise ValueError(f"{rule}, got {', '.join(f'{name} = {value!r}' for name, value in values.items())}")


def average(
    m: float, q: float, V: float, rho: float, beta: float, beta0: float, resolution: Resolution
) -> ChannelAverages:
    """M(m, q, V), its derivatives and the errors at T = 2 (theory.md, sections 2 and 3), by deterministic quadrature.

    Args:
        m, q: overlaps, eigenvalue^2, q > m^2/rho
        V: index^2/loss, positive
        rho: variance per unit of the noisy target index, index^2
        beta, beta0: inverse temperatures of student and target, 1/index

    Raises:
        ValueError: an argument outside its domain.
        ArithmeticError: a jump or a steep stretch of the minimiser could not be resolved.
    """
    _require("need rho, beta, beta0 > 0", min(rho, beta, beta0) > 0.0, rho=rho, beta=beta, beta0=beta0)
    _require("need V > 0 (for S = 0 use unlearned)", V > 0.0, V=V)
    # Closer to m^2 = q rho fewer than four digits of q - m^2/rho are left in double precision.
    distinct = q - m**2 / rho > 1e-12 * q
    _require("need q > m^2/rho (by 1e-12 q); approach the limit from larger q", distinct, m=m, q=q, rho=rho)
    teacher, independent, scale_z = physics.field_coefficients(m, q, rho)
    scale_w = float(np.hypot(teacher, independent))
    c, s = float(teacher / scale_w), float(independent / scale_w)
    setting = Setting(float(V), float(beta), float(beta0))
    train, test, dual, f_in, f_out, unresolved = _cached_sum_over_lines(
        _axes(), c, s, scale_w, float(scale_z), setting, _rule(resolution), resolution.panels, resolution.tolerance
    )
    if unresolved > resolution.tolerance:
        raise ArithmeticError(
            f"samples of probability {unresolved:.1e} not resolved at V = {V!r}: raise panels or nodes"
        )
    # gamma1 = L (c g_in + s g_out), gamma2 = L (s g_in - c g_out); R = V^2 f^T Sigma f as V f = Sigma^-1 (u - w).
    f_gamma1, f_gamma2 = c * f_in + s * f_out, s * f_in - c * f_out
    derivatives = physics.channel_derivatives(m, q, V, rho, train, V**2 * dual, f_gamma1, f_gamma2)
    return ChannelAverages(*(float(value) for value in (*derivatives, train, test)))


def unlearned(rho: float, beta: float, beta0: float, resolution: Resolution) -> ChannelAverages:
    """The same in the limit m = q = V = 0 (S = 0), where the envelope is the loss at w = 0.

    Raises:
        ValueError: an argument outside its domain.
    """
    _require("need rho, beta, beta0 > 0", min(rho, beta, beta0) > 0.0, rho=rho, beta=beta, beta0=beta0)
    # Trapezoidal rule: exponentially accurate for integrands even in each coordinate; ~100 nodes resolve beta0 ~ 10.
    x = np.linspace(0.0, CUT, 16 * resolution.outer)
    weights = np.exp(-0.5 * x**2)
    weights[0] *= 0.5
    weights /= weights.sum()
    x1, y1, product = x[:, None], x[None, :], weights[:, None] * weights
    L11, L12, L21, L22 = _axes()
    gamma1, gamma2 = L11 * x1 + L12 * y1, L21 * x1 + L22 * y1
    p1, p2 = (physics.label(np.sqrt(rho) * gamma, beta0) for gamma in (gamma1, gamma2))
    slope1, slope2 = physics.loss_gradient(0.0, 0.0, p1, p2, beta)
    curvature = physics.curvature_trace(*physics.loss_hessian(0.0, 0.0, p1, p2, beta))
    loss = np.sum(product * physics.sample_loss(0.0, 0.0, p1, p2, beta))
    dual = np.sum(product * physics.dual_energy(-slope1, -slope2))
    overlap = np.sum(product * (-slope1 * gamma1 - slope2 * gamma2))
    derivatives = physics.unlearned_derivatives(rho, loss, dual, overlap, np.sum(product * curvature))
    return ChannelAverages(*(float(value) for value in (*derivatives, loss, loss)))


def with_error(
    evaluate: Callable[[Resolution], ChannelAverages], resolution: Resolution
) -> tuple[ChannelAverages, ChannelAverages]:
    """Averages at resolution.refined() and their distances from those at resolution, an estimate of the latter's error.

    evaluate: ``lambda resolution: average(m, q, V, rho, beta, beta0, resolution)`` or the same with unlearned.
    """
    coarse, fine = evaluate(resolution), evaluate(resolution.refined())
    return fine, ChannelAverages(*(abs(a - b) for a, b in zip(fine, coarse, strict=True)))
