"""What lies above a position of the noisy law, where few eigenvalues of a long list do.

A path around a whole list (numeric.subordination) loses a few isolated eigenvalues of weight 1/d beside all others. Here each
interval of the support that a gap separates from the position is the sum of the residues of its eigenvalues, and the one that holds
the position is integrated along Biane's curve, or by a path that starts in the gap: terms of the size of the result.

`s` are the eigenvalues, distinct and ascending, `w` their weights, both of shape (N,).
"""

import numpy as np
from numba import njit

from generated.tied_attention import float64 as physics
from numeric.compiled import digest
from numeric.subordination import (
    EPS,
    add_integrands,
    cached,
    compiled,
    descend,
    edge_distance,
    foot,
    gap_ends,
    height_above,
    locate,
    primitives,
    real_position,
    rounding_of,
    slope_along,
    stieltjes,
)

_density_integrands = njit(physics.density_integrands)
_residues = njit(physics.finite_residues)
_value = njit(physics.finite_value)


@compiled
def _first_above(p, v, s, w):  # type: ignore[no-untyped-def]
    """The first eigenvalue whose interval of the support lies above u = p + i y wholly; as many as there are if none does."""
    found = len(s)
    for k in range(len(s) - 1, 0, -1):
        if s[k] <= p:
            break
        _, left = gap_ends(k, v, s, w)
        if left > 0.0 and p < s[k] - left:
            found = k
    return found


@compiled
def _add_residues(total, errors, first, v, x, s, w):  # type: ignore[no-untyped-def]
    """Add what the eigenvalues from `first` on have, all of whose intervals lie above x."""
    for k in range(first, len(s)):
        transform, spread, size = 0.0, 0.0, 0.0
        for j in range(len(s)):
            if j != k:
                inverse = 1.0 / (s[k] - s[j])
                transform += w[j] * inverse
                spread += w[j] * inverse * inverse
                size += w[j] * abs(inverse)
        # Of the position s + v g0(s) - x, and of all that it multiplies.
        rounding = (8.0 + np.sqrt(len(s))) * EPS * (1.0 + (s[k] + v * size + abs(x)) / abs(s[k] + v * transform - x))
        J, J_v, J_b, _, J_bv, mass = _residues(w[k], s[k], transform, spread, v, x)
        for i, value in enumerate((J, J_v, J_b, J_bv, mass)):
            total[i] += value
            errors[i] += rounding * abs(value)


@compiled
def _across(total, errors, start, end, height, nodes, weights, v, x, s, w):  # type: ignore[no-untyped-def]
    """The horizontal at this height, no less than its length: one panel."""
    half = 0.5 * (end - start)
    for k in range(len(nodes)):
        along = start + half * (1.0 + nodes[k])
        add_integrands(total, errors, complex(along, height), complex(half * weights[k], 0.0), height, v, x, s, w)


@compiled
def _add_path(total, errors, p, y, edge, room, nodes, weights, v, x, s, w):  # type: ignore[no-untyped-def]
    """Add the part above x of an interval of the support of upper edge u = `edge`, by a path from the gap above, that ends at `room`.

    Up from the axis inside the gap, across, and down to p + i y.
    """
    start = edge + min(0.5 * (room - edge), edge - p)
    nearest, beside = np.inf, np.inf
    for k in range(len(s)):
        nearest, beside = min(nearest, abs(p - s[k])), min(beside, abs(start - s[k]))
    path, less = np.zeros(5, dtype=np.complex128), np.zeros(5)
    top = max(start - p, y)
    low = min(beside, top)
    foot(path, less, start, low, 0.0, beside, nodes, weights, v, x, s, w)
    descend(path, less, start, top, low, beside, nodes, weights, v, x, s, w)
    path *= -1.0  # upwards
    _across(path, less, start, p, top, nodes, weights, v, x, s, w)
    turn = max(y, min(nearest, top))
    descend(path, less, p, top, turn, nearest, nodes, weights, v, x, s, w)
    if turn > y:
        foot(path, less, p, turn, y, nearest, nodes, weights, v, x, s, w)
    u = complex(p, y)
    J, J_v, J_b, _, J_bv, mass = primitives(u, stieltjes(u, s, w), v, x)
    rounding = rounding_of(u, np.hypot(nearest, y), s)
    for k, value in enumerate((J, J_v, J_b, J_bv, mass)):
        total[k] += _value(value - path[k])
        errors[k] += less[k] + rounding * abs(value)


@compiled
def _add_interval(total, errors, p, y, first, nodes, weights, v, x, s, w):  # type: ignore[no-untyped-def]
    """Add the part above x of the interval of the support below eigenvalue `first`.

    Along Biane's curve from p to its edge where that is simple (an eigenvalue alone, or a short stretch), else by a path.
    """
    last = first - 1
    if first < len(s):
        right, below = gap_ends(first, v, s, w)
        above = s[first] - below
    else:
        right, above = edge_distance(last, 1.0, np.inf, v, s, w), np.inf
    edge = s[last] + right
    if p >= edge:  # x is in the gap
        return
    radius = edge - p
    left = gap_ends(last, v, s, w)[1] if last > 0 else edge_distance(0, -1.0, np.inf, v, s, w)
    if left > 0.0:  # alone
        radius = 0.5 * (left + right)
    elif radius > 0.5 * (p - s[last]):
        _add_path(total, errors, p, y, edge, above, nodes, weights, v, x, s, w)
        return
    end = np.arccos(max(-1.0, 1.0 - (edge - p) / radius))
    height = 0.0
    position = real_position(last, right, v, s, w)
    unit = (8.0 + np.sqrt(len(s))) * EPS * (1.0 + (abs(x) + abs(p)) / (position - x))
    for k in range(len(nodes)):
        angle = 0.5 * end * (1.0 + nodes[k])
        along = edge - radius * (1.0 - np.cos(angle))
        height = height_above(along, v, s, w, height)
        u = complex(along, np.sqrt(height))
        g = stieltjes(u, s, w)
        _, h_real, h_imag = slope_along(along, height, v, s, w)
        speed = (h_real * h_real + h_imag * h_imag) / h_real * radius * np.sin(angle) * 0.5 * end * weights[k]
        J, J_v, J_b, _, J_bv, mass = _density_integrands(along + v * g.real, g, x)
        for i, value in enumerate((J, J_v, J_b, J_bv, mass)):
            part = _value(value) * speed
            total[i] += part
            errors[i] += unit * abs(part)


@compiled
def _from_gap(v, x, s, w, nodes, weights):  # type: ignore[no-untyped-def]
    """J, J_v, J_b, J_bv, mass above x, and estimates of their rounding errors: residues of what a gap separates from x, and the
    part of the interval below the gap. Where few eigenvalues lie above x it cancels far less than a path around all of them.
    """
    p, y = locate(x, v, s, w)
    total, errors = np.zeros(5), np.zeros(5)
    first = _first_above(p, v, s, w)
    _add_residues(total, errors, first, v, x, s, w)
    _add_interval(total, errors, p, y, first, nodes, weights, v, x, s, w)
    return total, errors


from_gap = cached(digest(physics), _from_gap)
