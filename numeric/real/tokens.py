"""Token vectors of a file, prepared like the inputs of an attention layer.

Their mean is removed, and each is scaled to one norm (RMS normalisation). The axes are those of
their covariance C, from the largest variance on, and tr C = d.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.domain import require
from numeric.real.tensors import TensorFile

Array = NDArray[np.float64]
#: Largest relative mean of normalised tokens, and largest number of passes. A pass removes the mean
#: and normalises; it divides the mean by about ten.
CENTRED, _PASSES = 1e-10, 200
_EMBEDDINGS = "word_embeddings.weight"  # end of the name in BERT-style files
_OPEN = 4  # files, and tables, that are kept


class TokenTable(NamedTuple):
    """Prepared token vectors.

    Attributes:
        vectors: tokens x, one row each, in the axes of C, shape (N, d).
        covariance: eigenvalues of C, descending, with sum d, shape (d,).
        axes: their directions in the coordinates of the file, shape (length of a vector, d).
        norms: variance of ||x||^2 over tr C^2, 0 for tokens of one norm.
    """

    vectors: Array
    covariance: Array
    axes: Array
    norms: float

    @property
    def whitened(self) -> Array:
        """Tokens with the covariance 1, shape (N, d)."""
        return self.vectors / np.sqrt(self.covariance)

    @property
    def covariance_square(self) -> float:
        """Tr C^2/d, 1 for isotropic tokens; d over it is an effective dimension."""
        return float(np.mean(self.covariance**2))

    @property
    def ratio(self) -> float:
        """Number N of tokens over d^2."""
        count, dim = self.vectors.shape
        return count / dim**2


@dataclass(frozen=True)
class TokenFile:
    """Token vectors in a file, and how they are prepared.

    Args:
        path: file .safetensors, .npz or .npy.
        tensor: name of the matrix, one token in each row; by default the only one, or the word
            embeddings of a BERT-style file.
        rows: first row and end of the rows that are used, all by default.
        dim: number of directions that the vectors are projected on, by default all.
        leading: project on the directions of largest variance, and not on random ones.
        normalised: scale each vector to one norm.
    """

    path: str
    tensor: str | None = None
    rows: tuple[int, int] | None = None
    dim: int | None = None
    leading: bool = True
    normalised: bool = True

    @property
    def name(self) -> str:
        """Name of the matrix in the file.

        Raises:
            InvalidParameter: several matrices could be meant, or none.
        """
        if self.tensor is not None:
            return self.tensor
        tensors = _opened(self.path).tensors
        matrices = [name for name, one in tensors.items() if len(one.shape) == 2]
        found = [name for name in matrices if name.endswith(_EMBEDDINGS)] or matrices
        if len(found) != 1:
            rule = f"has {len(matrices)} matrices, of which one must be named"
            longest = sorted(matrices, key=lambda name: tensors[name].shape[0], reverse=True)
            way_out = f"add --tensor, e.g. {', '.join(longest[:3])}" if found else "use another"
            raise InvalidParameter("file", self.path, rule, way_out)
        return found[0]

    @property
    def table(self) -> TokenTable:
        """Prepared vectors.

        Raises:
            InvalidParameter: the file has no such vectors.
        """
        return _table(self)

    @property
    def digest(self) -> str:
        """Digest of the vectors in the file and of their preparation, in hexadecimal."""
        return _digest(self)


@lru_cache(maxsize=_OPEN)
def _opened(path: str) -> TensorFile:
    return TensorFile(Path(path))


@lru_cache(maxsize=_OPEN)
def _digest(file: TokenFile) -> str:
    stated = (file.dim, file.leading, file.normalised)
    content = np.ascontiguousarray(_selected(file)).tobytes()
    return hashlib.sha256(content + repr(stated).encode()).hexdigest()[:32]


@lru_cache(maxsize=_OPEN)
def _table(file: TokenFile) -> TokenTable:
    x = _selected(file)
    count, size = x.shape
    dim = size if file.dim is None else file.dim
    rule = f"must be from 2 to {size}, the length of a vector"
    require(2 <= dim <= size, "dim", dim, rule, "use fewer directions")
    rule = f"must be more than the dimension {dim}: fewer do not determine a covariance"
    require(count > dim, "rows", count, rule, "use more rows, or project them on fewer")
    x = x - x.mean(axis=0)
    directions = _directions(x, dim, file.leading)
    x = x @ directions
    x = _normalised(x) if file.normalised else x
    values, vectors = scipy.linalg.eigh(x.T @ x / count)
    values, vectors = values[::-1], vectors[:, ::-1]
    share = float(values[-1] / values[0]) if values[0] > 0 else 0.0
    rule = "must span its directions: the least variance is not above rounding"
    require(share > dim * 2.0**-52, "rows", f"{share:.2g}", rule, "project on fewer")
    scale = dim / values.sum()
    x, covariance = np.sqrt(scale) * x @ vectors, scale * values
    squares = np.sum(x**2, axis=1)
    norms = 0.0 if file.normalised else float(np.var(squares) / np.sum(covariance**2))
    return TokenTable(x, covariance, directions @ vectors, norms)


def _selected(file: TokenFile) -> Array:
    """Return the rows that are used, shape (N, length)."""
    x = _opened(file.path).array(file.name)
    rule = "must be a matrix with one token in each row"
    require(x.ndim == 2, "tensor", f"{file.name} of shape {x.shape}", rule, "use --tensor")
    if file.rows is None:
        return x
    first, end = file.rows
    rule = f"must be two numbers from 0 to {len(x)}, the first one smaller"
    require(0 <= first < end <= len(x), "rows", f"{first}:{end}", rule, "change them")
    return x[first:end]


def _directions(x: Array, dim: int, leading: bool) -> Array:
    """Return orthonormal directions to project on, shape (length, dim).

    Args:
        x: vectors without a mean, shape (N, length).
        dim: number of directions.
        leading: whether they have the largest variance; otherwise they are random.
    """
    size = x.shape[1]
    if dim == size:
        return np.eye(size)
    if leading:
        return np.asarray(scipy.linalg.eigh(x.T @ x)[1][:, -dim:])
    normal = np.random.default_rng(0).standard_normal((size, dim))
    return np.asarray(np.linalg.qr(normal)[0])


def _normalised(x: Array) -> Array:
    """Return vectors of norm sqrt(d) without a mean; both hold after a few passes."""
    size = np.sqrt(x.shape[1])
    for _ in range(_PASSES):
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        if zero := int(np.sum(norms == 0)):
            rule = "are equal to the mean: they have no direction, and cannot be normalised"
            raise InvalidParameter("rows", f"{zero} vectors", rule, "leave them out")
        x = size * x / norms
        mean = x.mean(axis=0)
        if np.linalg.norm(mean) < CENTRED * size:
            return x
        x = x - mean
    rule = "do not lose their mean when they are normalised"
    raise InvalidParameter("rows", f"{len(x)} vectors", rule, "use more tokens")
