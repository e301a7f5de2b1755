"""Spectral factor of the replicon: double integral of the squared divided difference of the
shrinkage (theory note, section 3).

With x > y, the divided difference D(x, y) is 1 if y is above the threshold b, and 0 if x is below
it. Between, for x > b > y, it is X/(X + Y) with X = x - b and Y = b - y, and singular only at the
corner X = Y = 0. Both integrals are therefore cut into panels that shrink geometrically towards the
corner. The integrand is analytic on each panel. Elsewhere panels are halved until the mass of each
is known.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from numeric.laws.law import Array, Target, edge_grid
from numeric.model import float64 as generated

_NODES, _WEIGHTS = leggauss(12)  # the error on a panel [a, 4a] from the corner at 0 is about 3^-24
_LEVELS = 13  # the omitted corner has the relative area (4^-13)^2 = 2e-16
# If more intervals belong to single eigenvalues, the integral of D is returned as a bound.
MAX_SINGLE_INTERVALS = 1000
# An interval is treated as a point up to this width / distance from b; the error is its square.
NARROW = 1e-3
_EITHER_SIGN_NODES = 60  # nodes on each piece of the support
# Up to this width / distance from the threshold five nodes suffice: the error is
# (width/4 distance)^10 = 1e-13.
_FAR, _FAR_NODES = 0.2, 5
_RESOLVED = 1e-12  # accepted change of a panel's mass when it is halved
# Where two intervals merge, the density grows like the cube root of the distance; the mass of a
# panel there is below _RESOLVED after 30 halvings.
_HALVINGS = 30
# Maximum number of panels, as a multiple of the initial number. More are only requested if the
# density is dominated by rounding, as for a narrow bulk far from 0.
_GROWTH = 8


class SecondDifference(NamedTuple):
    """Value of the double integral and estimate of its error.

    Both are infinite if the rank limit acts, because the shrinkage then has a jump.
    """

    value: float
    error: float


class _Panels(NamedTuple):
    """Panels of the quadrature, in the angle of the Chebyshev map of their bulk [low, high].

    `origin` is the angle of the corner x = b, and [start, end] is the panel, relative to `origin`.
    """

    low: Array
    high: Array
    origin: Array
    start: Array
    end: Array


def second_difference(
    target: Target, v: float, b: float, quantile: float | None = None
) -> SecondDifference:
    """Return the double integral of D(x, y)^2 over mu_v, with D(x, y) = [(x - b)_+ - (y - b)_+]/(x
    - y).

    The error estimate compares the double integral of D, on the same nodes, with the closed form of
    J_v.

    Args:
        target: law of the target.
        v: variance of the semicircle, eigenvalue^2.
        b: threshold, eigenvalue.
        quantile: eigenvalue at which the rank limit cuts the law; None if it does not act.

    Raises:
        Unresolved: b is too close to an edge of the support for the closed form.
    """
    if quantile is not None:
        return SecondDifference(np.inf, np.inf)
    if b >= target.upper_edge(v):
        return SecondDifference(0.0, 0.0)
    support = target.support(v)
    if b <= support[0][0]:
        return SecondDifference(1.0, 0.0)
    single = target.single_intervals(v)
    if len(single) > MAX_SINGLE_INTERVALS:
        bound = target.values(v, b).J_v  # as 0 <= D <= 1
        return SecondDifference(bound, bound)
    offsets, masses = _nodes(target, v, b, support, single)
    above = offsets > 0
    D = generated.divided_difference(offsets[above][:, None], offsets[~above][None, :], 0.0)
    mass = float(masses[above].sum())
    once = float(generated.first_difference(mass, masses[above] @ D @ masses[~above]))
    twice = float(generated.second_difference(mass, masses[above] @ D**2 @ masses[~above]))
    error = abs(once - target.values(v, b).J_v) + abs(float(masses.sum()) - 1.0) * twice
    return SecondDifference(twice, error + _RESOLVED)


def either_sign_second_difference(
    target: Target, v: float, b: float, J_v: float
) -> SecondDifference:
    """Return the double integral for eigenvalues learned with either sign: sign(x) (|x| - b)_+
    replaces (x - b)_+.

    Nodes are those of a Chebyshev rule on each piece of the support below -b, between -b and b, and
    above b. A piece far from b has few nodes. D is bounded; the error due to the corners, about
    1e-4, is included in the error estimate.

    Args:
        target: law of the target.
        v: variance of the semicircle, eigenvalue^2.
        b: threshold, eigenvalue.
        J_v: closed form of the double integral of D, both ends together.
    """
    if b == 0:
        return SecondDifference(1.0, 0.0)
    single = target.single_intervals(v)
    if len(single) > MAX_SINGLE_INTERVALS:
        return SecondDifference(J_v, J_v)  # a bound, as 0 <= D <= 1
    low = single[:, 0]
    narrow, skipped = _narrow(single, np.minimum(np.abs(low - b), np.abs(low + b)))
    ends = np.array([-b, b])
    pieces = [
        (low, high)
        for interval in target.support(v)
        if interval not in skipped
        for low, high in pairwise(np.unique([*interval, *np.clip(ends, *interval)]))
    ]
    grids = [edge_grid(low, high, _nodes_between(low, high, b)) for low, high in pieces]
    x, masses = (np.concatenate([np.zeros(0), *(grid[k] for grid in grids)]) for k in (0, 1))
    masses = np.concatenate([narrow[:, 2], masses * target.density(v, x)])
    x = np.concatenate([narrow[:, :2].mean(axis=1), x])
    positive, negative = x > b, x < -b
    learned = positive | negative
    shrunk = np.sign(x) * np.maximum(np.abs(x) - b, 0.0)
    # D = 1 if x and y are both above b, or both below -b.
    once = twice = float(masses[positive].sum() ** 2 + masses[negative].sum() ** 2)
    for rows, columns in ((positive, negative), (learned, ~learned)):
        D = (shrunk[rows][:, None] - shrunk[columns]) / (x[rows][:, None] - x[columns])
        once += 2 * float(masses[rows] @ D @ masses[columns])
        twice += 2 * float(masses[rows] @ D**2 @ masses[columns])
    return SecondDifference(twice, abs(once - J_v) + abs(float(masses.sum()) - 1.0) * twice)


def _nodes_between(low: float, high: float, b: float) -> int:
    """Return the number of nodes on a piece of the support.

    The rule is exact for a semicircle times a polynomial, and D is smooth if the thresholds are
    far.
    """
    distance = min(abs(end - threshold) for end in (low, high) for threshold in (b, -b))
    return _FAR_NODES if high - low < _FAR * distance else _EITHER_SIGN_NODES


def _nodes(
    target: Target, v: float, b: float, support: list[tuple[float, float]], single: Array
) -> tuple[Array, Array]:
    """Return the nodes, as offsets x - b, and masses of a quadrature of mu_v.

    An interval of one eigenvalue far from b is one node.
    """
    narrow, skipped = _narrow(single, np.abs(single[:, :2].mean(axis=1) - b))
    found: list[tuple[Array, Array]] = [(narrow[:, :2].mean(axis=1) - b, narrow[:, 2])]
    intervals = [interval for interval in support if interval not in skipped]
    if not intervals:
        return found[0]
    panels = _first_panels(intervals, b)
    most = _GROWTH * len(panels.start)
    offsets, masses = _evaluated(target, v, b, panels)
    for _ in range(_HALVINGS):
        middle = 0.5 * (panels.start + panels.end)
        halves = [
            _evaluated(target, v, b, half)
            for half in (panels._replace(end=middle), panels._replace(start=middle))
        ]
        change = masses.sum(axis=1) - sum(half[1].sum(axis=1) for half in halves)
        changed = np.abs(change) > _RESOLVED
        found.extend((half[0][~changed], half[1][~changed]) for half in halves)
        if not changed.any():
            break
        rest = _Panels(*(column[changed] for column in panels))
        halved = rest._replace(end=middle[changed]), rest._replace(start=middle[changed])
        panels = _Panels(*map(np.concatenate, zip(*halved, strict=True)))
        offsets, masses = (np.concatenate([half[k][changed] for half in halves]) for k in (0, 1))
        if len(panels.start) > most:
            found.append((offsets, masses))
            break
    else:
        found.append((offsets, masses))
    offsets, masses = (np.concatenate([part[k].ravel() for part in found]) for k in (0, 1))
    return offsets, masses


def _narrow(single: Array, distances: Array) -> tuple[Array, set[tuple[float, float]]]:
    """Return the single intervals that are treated as points, as rows and as a set of pairs of
    ends.
    """
    found = single[single[:, 1] - single[:, 0] < NARROW * distances]
    return found, {(float(low), float(high)) for low, high in found[:, :2]}


def _evaluated(target: Target, v: float, b: float, panels: _Panels) -> tuple[Array, Array]:
    """Return offsets x - b and masses at the nodes of each panel, both of shape (panels, nodes).

    With x = middle - half cos(angle), x - b is computed from the angle of the corner, without
    cancellation.
    """
    low, high, origin, start, end = (column[:, None] for column in panels)
    half = 0.5 * (high - low)
    turned = 0.5 * (start + end) + 0.5 * (end - start) * _NODES
    at_origin = np.where(origin == 0.0, low - b, np.where(origin == np.pi, high - b, 0.0))
    offsets = at_origin + 2.0 * half * np.sin(origin + 0.5 * turned) * np.sin(0.5 * turned)
    stretch = half * np.sin(origin + turned) * 0.5 * (end - start) * _WEIGHTS
    return offsets, target.density(v, b + offsets) * stretch


def _first_panels(support: list[tuple[float, float]], b: float) -> _Panels:
    """Return the initial panels: a whole bulk, or, next to b, panels that shrink geometrically
    towards the point closest to b.
    """
    rows: list[tuple[float, float, float, float, float]] = []
    for k, (low, high) in enumerate(support):
        if low < b < high:
            cosine = np.clip((low + high - 2 * b) / (high - low), -1.0, 1.0)  # clip rounding errors
            origin = float(np.arccos(cosine))
            ends = [(-origin, 4.0), (np.pi - origin, 4.0)]
        elif low >= b:
            nearest = k == 0 or support[k - 1][0] < b
            origin, ends = 0.0, [(np.pi, 2.0 if nearest else 0.0)]  # offset ~ angle^2
        else:
            nearest = k + 1 == len(support) or support[k + 1][1] > b
            origin, ends = np.pi, [(-np.pi, 2.0 if nearest else 0.0)]
        for reach, ratio in ends:
            cuts = [reach * ratio**-level for level in range(_LEVELS + 1)] if ratio else [reach]
            for start, end in map(sorted, pairwise([*cuts, 0.0])):
                rows.append((low, high, origin, start, end))
    return _Panels(*np.array(rows).T)
