"""Spectral function of the noisy law above a position, for long lists of which few eigenvalues lie
above it.

The path integral around the whole list (numeric.laws.subordination) loses digits if a few isolated
eigenvalues of weight 1/d compete with all others. Here, each interval of the support that a gap
separates from the position is a sum of residues of its eigenvalues. The interval that contains the
position is integrated along Biane's curve, from its edge. All terms then have the size of the
result.

`s` are the eigenvalues, distinct and ascending; `w` are their weights. Both have shape (N,).
"""

from functools import partial

import numpy as np

from numeric.laws import subordination
from numeric.laws.subordination import (
    EPS,
    REORDERED,
    Array,
    compiled,
    edge_distance,
    gap_ends,
    height_above,
    locate,
    position_at,
    real_position,
    speed_along,
    stieltjes,
)
from numeric.maths.kernels import digest, entry, inner
from numeric.model import float64 as physics

_density_integrands, _residues = inner(physics.density_integrands), inner(physics.finite_residues)
_value = inner(physics.finite_value)
_SOURCES = digest(physics, subordination)
# Least gap / length of an interval for one panel over the whole interval: a neighbour is at the
# complex angle i arccosh(1 + 2 gap/length), and the panel then converges like NODES assumes.
_APART = 0.212


@compiled
def _first_above(p, v, s, w):
    """Return the index of the first eigenvalue whose interval of the support is entirely above u =
    p + i y; N if there is none.
    """
    for k in range(max(1, np.searchsorted(s, p, side="right")), len(s)):
        _, left = gap_ends(k, v, s, w)
        if left > 0.0 and p < s[k] - left:
            return k
    return len(s)


@compiled
def _sum_over_others(sums, k, s, w):
    """Compute column k of `sums`: the sums over the other eigenvalues of w/(s_k - s), w/(s_k - s)^2
    and w/|s_k - s|.
    """
    transform, spread, size = 0.0, 0.0, 0.0
    for j in range(len(s)):
        if j != k:
            inverse = 1.0 / (s[k] - s[j])
            transform += w[j] * inverse
            spread += w[j] * inverse * inverse
            size += w[j] * abs(inverse)
    sums[0, k], sums[1, k], sums[2, k] = transform, spread, size


@compiled
def _add_residues(total, errors, first, v, x, s, w, sums):
    """Add the residues of the eigenvalues from index `first` on; all their intervals lie above
    x.
    """
    for k in range(first, len(s)):
        if np.isnan(sums[0, k]):
            _sum_over_others(sums, k, s, w)
        transform, spread, size = sums[0, k], sums[1, k], sums[2, k]
        # Relative rounding error of the position s + v g0(s) - x and of its multiples.
        rounding = (
            (8.0 + np.sqrt(len(s)))
            * EPS
            * (1.0 + (s[k] + v * size + abs(x)) / abs(position_at(s[k], transform, v) - x))
        )
        J, J_v, J_b, _, J_bv, mass = _residues(w[k], s[k], transform, spread, v, x)
        for i, value in enumerate((J, J_v, J_b, J_bv, mass)):
            total[i] += value
            errors[i] += rounding * abs(value)


@compiled
def _in_lower_fringe(p, last, v, s, w):
    """Return whether u = p + i y is to the left of all eigenvalues of its interval, where the curve
    ends in another root.

    `last` is the index of the highest of these eigenvalues.
    """
    above = last + 1
    while above > 0 and s[above - 1] > p:
        above -= 1
    return above == 0 or (above <= last and gap_ends(above, v, s, w)[0] > 0.0)


@compiled
def _add_node(total, errors, along, stretch, height, unit, v, x, s, w):
    """Add the integrand above u = `along` on Biane's curve, times d(along) = `stretch`, and return
    the height of the curve there.
    """
    height = height_above(along, v, s, w, height)
    g = stieltjes(complex(along, np.sqrt(height)), s, w)
    _, speed = speed_along(along, height, v, s, w)
    J, J_v, J_b, _, J_bv, mass = _density_integrands(position_at(along, g.real, v), g, x)
    for i, value in enumerate((J, J_v, J_b, J_bv, mass)):
        part = _value(value) * (speed * stretch)
        total[i] += part
        errors[i] += unit * abs(part)
    return height


@compiled
def _narrower_gap(first, last, right, left, v, s, w):
    """Return the distance in u from the interval of eigenvalue `last` to the nearer of its two
    neighbours.
    """
    above = s[first] - gap_ends(first, v, s, w)[1] - (s[last] + right) if first < len(s) else np.inf
    below = s[last] - left - (s[last - 1] + gap_ends(last, v, s, w)[0]) if last > 0 else np.inf
    return min(above, below)


@compiled
def _add_interval(total, errors, p, first, nodes, weights, v, x, s, w):
    """Add the part above x of the interval of the support below eigenvalue `first`, along Biane's
    curve from its edge to p.

    The curve starts at the edge like a square root. It is analytic within the distance to the
    nearest eigenvalue, and panels are shorter than this. Beyond the last eigenvalue the other edge
    is near, and errors are set to infinity.
    """
    last = first - 1
    if first < len(s):
        right, _ = gap_ends(first, v, s, w)
    else:
        right = edge_distance(last, 1.0, np.inf, v, s, w)
    edge = s[last] + right
    if p >= edge:  # x is in the gap
        return
    left = gap_ends(last, v, s, w)[1] if last > 0 else edge_distance(0, -1.0, np.inf, v, s, w)
    # One panel converges if the neighbours are far; otherwise the interval is cut into panels.
    alone = left > 0.0 and _narrower_gap(first, last, right, left, v, s, w) > _APART * (
        left + right
    )
    if not alone and _in_lower_fringe(p, last, v, s, w):
        for k in range(len(errors)):
            errors[k] = np.inf
        return
    radius = 0.5 * (left + right) if alone else min(edge - p, right / 3.0)
    end = np.arccos(max(-1.0, 1.0 - (edge - p) / radius)) if alone else 0.5 * np.pi
    unit = (
        (8.0 + np.sqrt(len(s)))
        * EPS
        * (1.0 + (abs(x) + abs(p)) / (real_position(last, right, v, s, w) - x))
    )
    height = 0.0
    for k in range(len(nodes)):
        angle = 0.5 * end * (1.0 + nodes[k])
        along, stretch = (
            edge - radius * (1.0 - np.cos(angle)),
            radius * np.sin(angle) * 0.5 * end * weights[k],
        )
        height = _add_node(total, errors, along, stretch, height, unit, v, x, s, w)
    if alone:
        return
    start = edge - radius
    while start > p:
        nearest = np.inf
        for k in range(len(s)):
            nearest = min(nearest, abs(start - s[k]))
        height = height_above(start, v, s, w, height)
        stop = max(p, start - 0.5 * np.hypot(nearest, np.sqrt(height)))
        half = 0.5 * (start - stop)
        for k in range(len(nodes)):
            along = start - half * (1.0 + nodes[k])
            height = _add_node(total, errors, along, half * weights[k], height, unit, v, x, s, w)
        start = stop


@partial(entry, fastmath=REORDERED)
def _fill_from_gap(v, x, s, w, sums, nodes, weights, total, errors, sources=_SOURCES):
    p, _ = locate(x, v, s, w)
    first = _first_above(p, v, s, w)
    _add_residues(total, errors, first, v, x, s, w, sums)
    _add_interval(total, errors, p, first, nodes, weights, v, x, s, w)


def from_gap(
    v: float, x: float, s: Array, w: Array, sums: Array, nodes: Array, weights: Array
) -> tuple[Array, Array]:
    """Return J, J_v, J_b, J_bv and mass above x, and estimates of their rounding errors.

    If few eigenvalues lie above x, this cancels far less than a path around all of them.

    Args:
        v: variance of the semicircle, eigenvalue^2.
        x: position, eigenvalue.
        s: eigenvalues, shape (N,), distinct and ascending.
        w: weights, shape (N,).
        sums: results of `_sum_over_others`, shape (3, N); NaN if not known yet. They depend on
            neither v nor x.
        nodes: nodes of the quadrature on [-1, 1].
        weights: weights of the quadrature.

    Returns:
        Values and errors, both of shape (5,).
    """
    total, errors = np.zeros(5), np.zeros(5)
    _fill_from_gap(v, x, s, w, sums, nodes, weights, total, errors)
    return total, errors
