"""The lowest minimum of the Moreau energy of samples of a block, if there may be several.

A descent from the field ends in the nearest minimum. Another relevant minimum lies towards the
index that fits the label, behind an energy barrier. A second descent starts from the lowest point
behind the first barrier on the straight path to that index. The lowest point of the whole path is
a bad start: if two minima are nearly equal, it is often before the barrier.
"""

from itertools import product

import numpy as np

from numeric.channel.block_sample import Array, BlockSample
from numeric.channel.kinks import lowest_of_pieces, two_of_pieces

PATH_POINTS = 8  # on each path from the field, at equal distances
CORNER = 2.0  # index times beta where a logistic function has 90 % of its rise
JUMP = 1e-3  # least distance of two different minimisers of one sample, in units of 1/beta


def lowest_minimiser(sample: BlockSample, w: Array, y: Array, fit: Array | None, V: float) -> Array:
    """Return the minimisers with the lower energy of `two_minima`, shape (indices, samples).

    Args:
        sample: block of visible indices.
        w: student fields, shape (indices, samples).
        y: labels, shape (numbers, samples).
        fit: indices that reproduce the labels, shape (indices, samples); None if none does.
        V: response, index^2/loss.
    """
    if sample.kinks:
        return lowest_of_pieces(sample, w, y, V)
    if sample.convex_up_to > V:
        return sample.minimiser(w, w, y, V)
    near, far = two_minima(sample, w, y, fit, V)
    return np.where(sample.energy(near, w, y, V) > sample.energy(far, w, y, V), far, near)


def two_minima(
    sample: BlockSample, w: Array, y: Array, fit: Array | None, V: float
) -> tuple[Array, Array]:
    """Return the minima nearest to the field and behind a barrier, equal if there is only one.

    If no point of a path shows a barrier, there may still be one between two points. The second
    descent then starts from the lowest point, or from the fit if that point is next to the field.

    Args:
        sample: block of visible indices.
        w: student fields, shape (indices, samples).
        y: labels, shape (numbers, samples).
        fit: indices that reproduce the labels, shape (indices, samples); None if none does.
        V: response, index^2/loss.
    """
    if sample.kinks:
        return two_of_pieces(sample, w, y, V)
    # No index reproduces a label with added noise: paths to the corners of the output as well.
    is_open = fit is None or sample.noise_on_label
    corners = product((-CORNER, CORNER), repeat=len(w)) if is_open else ()
    ends = [np.reshape(corner, (-1, 1)) * sample.unit + np.zeros_like(w) for corner in corners]
    ends = ends if fit is None else [fit, *ends]
    paths = [_path_energies(sample, w, y, end, V) for end in ends]
    points, energies = paths[0]
    start = np.where(energies.argmin(axis=0) > 1, _lowest(points, energies)[0], ends[0])
    least = np.full(w.shape[1:], np.inf)
    for points, energies in paths:
        rises = np.diff(energies, axis=0)
        behind = (np.cumsum(rises > 0, axis=0)[:-1] > 0) & (rises[1:] < 0)
        point, energy = _lowest(points[2:], np.where(behind, energies[2:], np.inf))
        start, least = np.where(energy < least, point, start), np.minimum(energy, least)
    return sample.minimiser(w, w, y, V), sample.minimiser(start, w, y, V)


def _path_energies(
    sample: BlockSample, w: Array, y: Array, end: Array, V: float
) -> tuple[Array, Array]:
    """Return points from the field to an end, and the energies there."""
    points = np.stack([w + share * (end - w) for share in np.linspace(0, 1, PATH_POINTS + 1)])
    return points, np.array([sample.energy(u, w, y, V) for u in points])


def _lowest(points: Array, energies: Array) -> tuple[Array, Array]:
    """Return the points of least energy, and the energies there."""
    lowest = energies.argmin(axis=0)[None, None, :]
    return np.take_along_axis(points, lowest, axis=0)[0], energies.min(axis=0)
