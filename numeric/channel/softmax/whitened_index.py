"""The index of a sequence of T tokens in whitened components, and its visible directions.

A symmetric index has T(T+1)/2 independent Gaussian components, a general one T(T-1)/2 antisymmetric
ones besides; in whitened components the Moreau energy of a sample is sum (x - w)^2/(2 V) +
loss(h(x)). A constant added to the whole index is invisible.
"""

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numeric.model import float64 as physics

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class TokenIndex(NamedTuple):
    """H_ab = scale_ab x[component_ab] + odd_ab x[antisymmetric_ab]; these four of shape (T, T).

    symmetric: number of symmetric components, which come first
    own: which of them are scores of a token with itself
    visible: orthonormal columns, shape (components, visible directions); the symmetric ones come
    first
    curvature: how second derivatives in the indices of a row make up those in components
    """

    component: Integers
    scale: Array
    antisymmetric: Integers
    odd: Array
    symmetric: int
    own: NDArray[np.bool_]
    visible: Array
    curvature: "RowCurvature"

    @property
    def visible_symmetric(self) -> int:
        """Number of visible directions of the symmetric part."""
        components, directions = self.visible.shape
        return directions - (components - self.symmetric)


class RowCurvature(NamedTuple):
    """Entries of the lower triangle in components that the k-th pair h_ab, h_ac, c <= b, of indices
    of one row adds to.

    They are start[k] to start[k + 1] of rows, columns and coefficients; pairs are ordered by a, b,
    c.
    """

    start: Integers
    rows: Integers
    columns: Integers
    coefficients: Array


@lru_cache(maxsize=16)
def token_index(tokens: int, general: bool = False, whole: bool = False) -> TokenIndex:
    """The components of a T x T index, symmetric or general.

    If it is `whole`, the directions are the components themselves, the invisible shift included:
    then each has a variance of its own.
    """
    diagonal, offdiagonal, odd_variance = (float(value) for value in physics.index_variances())
    component, antisymmetric = (
        np.zeros((tokens, tokens), dtype=np.int64),
        np.zeros((tokens, tokens), dtype=np.int64),
    )
    scale, odd = np.zeros((tokens, tokens)), np.zeros((tokens, tokens))
    pairs = [(a, b) for a in range(tokens) for b in range(a, tokens)]
    for k, (a, b) in enumerate(pairs):
        component[a, b] = component[b, a] = k
        scale[a, b] = scale[b, a] = np.sqrt(diagonal if a == b else offdiagonal)
    unequal = [pair for pair in pairs if pair[0] != pair[1]] if general else []
    for k, (a, b) in enumerate(unequal):
        antisymmetric[a, b] = antisymmetric[b, a] = len(pairs) + k
        odd[a, b], odd[b, a] = np.sqrt(odd_variance), -np.sqrt(odd_variance)
    visible = _visible(pairs, scale, len(unequal))
    if whole:
        visible = np.eye(len(visible))
    return TokenIndex(
        component,
        scale,
        antisymmetric,
        odd,
        len(pairs),
        np.array([a == b for a, b in pairs]),
        visible,
        _row_curvature(component, scale, antisymmetric, odd),
    )


def _row_curvature(
    component: Integers, scale: Array, antisymmetric: Integers, odd: Array
) -> RowCurvature:
    tokens = len(scale)
    start, entries = [0], list[tuple[int, int, float]]()

    def parts(a: int, b: int) -> list[tuple[int, float]]:
        both = [
            (int(component[a, b]), float(scale[a, b])),
            (int(antisymmetric[a, b]), float(odd[a, b])),
        ]
        return both if odd[a, b] else both[:1]

    for a in range(tokens):
        for b in range(tokens):
            for c in range(b + 1):
                for (i, first), (j, second) in product(parts(a, b), parts(a, c)):
                    twice = b != c and i == j  # h_ab, h_ac and h_ac, h_ab add to one place
                    if b != c or i >= j:
                        entries.append(
                            (max(i, j), min(i, j), first * second * (2.0 if twice else 1.0))
                        )
                start.append(len(entries))
    rows, columns, coefficients = map(np.array, zip(*entries, strict=True))
    return RowCurvature(np.array(start), rows, columns, coefficients)


def _visible(pairs: list[tuple[int, int]], scale: Array, unequal: int) -> Array:
    """Orthonormal basis of what is visible: all of the antisymmetric part, and of the symmetric one
    all but the shift.
    """
    basis = np.zeros((len(pairs) + unequal, len(pairs) - 1 + unequal))
    basis[: len(pairs), : len(pairs) - 1] = visible_basis(np.array([scale[a, b] for a, b in pairs]))
    basis[len(pairs) :, len(pairs) - 1 :] = np.eye(unequal)
    return basis


def visible_basis(scale: Array) -> Array:
    """Orthonormal columns, shape (K, K - 1), orthogonal to the whitened components by which all
    indices scale_k x_k shift alike.

    A Householder reflection takes the shift to an axis.
    """
    shift = 1.0 / scale
    shift /= np.linalg.norm(shift)
    mirror = shift.copy()
    mirror[0] -= 1.0
    return np.eye(len(scale))[:, 1:] - 2.0 * np.outer(mirror, mirror[1:]) / (mirror @ mirror)
