"""Properties that the runs of a batch share, and the memory that their training takes."""

from __future__ import annotations

from typing import NamedTuple

from attention_erm.runtime.errors import InvalidParameter
from numeric.problem.problem import Parametrisation
from verify.core.data import DataKind, Output, sample_shape
from verify.core.minimise import MINIMISERS, Lbfgs
from verify.core.run import Run

#: Tensors alive at once: of the size of the weights and of the map in a descent, of the inputs and
#: of the indices of a block in an evaluation.
_VECTORS, _MAPS, _COPIES, _SMALL = 16, 10, 3, 8


class BatchShape(NamedTuple):
    """Properties common to the runs of a batch: n `samples`, T `tokens`, weights (dim, columns),
    ...

    Runs may differ in seeds, decay, noise, temperatures and target.
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
    covariance_roots: tuple[float, ...] = ()

    @classmethod
    def of(cls, run: Run) -> BatchShape:
        """Return the shape of a run."""
        problem = run.problem
        return cls(
            run.dim, run.samples, problem.tokens, run.data, run.weight_columns,
            problem.parametrisation, run.output, run.minimiser, run.device,
            run.covariance_roots,
        )  # fmt: skip

    @property
    def input_bytes(self) -> int:
        """Bytes of the inputs and labels of one run in float64."""
        rows, length = sample_shape(self.data, self.tokens, self.dim)
        return 8 * self.samples * (rows * length + self.tokens**2)

    @property
    def run_bytes(self) -> int:
        """Bytes of one run during training: data, L-BFGS memory, weights and maps."""
        past = 2 * minimiser_of(self).memory
        state = 8 * (self.dim * self.columns * (past + _VECTORS) + self.dim**2 * _MAPS)
        return self.input_bytes + state

    def sample_bytes(self) -> int:
        """Return the bytes of one sample during the evaluation of its block, without its inputs."""
        rows, length = sample_shape(self.data, self.tokens, self.dim)
        return 8 * (_COPIES * rows * min(length, self.dim) + _SMALL * self.tokens**2)


def minimiser_of(shape: BatchShape) -> Lbfgs:
    """Return the minimiser of the runs.

    Raises:
        InvalidParameter: it does not support batches.
    """
    found = MINIMISERS[shape.minimiser]()
    if not isinstance(found, Lbfgs):
        raise InvalidParameter(
            "minimiser", shape.minimiser, "does not support batches", "use lbfgs"
        )
    return found
