"""Spectral factor of the replicon: the double integral of the squared divided difference of the shrinkage (theory note, section 3).

Above the threshold the divided difference is 1, below it 0; between x > b > y it is X/(X + Y), X = x - b, Y = b - y, singular at the
corner X = Y = 0 only.  So both integrals are cut into panels that shrink geometrically towards the corner, on each of which the
integrand is analytic; elsewhere panels are halved until the mass of each is known.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from numeric.laws.law import Array, Target, edge_grid
from numeric.model import float64 as generated

_NODES, _WEIGHTS = leggauss(12)  # on a panel [a, 4a] with the corner at 0 the error falls like 3^-24
_LEVELS = 13  # the corner left out has the area (4^-13)^2 = 2e-16 of the whole
MOST_SINGLE = 1000  # intervals of single eigenvalues beyond which the integral of D is a bound on that of its square
NARROW = 1e-3  # width over distance from b up to which an interval is a point: its share errs by the square of that
_EITHER_SIGN_NODES = 60  # on each piece
# Width over distance from the threshold at which five nodes leave (width/4 distance)^10 = 1e-13.
_FAR, _FAR_NODES = 0.2, 5
_RESOLVED = 1e-12  # change of a panel's mass under halving
# Where two intervals merge the density grows like the cube root of the distance: a panel there has this mass after 30.
_HALVINGS = 30
# Panels at one time over those of the start: more are halved only where the density is rounding, as that of a narrow bulk far from 0.
_GROWTH = 8


class SecondDifference(NamedTuple):
    """Value and error estimate; both infinite where the rank limit cuts, as the shrinkage then jumps."""

    value: float
    error: float


class _Panels(NamedTuple):
    """Pieces [start, end] of the angles of their bulk: x = b + offset, measured from the angle `origin`."""

    low: Array
    high: Array
    origin: Array
    start: Array
    end: Array


def second_difference(target: Target, v: float, b: float, quantile: float | None = None) -> SecondDifference:
    """Iint D(x, y)^2 dmu_v dmu_v with D(x, y) = [(x - b)_+ - (y - b)_+]/(x - y).

    The error estimate compares, on the same nodes, the double integral of D itself with the closed form of J_v.

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
    if len(single) > MOST_SINGLE:
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


def either_sign_second_difference(target: Target, v: float, b: float, J_v: float) -> SecondDifference:
    """The same where eigenvalues of either sign are learned, sign(x) (|x| - b)_+ in place of (x - b)_+, beside the J_v of both ends.

    Nodes are those of a Chebyshev rule on each piece of the support between -b and b and beyond, few where b is far: D is bounded, and
    what the corners cost shows in the error estimate, which is of the order of 1e-4.
    """
    if b == 0:
        return SecondDifference(1.0, 0.0)
    single = target.single_intervals(v)
    if len(single) > MOST_SINGLE:
        return SecondDifference(J_v, J_v)  # a bound, as 0 <= D <= 1
    narrow, skipped = _narrow(single, np.minimum(np.abs(single[:, 0] - b), np.abs(single[:, 0] + b)))
    ends = np.array([-b, b])
    pieces = [
        (low, high)
        for interval in target.support(v)
        if interval not in skipped
        for low, high in pairwise(np.unique([*interval, *np.clip(ends, *interval)]))
    ]
    grids = [edge_grid(low, high, _nodes_between(low, high, b)) for low, high in pieces]
    x, masses = (np.concatenate([np.zeros(0), *(grid[k] for grid in grids)]) for k in (0, 1))
    x, masses = (
        np.concatenate([narrow[:, :2].mean(axis=1), x]),
        np.concatenate([narrow[:, 2], masses * target.density(v, x)]),
    )
    positive, negative = x > b, x < -b
    learned, hidden = positive | negative, ~(positive | negative)
    kept = np.sign(x) * np.maximum(np.abs(x) - b, 0.0)
    # D = 1 where both are kept at one end.
    once = twice = float(masses[positive].sum() ** 2 + masses[negative].sum() ** 2)
    for rows, columns in ((positive, negative), (learned, hidden)):
        D = (kept[rows][:, None] - kept[columns]) / (x[rows][:, None] - x[columns])
        once += 2 * float(masses[rows] @ D @ masses[columns])
        twice += 2 * float(masses[rows] @ D**2 @ masses[columns])
    return SecondDifference(twice, abs(once - J_v) + abs(float(masses.sum()) - 1.0) * twice)


def _nodes_between(low: float, high: float, b: float) -> int:
    """Nodes on a piece: the rule is exact on a semicircle times a polynomial, and D is one where no threshold is close."""
    distance = min(abs(end - threshold) for end in (low, high) for threshold in (b, -b))
    return _FAR_NODES if high - low < _FAR * distance else _EITHER_SIGN_NODES


def _nodes(
    target: Target, v: float, b: float, support: list[tuple[float, float]], single: Array
) -> tuple[Array, Array]:
    """Offsets x - b and masses of a quadrature of mu_v; a single interval far from b is one node."""
    narrow, skipped = _narrow(single, np.abs(single[:, :2].mean(axis=1) - b))
    found: list[tuple[Array, Array]] = [(narrow[:, :2].mean(axis=1) - b, narrow[:, 2])]
    rest = [interval for interval in support if interval not in skipped]
    if not rest:
        return found[0]
    panels = _first_panels(rest, b)
    most = _GROWTH * len(panels.start)
    offsets, masses = _evaluated(target, v, b, panels)
    for _ in range(_HALVINGS):
        middle = 0.5 * (panels.start + panels.end)
        halves = [
            _evaluated(target, v, b, half) for half in (panels._replace(end=middle), panels._replace(start=middle))
        ]
        changed = np.abs(masses.sum(axis=1) - sum(half[1].sum(axis=1) for half in halves)) > _RESOLVED
        found.extend((half[0][~changed], half[1][~changed]) for half in halves)
        if not changed.any():
            break
        low, high, origin, start, end = (column[changed] for column in panels)
        low, high, origin, start, end = (column[changed] for column in panels)
        low, high, origin = (np.concatenate([column] * 2) for column in (low, high, origin))
        panels = _Panels(
            low, high, origin, np.concatenate([start, middle[changed]]), np.concatenate([middle[changed], end])
        )
        offsets, masses = (np.concatenate([half[k][changed] for half in halves]) for k in (0, 1))
        if len(panels.start) > most:
            found.append((offsets, masses))
            break
    else:
        found.append((offsets, masses))
    return np.concatenate([part[0].ravel() for part in found]), np.concatenate([part[1].ravel() for part in found])


def _narrow(single: Array, distances: Array) -> tuple[Array, set[tuple[float, float]]]:
    """Those of single intervals that are points beside their distances from the threshold, as rows and as pairs of ends."""
    found = single[single[:, 1] - single[:, 0] < NARROW * distances]
    return found, {(float(low), float(high)) for low, high in found[:, :2]}


def _evaluated(target: Target, v: float, b: float, panels: _Panels) -> tuple[Array, Array]:
    """Offsets and masses at the nodes of each panel, shape (panels, nodes).

    x = middle - half cos(angle), and x - b without cancellation, from the angle at which the corner lies.
    """
    low, high, origin, start, end = (column[:, None] for column in panels)
    half = 0.5 * (high - low)
    turned = 0.5 * (start + end) + 0.5 * (end - start) * _NODES
    at_origin = np.where(origin == 0.0, low - b, np.where(origin == np.pi, high - b, 0.0))
    offsets = at_origin + 2.0 * half * np.sin(origin + 0.5 * turned) * np.sin(0.5 * turned)
    stretch = half * np.sin(origin + turned) * 0.5 * (end - start) * _WEIGHTS
    return offsets, target.density(v, b + offsets) * stretch


def _first_panels(support: list[tuple[float, float]], b: float) -> _Panels:
    """Whole bulks; those next to b cut geometrically towards the point closest to it."""
    rows: list[tuple[float, float, float, float, float]] = []
    for k, (low, high) in enumerate(support):
        if low < b < high:
            origin = float(np.arccos(np.clip((low + high - 2 * b) / (high - low), -1.0, 1.0)))  # rounding only
            ends = [(-origin, 4.0), (np.pi - origin, 4.0)]
        elif low >= b:
            nearest = k == 0 or support[k - 1][0] < b
            origin, ends = 0.0, [(np.pi, 2.0 if nearest else 0.0)]  # offsets grow like the square of the angle there
        else:
            nearest = k + 1 == len(support) or support[k + 1][1] > b
            origin, ends = np.pi, [(-np.pi, 2.0 if nearest else 0.0)]
        for reach, ratio in ends:
            cuts = [reach] if not ratio else [reach * ratio**-level for level in range(_LEVELS + 1)]
            for far, near in zip(cuts, [*cuts[1:], 0.0], strict=True):
                rows.append((low, high, origin, min(far, near), max(far, near)))
    return _Panels(*np.array(rows).T)
