"""Integrals along one Gaussian line of the student field, piece by piece between the jumps of the
proximal map.
"""

from typing import NamedTuple

import numpy as np

from numeric.channel.softmax.pair_minimiser import (
    Setting,
    descend,
    dual_field,
    energy_at,
    follow,
    global_minimiser,
    sample,
)
from numeric.maths.kernels import inner
from numeric.model import float64 as physics

# standard deviations kept of a Gaussian line; the rest has probability 3e-12, below every error
# estimate
CUT = 7.0
MAX_PIECES_PER_PANEL = (
    4096  # of one panel, cut or not: with the sharpest labels it takes some hundreds
)

_loss, _loss_gradient, _dual_energy = (
    inner(physics.sample_loss),
    inner(physics.loss_gradient),
    inner(physics.dual_energy),
)


class Piece(NamedTuple):
    """A piece of a line, with the minimisers at both ends on the branch inside."""

    left: float
    a1: float
    a2: float
    right: float
    b1: float
    b2: float


@inner
def _put(piece, stack, place):
    """Leave a piece on the stack."""
    for k, value in enumerate(piece):
        stack[place, k] = value


@inner
def _locate_change(piece, line, setting):
    """Locate the change of the minimiser between a at x = left and b at x = right.

    If the branches of a and b coexist, the change is a jump, at equal energies: a secant iteration
    kept inside a bisection.  If they merge, it is where the branch is steepest.  Returns x, whether
    it is a jump, and both sides.
    """
    left, a1, a2, right, b1, b2 = piece
    x, last_x, last_difference = 0.5 * (left + right), np.nan, np.nan
    for _ in range(60):
        c1, c2, energy_c = follow(x, line, a1, a2, setting)
        d1, d2, energy_d = follow(x, line, b1, b2, setting)
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


@inner
def nearly_unlearned(setting: Setting) -> bool:
    """Return whether the proximal map hardly moves.

    Then f is close to the field of S = 0, which depends on the labels alone and is averaged
    separately: what is left is as small as S. For larger V the two are unlike, and their difference
    would cancel.
    """
    return setting.V * setting.beta**2 < 1e-2


@inner
def _integrate_piece(piece, line, setting, nodes, weights, ends, sums):
    """Gauss-Legendre sums over a piece, on the branch of a; returns how far the branch's
    interpolant misses a and b.

    sums: loss at u, loss at w, f^T Sigma f, f1, f2, x f1, x f2 with f the dual field; in the last
    four less the field of S = 0 if `nearly_unlearned`.
    """
    left, a1, a2, right, b1, b2 = piece
    centre, half = 0.5 * (left + right), 0.5 * (right - left)
    for k in range(len(sums)):
        sums[k] = 0.0
    slope1, slope2 = (b1 - a1) / (right - left), (b2 - a2) / (right - left)
    miss_a1, miss_a2, miss_b1, miss_b2 = a1, a2, b1, b2
    u1, u2, last = a1, a2, left
    for k in range(len(nodes)):
        x = centre + half * nodes[k]
        at = sample(line, x, setting)
        v1, v2 = descend(u1 + slope1 * (x - last), u2 + slope2 * (x - last), at, setting, np.inf)
        slope1, slope2 = (v1 - u1) / (x - last), (v2 - u2) / (x - last)
        u1, u2, last = v1, v2, x
        miss_a1, miss_a2 = miss_a1 - ends[0, k] * u1, miss_a2 - ends[0, k] * u2
        miss_b1, miss_b2 = miss_b1 - ends[1, k] * u1, miss_b2 - ends[1, k] * u2
        f1, f2 = dual_field(u1, u2, at.w1, at.w2, setting.V)
        if (
            setting.V < 1.0
        ):  # the same number without the cancellation in (u - w)/V, as u is stationary
            slope_1, slope_2 = _loss_gradient(u1, u2, at.p1, at.p2, setting.beta)
            f1, f2 = -slope_1, -slope_2
        weight = half * weights[k] * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
        sums[0] += weight * _loss(u1, u2, at.p1, at.p2, setting.beta)
        sums[1] += weight * _loss(at.w1, at.w2, at.p1, at.p2, setting.beta)
        sums[2] += weight * _dual_energy(f1, f2)
        if nearly_unlearned(setting):
            slope_1, slope_2 = _loss_gradient(0.0, 0.0, at.p1, at.p2, setting.beta)
            f1, f2 = f1 + slope_1, f2 + slope_2
        sums[3] += weight * f1
        sums[4] += weight * f2
        sums[5] += weight * x * f1
        sums[6] += weight * x * f2
    return abs(miss_a1) + abs(miss_a2) + abs(miss_b1) + abs(miss_b2)


@inner
def _split(piece, line, setting, stack, place):
    """Cut a piece at its jump or steepest point: its right half goes to this place of the stack,
    its left half on top.
    """
    x, jump, a1, a2, b1, b2 = _locate_change(piece, line, setting)
    if (
        not jump and not 0.02 < (x - piece.left) / (piece.right - piece.left) < 0.98
    ):  # already cut there
        x = 0.5 * (piece.left + piece.right)
    at = sample(line, x, setting)
    c1, c2 = global_minimiser(a1, a2, at, setting)
    third_branch = energy_at(c1, c2, at, setting) < energy_at(a1, a2, at, setting) - 1e-10
    if not jump or third_branch:
        a1, a2, b1, b2 = c1, c2, c1, c2
    _put(Piece(x, b1, b2, piece.right, piece.b1, piece.b2), stack, place)
    _put(Piece(piece.left, piece.a1, piece.a2, x, a1, a2), stack, place + 1)


@inner
def _integrate_panel(stack, line, setting, nodes, weights, ends, tolerance, sums, total):
    """Add the integral over the panel stack[0] to total; returns the probability of what could not
    be resolved.
    """
    pieces, done, unresolved = 1, 0, 0.0
    while pieces > 0:
        pieces -= 1
        done += 1
        row = stack[pieces]
        piece = Piece(row[0], row[1], row[2], row[3], row[4], row[5])
        left, right = piece.left, piece.right
        if right - left < 1e-12:  # a jump at the very end of a piece
            continue
        miss = _integrate_piece(piece, line, setting, nodes, weights, ends, sums)
        nearest = 0.0 if left < 0.0 < right else min(abs(left), abs(right))
        probability = (right - left) * np.exp(-0.5 * nearest**2) / np.sqrt(2.0 * np.pi)
        resolved = (
            miss * setting.beta
        ) ** 2 * probability < tolerance**2  # Gauss rules converge like miss^2
        # Depth alone does not bound the time: what is not a number is never resolved, and halved
        # for ever.
        if resolved or pieces + 2 > len(stack) or done > MAX_PIECES_PER_PANEL or not miss < np.inf:
            for k in range(len(sums)):
                total[k] += sums[k]
            unresolved += 0.0 if resolved else probability
            continue
        _split(piece, line, setting, stack, pieces)
        pieces += 2
    return unresolved


@inner
def integrate_line(line, setting, panels, nodes, weights, ends, tolerance, stack, sums, total):
    """Integrals along a line, left in total (as in _integrate_piece); returns the unresolved
    probability.
    """
    for k in range(len(total)):
        total[k] = 0.0
    unresolved, left = 0.0, -CUT
    at = sample(line, left, setting)
    a1, a2 = global_minimiser(at.w1, at.w2, at, setting)
    for panel in range(panels):
        right = CUT * (2.0 * (panel + 1) / panels - 1.0)
        b1, b2 = global_minimiser(a1, a2, sample(line, right, setting), setting)
        _put(Piece(left, a1, a2, right, b1, b2), stack, 0)
        unresolved += _integrate_panel(
            stack, line, setting, nodes, weights, ends, tolerance, sums, total
        )
        left, a1, a2 = right, b1, b2
    return unresolved
