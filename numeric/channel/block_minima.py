"""The lowest minimum of the Moreau energy of samples of a block, where there may be several.

A descent from the field ends in the nearest minimum, where the elastic part alone would leave the sample at rest. Another that counts
lies towards the index that fits the label, behind a barrier: a descent starts from the best place behind the first one on the
straight way there. The best place of all is none to start from: where two minima nearly tie it often lies before the barrier.
"""

from itertools import product

import numpy as np

from numeric.channel.block_sample import Array, BlockSample

PATH_POINTS = 8  # on the way from the field to each of its ends, at equal distances
CORNER = 2.0  # index times beta: where a logistic function has nine tenths of its rise, and a slope still
JUMP = 1e-3  # least distance of two minimisers of one sample, in units of 1/beta


def lowest_minimiser(sample: BlockSample, w: Array, y: Array, fit: Array, V: float) -> Array:
    """The minimiser, of shape (indices, samples) as the fields w and the indices `fit` that fit the labels y.

    The only one where the energy is convex, else that of lower energy of `two_minima`.
    """
    if sample.convex_up_to > V:
        return sample.minimiser(w, w, y, V)
    near, far = two_minima(sample, w, y, fit, V)
    return np.where(sample.energy(near, w, y, V) > sample.energy(far, w, y, V), far, near)


def two_minima(
    sample: BlockSample, w: Array, y: Array, fit: Array, V: float
) -> tuple[Array, Array]:
    """From the field and from the best place behind a barrier; the same twice where no other is found.

    Where no barrier is seen, there may be one between places: from the lowest towards the fit, or the fit if that is beside the field.
    """
    ways = [_path_energies(sample, w, y, end, V) for end in _path_ends(sample, fit)]
    places, energies = ways[0]
    start, least = (
        np.where(energies.argmin(axis=0) > 1, _lowest(places, energies)[0], fit),
        np.full(w.shape[1:], np.inf),
    )
    for places, energies in ways:
        rises = np.diff(energies, axis=0)
        behind = (np.cumsum(rises > 0, axis=0)[:-1] > 0) & (rises[1:] < 0)
        place, energy = _lowest(places[2:], np.where(behind, energies[2:], np.inf))
        start, least = np.where(energy < least, place, start), np.minimum(energy, least)
    return sample.minimiser(w, w, y, V), sample.minimiser(start, w, y, V)


def _path_ends(sample: BlockSample, fit: Array) -> list[Array]:
    """Where ways from the field lead: to the fit; a label with noise of its own fits no index, so to the corners of the output too."""
    corners = product((-CORNER, CORNER), repeat=len(fit)) if sample.noise_on_label else ()
    return [
        fit,
        *(np.reshape(corner, (-1, 1)) * sample.unit + np.zeros_like(fit) for corner in corners),
    ]


def _path_energies(
    sample: BlockSample, w: Array, y: Array, end: Array, V: float
) -> tuple[Array, Array]:
    """Places from the field to an end, and the energies there."""
    places = np.stack([w + share * (end - w) for share in np.linspace(0, 1, PATH_POINTS + 1)])
    return places, np.array([sample.energy(u, w, y, V) for u in places])


def _lowest(places: Array, energies: Array) -> tuple[Array, Array]:
    return np.take_along_axis(places, energies.argmin(axis=0)[None, None, :], axis=0)[
        0
    ], energies.min(axis=0)
