"""Token vectors of a file, prepared like the inputs of an attention layer.

Their mean is removed, and each is scaled to one norm (RMS normalisation). The axes are those of
their covariance C, from the largest variance on, and tr C = d.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.domain import require
from numeric.real.tensors import StoredTensor, TensorFile

Array = NDArray[np.float64]
#: Largest relative mean of normalised tokens; each pass divides it by about ten.
CENTRED, _PASSES = 1e-10, 200
_EMBEDDINGS = "word_embeddings.weight"  # end of the name in BERT-style files


class TokenTable(NamedTuple):
    """Prepared token vectors.

    Attributes:
        vectors: tokens x, one row each, in the axes of C, shape (N, d).
        covariance: eigenvalues of C, descending, with sum d, shape (d,).
        norms: variance of ||x||^2 over tr C^2, 0 for tokens of one norm.
    """

    vectors: Array
    covariance: Array
    norms: float

    @property
    def whitened(self) -> Array:
        """Tokens with the covariance 1, shape (N, d)."""
        return self.vectors / np.sqrt(self.covariance)


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

    Raises:
        InvalidParameter: the file has no such vectors.
    """

    path: str
    tensor: str | None = None
    rows: tuple[int, int] | None = None
    dim: int | None = None
    leading: bool = True
    normalised: bool = True

    @cached_property
    def stored(self) -> TensorFile:
        """The file."""
        return TensorFile(Path(self.path))

    @cached_property
    def name(self) -> str:
        """Name of the matrix in the file.

        Raises:
            InvalidParameter: several matrices could be meant, or none.
        """
        if self.tensor is not None:
            return self.tensor
        matrices = [name for name, one in self.stored.tensors.items() if len(one.shape) == 2]
        embeddings = [name for name in matrices if name.endswith(_EMBEDDINGS)]
        found = embeddings or matrices
        if len(found) != 1:
            rule = f"has {len(matrices)} matrices, of which one must be named"
            names = ", ".join(sorted(matrices, key=self._rows_of, reverse=True)[:3])
            raise InvalidParameter("file", self.path, rule, f"add --tensor, e.g. {names}")
        return found[0]

    def _rows_of(self, name: str) -> int:
        stored: StoredTensor = self.stored.tensors[name]
        return stored.shape[0]

    @cached_property
    def table(self) -> TokenTable:
        """Prepared vectors."""
        x = self._selected()
        count, size = x.shape
        dim = size if self.dim is None else self.dim
        rule = f"must be from 2 to {size}, the length of a vector"
        require(2 <= dim <= size, "dim", dim, rule, "use fewer directions")
        rule = f"must be more than the dimension {dim}: fewer do not determine a covariance"
        require(count > dim, "tokens", count, rule, "use more rows, or project them on fewer")
        x = (x - x.mean(axis=0)) @ self._directions(x, dim)
        x = self._normalised(x) if self.normalised else x
        values, vectors = scipy.linalg.eigh(x.T @ x / count)
        values, vectors = values[::-1], vectors[:, ::-1]
        rule = "must span its directions: the least variance is not above rounding"
        least = float(values[-1] / values[0])
        require(least > dim * 2.0**-52, "tokens", f"{least:.2g}", rule, "project on fewer")
        scale = dim / values.sum()
        x, covariance = np.sqrt(scale) * x @ vectors, scale * values
        squares = np.sum(x**2, axis=1)
        return TokenTable(x, covariance, float(np.var(squares) / np.sum(covariance**2)))

    def _selected(self) -> Array:
        """Return the rows that are used, shape (N, length)."""
        x = self.stored.array(self.name)
        rule = "must be a matrix with one token in each row"
        require(x.ndim == 2, "tensor", f"{self.name} of shape {x.shape}", rule, "use --tensor")
        if self.rows is None:
            return x
        first, end = self.rows
        rule = f"must be two numbers from 0 to {len(x)}, the first one smaller"
        require(0 <= first < end <= len(x), "rows", f"{first}:{end}", rule, "change them")
        return x[first:end]

    def _directions(self, x: Array, dim: int) -> Array:
        """Return orthonormal directions to project on, shape (length, dim)."""
        size = x.shape[1]
        if dim == size:
            return np.eye(size)
        if self.leading:
            centred = x - x.mean(axis=0)
            return np.asarray(scipy.linalg.eigh(centred.T @ centred)[1][:, -dim:])
        normal = np.random.default_rng(0).standard_normal((size, dim))
        return np.asarray(np.linalg.qr(normal)[0])

    @staticmethod
    def _normalised(x: Array) -> Array:
        """Return vectors of norm sqrt(d) without a mean; both hold after a few passes."""
        size = np.sqrt(x.shape[1])
        for _ in range(_PASSES):
            norms = np.linalg.norm(x, axis=1, keepdims=True)
            rule = "must not be zero: a vector without a direction has no norm"
            require(bool(np.all(norms > 0)), "tokens", "a zero vector", rule, "leave it out")
            x = size * x / norms
            mean = x.mean(axis=0)
            if np.linalg.norm(mean) < CENTRED * size:
                return x
            x = x - mean
        rule = "do not lose their mean when they are normalised"
        raise InvalidParameter("tokens", f"{len(x)} vectors", rule, "use more tokens")
