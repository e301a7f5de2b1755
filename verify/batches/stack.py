"""Inputs and labels of many runs in blocks of samples, with a leading dimension of B runs.

B falls as runs end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from verify.batches.shape import BatchShape
from verify.core.data import DataKind, GaussianEquivalent, Inputs, Sequences, sample_shape


class Stack:
    """Samples of B runs of one shape in contiguous blocks (B, k, ...), which no evaluation
    copies.
    """

    def __init__(self, shape: BatchShape, runs: int, samples: int) -> None:
        """Reserve memory, which `put` fills.

        Args:
            shape: shape of the runs.
            runs: number of runs.
            samples: samples in a block.
        """
        self.shape, self.samples = shape, samples
        counts = [min(samples, shape.samples - start) for start in range(0, shape.samples, samples)]
        rows = sample_shape(shape.data, shape.tokens, shape.dim)
        self._inputs, self._labels = (
            [torch.empty(runs, k, *size, dtype=torch.float64, device=shape.device) for k in counts]
            for size in (rows, (shape.tokens, shape.tokens))
        )

    def put(self, place: int, inputs: Inputs, labels: torch.Tensor) -> None:
        """Copy the data of one run into the stack.

        Args:
            place: position of the run.
            inputs: its samples.
            labels: their labels, shape (n, T, T).
        """
        values = inputs.tokens if isinstance(inputs, Sequences) else inputs.sensing
        for blocks, whole in ((self._inputs, values), (self._labels, labels)):
            for block, part in zip(blocks, whole.split(self.samples), strict=True):
                block[place] = part

    def keep(self, places: Sequence[int]) -> None:
        """Drop all runs except those at `places`, increasing."""
        self._inputs, self._labels = (
            [compact(block, places) for block in blocks] for blocks in (self._inputs, self._labels)
        )

    def blocks(self) -> Iterator[tuple[Inputs, torch.Tensor]]:
        """Yield inputs and labels (B, k, T, T) block by block."""
        for values, labels in zip(self._inputs, self._labels, strict=True):
            if self.shape.data is DataKind.SEQUENCES:
                yield Sequences(values), labels
            else:
                yield GaussianEquivalent(values, self.shape.tokens), labels


def compact(values: torch.Tensor, places: Sequence[int]) -> torch.Tensor:
    """Move some elements to the front of a tensor, in place: there may be no memory for a copy.

    Args:
        values: tensor whose first dimension is selected.
        places: positions of the elements, increasing.
    """
    for target, source in enumerate(places):
        if target != source:
            values[target] = values[source]
    return values[: len(places)]
