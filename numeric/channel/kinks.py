"""Minimiser of the Moreau energy of one index if the loss has kinks or jumps.

Signs of linear functions a u + b tell the pieces of the loss apart. In each piece, the smooth
energy of this piece is minimised between its ends; the lowest of these minima is the minimiser. It
stays at a convex kink for an interval of fields, and jumps over a concave one. Both places are
located.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numeric.channel.block_sample import Array, BlockSample

STEPS = 100  # Newton steps or bisections
TOLERANCE = 1e-12  # relative length of the last step
BISECTIONS = 60  # of an interval of fields with a jump
# Range of the scan for the index of least mean loss, over that of kinks and targets; its places;
# and the steps after it, each of which leaves two thirds of an interval.
REACH, SCAN, THIRDS = 2.0, 101, 60


class PieceMinima(NamedTuple):
    """Minima of the energy within each piece, shape (pieces, samples).

    Attributes:
        u: indices.
        energy: Moreau energies, infinite in an empty piece.
        inside: whether a minimum is not at an end of its piece.
    """

    u: Array
    energy: Array
    inside: NDArray[np.bool_]


def piece_minima(sample: BlockSample, w: Array, y: Array, V: float) -> PieceMinima:
    """Return the minimum of each piece.

    Args:
        sample: block of one visible index.
        w: student fields, shape (1, samples).
        y: labels, shape (numbers, samples).
        V: response, index^2/loss.
    """
    a, b = sample.kink_lines(y)
    places = np.sort(_kink_places(a, b), axis=0)
    end = np.full((1, places.shape[1]), np.inf)
    low, high = np.vstack([-end, places]), np.vstack([places, end])
    found = [
        _minimum(sample, w, y, V, np.sign(a * _between(*ends) + b), *ends)
        for ends in zip(low, high, strict=True)
    ]
    u = np.array([one for one, _ in found])
    energy = np.where(low < high, [one for _, one in found], np.inf)
    return PieceMinima(u, energy, (u > low) & (u < high))


def lowest_of_pieces(sample: BlockSample, w: Array, y: Array, V: float) -> Array:
    """Return the minimisers, shape (1, samples).

    Args:
        sample: block of one visible index.
        w: student fields, shape (1, samples).
        y: labels, shape (numbers, samples).
        V: response, index^2/loss.
    """
    minima = piece_minima(sample, w, y, V)
    lowest = minima.energy.argmin(axis=0)[None]
    return np.take_along_axis(minima.u, lowest, axis=0)


def two_of_pieces(sample: BlockSample, w: Array, y: Array, V: float) -> tuple[Array, Array]:
    """Return the lowest minimum, and the lowest other one inside a piece or else the same.

    Args:
        sample: block of one visible index.
        w: student fields, shape (1, samples).
        y: labels, shape (numbers, samples).
        V: response, index^2/loss.
    """
    minima = piece_minima(sample, w, y, V)
    lowest = minima.energy.argmin(axis=0)[None]
    others = np.where(minima.inside, minima.energy, np.inf)
    np.put_along_axis(others, lowest, np.inf, axis=0)
    second = np.where(np.isfinite(others.min(axis=0)), others.argmin(axis=0), lowest[0])[None]
    first = np.take_along_axis(minima.u, lowest, axis=0)
    return first, np.take_along_axis(minima.u, second, axis=0)


def index_of_least_mean(sample: BlockSample, h0: Array, y: Array, weights: Array) -> Array:
    """Return the indices with the least mean loss over several labels each, shape (1, points).

    Between the kinks a mean may have several minima: the lowest place of a scan is refined.

    Args:
        sample: block of one visible index.
        h0: target indices, shape (1, points).
        y: labels, shape (numbers, points, labels).
        weights: weights of the labels, shape (labels,) or (points, labels).
    """
    places = _kink_places(*sample.kink_lines(y))
    reach = np.max(np.abs(places[np.isfinite(places)]), initial=0.0)
    reach = REACH * max(float(reach), float(np.max(np.abs(h0))))

    def mean(u: Array) -> Array:
        at = np.repeat(u[None, :, None], y.shape[-1], axis=2)
        return np.asarray(np.sum(weights * sample.loss(at, y), axis=-1))

    scan = np.linspace(-reach, reach, SCAN)
    scanned = np.array([mean(np.full(h0.shape[1], u)) for u in scan])
    low = scan[scanned.argmin(axis=0)] - (scan[1] - scan[0])
    high = low + 2 * (scan[1] - scan[0])
    for _ in range(THIRDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        falls = mean(left) > mean(right)
        low, high = np.where(falls, left, low), np.where(falls, high, right)
    return ((low + high) / 2)[None]


def kinked_fields(sample: BlockSample, y: Array, V: float) -> Array:
    """Return the fields at which minimiser or loss have a kink or a jump, shape (fields, samples).

    A kink that a label does not have is at infinity.

    Args:
        sample: block of one visible index.
        y: labels, shape (numbers, samples).
        V: response, index^2/loss.
    """
    a, b = sample.kink_lines(y)
    places, stiffness = _kink_places(a, b), V * float(sample.covariance[0, 0])
    found = [*places]
    for k, place in enumerate(places):
        at = np.where(np.isfinite(place), place, 0.0)
        sides = np.sign(a * at + b)
        before, after = (
            np.where(
                np.isfinite(place),
                at + stiffness * _slope(sample, at, y, sides, k, side * a[k]),
                np.inf,
            )
            for side in (-1, 1)
        )
        found += [before, after]
        if np.any(before > after):
            found.append(_jump(sample, at, y, V, after, before))
    return np.array(found)


def _slope(sample: BlockSample, at: Array, y: Array, sides: Array, kink: int, side: Array) -> Array:
    """Return the slope of the loss on one side of a kink."""
    sides = sides.copy()
    sides[kink] = np.sign(side)
    return np.asarray(sample.gradient(at[None], y, sides)[0])


def _jump(sample: BlockSample, place: Array, y: Array, V: float, low: Array, high: Array) -> Array:
    """Return the field above which the minimiser is above a concave kink."""
    jumps = high > low
    low, high = np.where(jumps, low, 0.0), np.where(jumps, high, 0.0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = lowest_of_pieces(sample, middle[None], y, V)[0] > place
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(jumps, (low + high) / 2, np.inf)


def _kink_places(a: Array, b: Array) -> Array:
    """Return the indices where a u + b = 0, infinite if there is none."""
    return np.divide(-b, a, out=np.full_like(b, np.inf), where=a != 0)


def _between(low: Array, high: Array) -> Array:
    """Return an index between the ends of each piece, which may be infinite."""
    no_low, no_high = np.isinf(low), np.isinf(high)
    inner = (np.where(no_low, 0, low) + np.where(no_high, 0, high)) / 2
    inner = np.where(no_low & ~no_high, np.where(no_high, 0, high) - 1, inner)
    return np.where(~no_low & no_high, np.where(no_low, 0, low) + 1, inner)


def _minimum(
    sample: BlockSample, w: Array, y: Array, V: float, sides: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """Return the minimum of a piece and its energy, by Newton steps that a bracket limits."""
    stiffness = float(sample.precision[0, 0]) / V

    def slope_at(u: Array) -> Array:
        return np.asarray(sample.gradient(u[None], y, sides)[0] + stiffness * (u - w[0]))

    u, ends = np.clip(w[0], low, high), []
    for end, side in ((low, 1), (high, -1)):  # an end is the minimum if the energy falls to it
        at = np.where(np.isfinite(end), end, 0.0)
        ends.append(np.isfinite(end) & (side * slope_at(at) >= 0))
    u = np.where(ends[0], low, np.where(ends[1], high, u))
    u = np.where(np.isfinite(u), u, 0.0)  # an empty piece
    settled = ends[0] | ends[1] | ~(low < high)
    below, above = low, high  # the slope is negative below and positive above
    for _ in range(STEPS):
        slope = slope_at(u)
        curvature = sample.hessian(u[None], y, sides)[0, 0] + stiffness
        below, above = np.where(slope < 0, u, below), np.where(slope > 0, u, above)
        step = u - slope / np.where(curvature > 0, curvature, stiffness)
        middle = (
            np.where(np.isfinite(below), below, 0) + np.where(np.isfinite(above), above, 0)
        ) / 2
        outside = (step < below) | (step > above)
        moved = np.where(settled, u, np.where(outside, middle, step))
        change = np.abs(moved - u)
        u = moved
        if np.all(change <= TOLERANCE * (1 + np.abs(u))):
            break
    energy = sample.loss(u[None], y, sides) + stiffness * (u - w[0]) ** 2 / 2
    return u, energy
