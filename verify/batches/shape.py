"""What runs must share to be trained as one batch, and how many bytes their training takes."""

from __future__ import annotations

import enum
from typing import NamedTuple

from attention_erm.runtime.errors import InvalidParameter
from numeric.problem.problem import Parametrisation
from verify.core.data import DataKind, Output
from verify.core.minimise import MINIMISERS, Lbfgs
from verify.core.run import Run


class Precision(enum.StrEnum):
    """In which numbers a descent is carried out; where it ends is judged in float64 either way.

    `REFINED` descends in float32 to where rounding ends the descent, and from there in float64.
    """

    DOUBLE = "float64"
    REFINED = "float32, refined in float64"


class BatchShape(NamedTuple):
    """What runs of one batch have in common; they differ in seeds, decay, noise, temperatures and target.

    n `samples` of `tokens` tokens in `dim` dimensions, weights of `columns` columns.
    """

    dim: int
    samples: int
    tokens: int
    data: DataKind
    columns: int
    parametrisation: Parametrisation
    output: Output
    minimiser: str
    device: str

    @classmethod
    def of(cls, run: Run) -> BatchShape:
        """That of a run."""
        return cls(
            run.dim,
            run.samples,
            run.problem.tokens,
            run.data,
            run.weight_columns,
            run.problem.parametrisation,
            run.output,
            run.minimiser,
            run.device,
        )

    @property
    def row_count(self) -> int:
        """Rows of a sample's inputs: tokens, or indices with sensing matrices of their own."""
        return (
            self.tokens if self.data is DataKind.SEQUENCES else self.tokens * (self.tokens + 1) // 2
        )

    @property
    def row_length(self) -> int:
        """Numbers in a row: d, or the d(d + 1)/2 coordinates of a sensing matrix."""
        return self.dim if self.data is DataKind.SEQUENCES else self.dim * (self.dim + 1) // 2

    @property
    def input_bytes(self) -> int:
        """Bytes of the inputs and labels of one run in float64."""
        return 8 * self.samples * (self.row_count * self.row_length + self.tokens**2)

    def run_bytes(self, precision: Precision) -> int:
        """Bytes that one run takes as long as the batch is trained: data, past steps of L-BFGS, weights and maps."""
        past = 2 * minimiser_of(self).memory
        state = 8 * (self.dim * self.columns * (past + _VECTORS) + self.dim**2 * _MAPS)
        copies = self.input_bytes // 2 if precision is Precision.REFINED else 0
        return self.input_bytes + copies + state

    def sample_bytes(self) -> int:
        """Bytes that one sample takes while its block is evaluated, beside its inputs."""
        return 8 * (
            _COPIES * self.row_count * min(self.row_length, self.dim) + _SMALL * self.tokens**2
        )


#: Tensors of the weights' and of the map's size alive at once in a descent, and of a block's inputs and indices in an evaluation.
_VECTORS, _MAPS, _COPIES, _SMALL = 16, 10, 3, 8


def minimiser_of(shape: BatchShape) -> Lbfgs:
    """The minimiser of the runs. Raises InvalidParameter for one that trains no batches."""
    found = MINIMISERS[shape.minimiser]()
    if not isinstance(found, Lbfgs):
        raise InvalidParameter("minimiser", shape.minimiser, "trains no batches", "use lbfgs")
    return found


def input_size(shape: BatchShape, runs: int, samples: int) -> tuple[int, ...]:
    """Shape of so many samples of so many runs: (B, n, T, d), or (B, n, T(T + 1)/2, d(d + 1)/2)."""
    return (runs, samples, shape.row_count, shape.row_length)


def gibibytes(count: float) -> str:
    """A number of bytes in words."""
    return f"{count / 2**30:.3g} GiB"
