"""Compiled kernels for a finite list of eigenvalues: the physical root of u + v G(u) = x, edges,
and the path integral of J.

The physical root follows Biane's curve (theory note, section 4). Above each real p, the height y of
the curve is the root of sum_k w_k/((p - s_k)^2 + y^2) = 1/v, or 0 if the sum at y = 0 is smaller.
The position x = p + v Re G(p + iy) increases with p. So the root is found from two nested monotone
equations of one variable, and no choice among several roots is needed.

`s` are the eigenvalues, distinct and ascending; `w` are their weights. Both have shape (N,).
"""

from functools import lru_cache, partial

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from numeric.maths.kernels import digest, entry, inner
from numeric.model import float64 as physics

#: The order of sums over eigenvalues may change, because their terms have one sign or are compared
#: with such sums.
REORDERED = {"reassoc", "contract"}
compiled = partial(inner, fastmath=REORDERED)
_primitives, _integrands = inner(physics.finite_primitives), inner(physics.finite_integrands)
_strength_integrands = inner(physics.strength_integrands)
position_at, slope_between = inner(physics.noisy_position), inner(physics.noisy_slope)
curve_speed = inner(physics.curve_speed)

Array = NDArray[np.float64]
EPS = 2.0**-52
_NEWTON = 200  # maximum number of steps; Newton needs fewer than 10, bisection of the bracket 60
# Nodes of a panel: for an ellipse whose semi-axes add up to 2.19, the error is 2.19^-52 = 2e-18 of
# the largest integrand.
NODES = 26
# Length of a panel in the logarithm of the height; the integrand is analytic in a strip of
# half-width pi/2.
_PANEL = 3.0
_FAR = 4.0  # radius of the quarter circle / distance of the farthest eigenvalue to the right


@lru_cache(maxsize=1)
def path_rule() -> tuple[Array, Array]:
    """Return nodes and weights of a panel of a path on [-1, 1]."""
    return leggauss(NODES)


@compiled
def _least_height(p, v, s, w):
    """Return a lower bound of y^2, from each eigenvalue alone."""
    least = 0.0
    for k in range(len(s)):
        least = max(least, v * w[k] - (p - s[k]) ** 2)
    return least


@compiled
def height_above(p, v, s, w, start):
    """Return y^2 on Biane's curve above p.

    1/sum is concave in y^2. From any start, the first Newton step lands below the root, and the
    next ones increase towards it.
    """
    least = _least_height(p, v, s, w)
    if least == 0.0:
        total = 0.0
        for k in range(len(s)):
            total += w[k] / (p - s[k]) ** 2
        if slope_between(total, v) >= 0.0:
            return 0.0
    t = max(start, least)
    for step in range(_NEWTON):
        total, square = 0.0, 0.0
        for k in range(len(s)):
            share = 1.0 / ((p - s[k]) ** 2 + t)
            total += w[k] * share
            square += w[k] * share * share
        excess = -slope_between(total, v)  # u and its conjugate have the same position on the curve
        following = max(t + excess * total / square, least)
        if abs(excess) <= 4 * EPS or (
            step > 0 and following <= t
        ):  # rounding, or no longer increasing
            return following
        t = following
    return np.nan


@compiled
def speed_along(p, t, v, s, w):
    """Return Re G at u = p + i sqrt(t) on Biane's curve, and dx/dp along it."""
    transform, spread_real, spread_imag = 0.0, 0.0, 0.0
    for k in range(len(s)):
        gap = p - s[k]
        share = 1.0 / (gap * gap + t)
        transform += w[k] * gap * share
        spread_real += w[k] * (gap * gap - t) * share * share
        spread_imag += w[k] * gap * share * share
    slope = slope_between(
        complex(spread_real, -2.0 * np.sqrt(t) * spread_imag), v
    )  # of sum w/(u - s)^2
    return transform, curve_speed(slope.real, slope.imag)


@compiled
def locate(x, v, s, w):
    """Return the physical root (Re u, Im u) at x.

    It uses safeguarded Newton steps in p = Re u; on the curve |x - p| <= v |G| <= sqrt(v).
    """
    low, high = x - np.sqrt(v), x + np.sqrt(v)
    p, t, reach = x, 0.0, high - low
    for step in range(_NEWTON):
        t = height_above(p, v, s, w, t)
        y = np.sqrt(t)
        real, speed = speed_along(p, t, v, s, w)
        residual = x - position_at(p, real, v)
        if residual > 0.0:
            low = p
        else:
            high = p
        newton = p + residual / speed
        settled = min(abs(newton - p), 0.5 * (high - low)) <= 2 * EPS * max(abs(p), y)
        if settled or abs(residual) <= EPS * (abs(x) + abs(p) + v * abs(real)):
            return p, y
        slow = step % 4 == 3 and high - low > 0.25 * reach
        following = 0.5 * (low + high) if slow or not low < newton < high else newton
        if step % 4 == 3:
            reach = high - low
        p = following
    return np.nan, np.nan


@compiled
def stieltjes(u, s, w):
    """Return G(u) for u off the real axis, or away from every eigenvalue."""
    real, imag = 0.0, 0.0
    for k in range(len(s)):
        gap = u.real - s[k]
        share = w[k] / (gap * gap + u.imag * u.imag)
        real += gap * share
        imag += share
    return complex(real, -u.imag * imag)


@entry
def _fill_transforms(x, v, s, w, found):
    for k in range(len(x)):
        p, y = locate(x[k], v, s, w)
        found[k] = stieltjes(complex(p, y), s, w)


def transforms(x: Array, v: float, s: Array, w: Array) -> NDArray[np.complex128]:
    """Return the Stieltjes transforms g = G(u) of the noisy law at each position.

    Args:
        x: positions, eigenvalue, shape (n,).
        v: variance of the semicircle, eigenvalue^2.
        s: eigenvalues, shape (N,), distinct and ascending.
        w: weights, shape (N,).
    """
    found = np.empty(len(x), dtype=np.complex128)
    _fill_transforms(x, v, s, w, found)
    return found


@compiled
def _real_slope(k, offset, s, w):
    """Return sum w/(u - s)^2 and sum w/(u - s)^3 at u = s_k + offset."""
    square, cube = 0.0, 0.0
    for j in range(len(s)):
        inverse = 1.0 / ((s[k] - s[j]) + offset)
        square += w[j] * inverse * inverse
        cube += w[j] * inverse * inverse * inverse
    return square, cube


@compiled
def real_position(k, offset, v, s, w):
    """Return x = u + v G(u) at u = s_k + offset."""
    transform = 0.0
    for j in range(len(s)):
        transform += w[j] / ((s[k] - s[j]) + offset)
    return s[k] + position_at(offset, transform, v)


@compiled
def edge_distance(k, side, room, v, s, w):
    """Return the distance from s_k at which v sum w/(u - s)^2 falls to 1, or `room` if it does not.

    `side` is 1 for the right side of s_k, and -1 for the left side. Between eigenvalues, (sum w/(u
    - s)^2)^(-1/2) is a concave function of u (a power mean of distances). Therefore Newton steps
    that start at s_k never pass the first crossing with sqrt(v), and a slope of the wrong sign
    proves that there is no crossing.
    """
    distance = np.sqrt(v * w[k])  # one eigenvalue alone
    if distance >= room:
        return room
    for _ in range(_NEWTON):
        square, cube = _real_slope(k, side * distance, s, w)
        if slope_between(square, v) >= 0.0:
            return distance
        slope = side * cube / square**1.5
        if slope <= 0.0:
            return room
        step = (np.sqrt(v) - 1.0 / np.sqrt(square)) / slope
        distance += step
        if distance >= room:
            return room
        if step <= 4 * EPS * distance:
            return distance
    return np.nan


@entry
def upper_edge(v, s, w):
    """Return the upper end of the noisy law."""
    last = len(s) - 1
    return real_position(last, edge_distance(last, 1.0, np.inf, v, s, w), v, s, w)


@compiled
def gap_ends(k, v, s, w):
    """Return the ends of the gap of the support between s_{k-1} and s_k, as distances from these
    eigenvalues; -1 if there is no gap.
    """
    room = s[k] - s[k - 1]
    # Two eigenvalues alone close a narrow gap; no sum is needed then.
    if (np.cbrt(w[k - 1]) + np.cbrt(w[k])) ** 3 * v >= room**2:
        return -1.0, -1.0
    right, left = edge_distance(k - 1, 1.0, room, v, s, w), edge_distance(k, -1.0, room, v, s, w)
    if right == room or left == room:
        return -1.0, -1.0
    return right, left


@entry
def _fill_bulks(v, s, w, rows):
    count, first = 0, 0
    low = real_position(0, -edge_distance(0, -1.0, np.inf, v, s, w), v, s, w)
    for k in range(len(s)):
        last = k + 1 == len(s)
        right, left = (
            (edge_distance(k, 1.0, np.inf, v, s, w), 0.0) if last else gap_ends(k + 1, v, s, w)
        )
        if right < 0.0:
            continue
        rows[count, 0], rows[count, 1] = low, real_position(k, right, v, s, w)
        rows[count, 2], rows[count, 3] = first, k
        count += 1
        if not last:
            first, low = k + 1, real_position(k + 1, -left, v, s, w)
    return count


def bulks(v: float, s: Array, w: Array) -> Array:
    """Return the intervals of the support, ascending: rows (low, high, first, last), the edges and
    the indices of the eigenvalues inside.

    Args:
        v: variance of the semicircle, eigenvalue^2.
        s: eigenvalues, shape (N,), distinct and ascending.
        w: weights, shape (N,).
    """
    rows = np.empty((len(s), 4))
    return rows[: _fill_bulks(v, s, w, rows)]


@compiled
def _rounding(u, distance, s):
    """Return the relative rounding error of a term at u.

    It has two parts: the random walk of a sum over N eigenvalues, and the effect of the rounding of
    u on distances from eigenvalues.
    """
    return (8.0 + np.sqrt(len(s)) + 4.0 * abs(u.real) / distance) * EPS


@compiled
def _add_integrands(total, errors, u, speed, distance, v, x, s, w, strengths):
    """Add the integrands at u times du = speed, and their errors.

    No eigenvalue is closer to u than `distance`. The order in `total` and `errors` is J, J_v, J_b,
    J_bv, mass, then J_s and J_bs for each of the `strengths`, eigenvalues of unit weight.
    """
    rounding, g = _rounding(u, distance, s), stieltjes(u, s, w)
    J, J_v, J_b, _, J_bv, mass = _integrands(u, g, v, x)
    for k, value in enumerate((J, J_v, J_b, J_bv, mass)):
        total[k] += value * speed
        errors[k] += rounding * abs(value * speed)
    for k in range(len(strengths)):
        for i, value in enumerate(_strength_integrands(u, g, v, x, strengths[k], 1.0)):
            total[5 + 2 * k + i] += value * speed
            errors[5 + 2 * k + i] += rounding * abs(value * speed)


@compiled
def _descend(total, errors, p, high, low, nearest, nodes, weights, v, x, s, w, strengths):
    """Add the vertical path above p from height `high` down to `low`, by panels in the logarithm of
    the height.
    """
    if not high > low:
        return
    span = np.log(high / low)
    count = int(span / _PANEL) + 1
    for panel in range(count):
        for k in range(len(nodes)):
            y = low * np.exp(span * (panel + 0.5 * (1.0 + nodes[k])) / count)
            speed = complex(0.0, -0.5 * span / count * weights[k] * y)
            _add_integrands(
                total, errors, complex(p, y), speed, np.hypot(nearest, y), v, x, s, w, strengths
            )


@compiled
def _foot(total, errors, p, high, low, nearest, nodes, weights, v, x, s, w, strengths):
    """Add the vertical path from `high` down to `low`, both below the distance of the nearest
    eigenvalue, in one panel.
    """
    half = 0.5 * (high - low)
    for k in range(len(nodes)):
        y = low + half * (1.0 + nodes[k])
        _add_integrands(
            total,
            errors,
            complex(p, y),
            complex(0.0, -half * weights[k]),
            np.hypot(nearest, y),
            v,
            x,
            s,
            w,
            strengths,
        )


@compiled
def _quarter(total, errors, p, radius, nodes, weights, v, x, s, w, strengths):
    """Add the quarter circle around p, from p + radius to p + i radius."""
    for k in range(len(nodes)):
        offset = radius * np.exp(0.25j * np.pi * (1.0 + nodes[k]))
        speed = 0.25j * np.pi * weights[k] * offset
        _add_integrands(
            total, errors, p + offset, speed, radius - (s[-1] - p), v, x, s, w, strengths
        )


@compiled
def _path(total, errors, p, height, nearest, nodes, weights, v, x, s, w, strengths):
    """Add the path from the real axis beyond the largest eigenvalue to p + i height."""
    turn = max(height, nearest)  # below it one panel suffices
    if p > s[-1]:  # p is beyond every eigenvalue: straight up from the axis
        _descend(total, errors, p, height, nearest, nearest, nodes, weights, v, x, s, w, strengths)
        _foot(
            total,
            errors,
            p,
            min(height, nearest),
            0.0,
            nearest,
            nodes,
            weights,
            v,
            x,
            s,
            w,
            strengths,
        )
        for k in range(len(total)):
            total[k] *= -1.0
        return
    radius = max(turn, _FAR * (s[-1] - p))
    _quarter(total, errors, p, radius, nodes, weights, v, x, s, w, strengths)
    _descend(total, errors, p, radius, turn, nearest, nodes, weights, v, x, s, w, strengths)
    if turn > height:
        _foot(total, errors, p, turn, height, nearest, nodes, weights, v, x, s, w, strengths)


_SOURCES = digest(physics)
_NONE = np.zeros(0)


@partial(entry, fastmath=REORDERED)
def _fill_spectral(v, x, s, w, strengths, nodes, weights, total, errors, sources=_SOURCES):
    p, y = locate(x, v, s, w)
    nearest = np.inf
    for k in range(len(s)):
        nearest = min(nearest, abs(p - s[k]))
    u = complex(p, y)
    J, J_v, J_b, _, J_bv, mass = _primitives(u, stieltjes(u, s, w), v, x)
    _path(total, errors, p, y, nearest, nodes, weights, v, x, s, w, strengths)
    rounding = _rounding(u, np.hypot(nearest, y), s)
    for k in range(len(total)):
        total[k] *= -1.0
    for k, end in enumerate((J, J_v, J_b, J_bv, mass)):
        total[k] += end
        errors[k] += rounding * abs(end)


def spectral(
    v: float, x: float, s: Array, w: Array, nodes: Array, weights: Array, strengths: Array = _NONE
) -> tuple[NDArray[np.complex128], Array]:
    """Return J, J_v, J_b, J_bv and mass above x as K minus the path integral, and estimates of
    their rounding errors.

    The values are complex; `finite_value` converts them to real numbers. J_s and J_bs for each of
    the `strengths`, per unit weight, follow.

    Args:
        v: variance of the semicircle, eigenvalue^2.
        x: position, eigenvalue.
        s: eigenvalues, shape (N,), distinct and ascending.
        w: weights, shape (N,).
        nodes: nodes of the quadrature on [-1, 1].
        weights: weights of the quadrature.
        strengths: eigenvalues in `s` whose derivatives are needed, shape (n,).

    Returns:
        Values and errors, both of shape (5 + 2 n,).
    """
    size = 5 + 2 * len(strengths)
    total, errors = np.zeros(size, dtype=np.complex128), np.zeros(size)
    _fill_spectral(v, x, s, w, strengths, nodes, weights, total, errors)
    return total, errors
