"""Inputs and labels of many runs, block by block of samples, and the indices that maps give them.

What `verify.core.data` has for one run, with a leading dimension of B runs; B falls as runs end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from verify.batches.shape import BatchShape, input_size
from verify.core.data import (
    DataKind,
    Inputs,
    Sequences,
    contrasts_of,
    from_symmetric_coordinates,
    packed_slope,
    slope_by_indices,
    symmetric_coordinates,
    unpacked,
)


@dataclass(frozen=True)
class StackedSequences:
    """Some samples of B runs, `tokens` of shape (B, k, T, d)."""

    tokens: torch.Tensor

    def contrasts(self, s: torch.Tensor) -> torch.Tensor:
        """Return h_ab - h_aT, shape (B, k, T, T - 1), of maps S (B, d, d)."""
        runs, samples, tokens, dim = self.tokens.shape
        right = torch.bmm(self._differences.reshape(runs, -1, dim), s.mT).view(-1, tokens - 1, dim)
        h = torch.bmm(self.tokens.reshape(-1, tokens, dim), right.mT).view(
            runs, samples, tokens, tokens - 1
        )
        trace = s.diagonal(dim1=1, dim2=2).sum(-1)[:, None, None]
        h.diagonal(dim1=2, dim2=3).sub_(trace)
        h[:, :, -1].add_(trace)
        return h.div_(dim**0.5)

    def contrast_adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of the sum over samples of <g, contrasts(S)>, (B, d, d), for any `g` (B, k, T, T - 1)."""
        x, (runs, _, tokens, dim) = self.tokens, self.tokens.shape
        weighted = (
            g[:, :, 0, :, None] * x[:, :, :1]
        )  # as of one run: a batched product of such small matrices takes longer
        for a in range(1, tokens):
            weighted.addcmul_(g[:, :, a, :, None], x[:, :, a : a + 1])
        out = torch.bmm(weighted.view(runs, -1, dim).mT, self._differences.reshape(runs, -1, dim))
        traces = g.diagonal(dim1=2, dim2=3).sum((1, 2)) - g[:, :, -1].sum((1, 2))
        out.diagonal(dim1=1, dim2=2).sub_(traces[:, None])
        return out.div_(dim**0.5)

    def output_metric(self) -> torch.Tensor:
        """That of `Sequences.output_metric`, (B, k, T - 1, T - 1)."""
        return torch.matmul(self._differences, self._differences.mT).div_(self.tokens.shape[-1])

    @cached_property
    def _differences(self) -> torch.Tensor:
        """x_b - x_T, shape (B, k, T - 1, d)."""
        return self.tokens[:, :, :-1] - self.tokens[:, :, -1:]


@dataclass(frozen=True)
class StackedSensing:
    """Some samples of B runs, `sensing` of shape (B, k, T(T+1)/2, d(d+1)/2) as of `GaussianEquivalent`."""

    sensing: torch.Tensor
    token_count: int
    dim: int

    def contrasts(self, s: torch.Tensor) -> torch.Tensor:
        """Return h_ab - h_aT, shape (B, k, T, T - 1), of symmetric maps S (B, d, d)."""
        runs, samples, pairs, length = self.sensing.shape
        units = torch.bmm(
            self.sensing.reshape(runs, -1, length), symmetric_coordinates(s)[..., None]
        )
        h = unpacked(units.view(-1, pairs) / self.dim**0.5, self.token_count)
        return contrasts_of(h.view(runs, samples, self.token_count, self.token_count))

    def contrast_adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of the sum over samples of <g, contrasts(S)>, symmetric (B, d, d), for any `g` (B, k, T, T - 1)."""
        runs, _, _, length = self.sensing.shape
        slopes = packed_slope(slope_by_indices(g).flatten(0, 1)).view(runs, 1, -1)
        coordinates = (
            torch.bmm(slopes, self.sensing.reshape(runs, -1, length)).squeeze(1) / self.dim**0.5
        )
        return from_symmetric_coordinates(coordinates, self.dim)

    def output_metric(self) -> torch.Tensor:
        """Raises TypeError: there are no tokens to put out."""
        raise TypeError("sensing matrices have no tokens to put out")


StackedInputs = StackedSequences | StackedSensing


class Stack:
    """Samples of B runs of one shape, in blocks of (B, k, ...) each contiguous, so that no evaluation copies them."""

    def __init__(self, shape: BatchShape, runs: int, samples: int) -> None:
        """Room for so many runs, in blocks of `samples` samples; `put` fills it."""
        counts = [
            len(range(shape.samples)[start : start + samples])
            for start in range(0, shape.samples, samples)
        ]
        self.shape, self.samples = shape, samples
        like: dict[str, Any] = {"dtype": torch.float64, "device": shape.device}
        self._inputs = [torch.empty(input_size(shape, runs, k), **like) for k in counts]
        self._labels = [torch.empty(runs, k, shape.tokens, shape.tokens, **like) for k in counts]

    @property
    def runs(self) -> int:
        """B."""
        return len(self._labels[0])

    def put(self, place: int, inputs: Inputs, labels: torch.Tensor) -> None:
        """Copy the data of one run to its place."""
        values = inputs.tokens if isinstance(inputs, Sequences) else inputs.sensing
        for block, part in zip(self._inputs, values.split(self.samples), strict=True):
            block[place] = part
        for block, part in zip(self._labels, labels.split(self.samples), strict=True):
            block[place] = part

    def rounded(self, dtype: torch.dtype) -> Stack:
        """The same data in other numbers."""
        copy = Stack(self.shape, 0, self.samples)
        copy._inputs, copy._labels = (
            [block.to(dtype) for block in blocks] for blocks in (self._inputs, self._labels)
        )
        return copy

    def keep(self, places: Sequence[int]) -> None:
        """Forget all runs but those at `places`, increasing."""
        self._inputs, self._labels = (
            [compact(block, places) for block in blocks] for blocks in (self._inputs, self._labels)
        )

    def blocks(self) -> Iterator[tuple[StackedInputs, torch.Tensor]]:
        """Yield inputs and labels (B, k, T, T) block by block."""
        for values, labels in zip(self._inputs, self._labels, strict=True):
            if self.shape.data is DataKind.SEQUENCES:
                yield StackedSequences(values), labels
            else:
                yield StackedSensing(values, self.shape.tokens, self.shape.dim), labels


def compact(values: torch.Tensor, places: Sequence[int]) -> torch.Tensor:
    """The elements at `places`, increasing, moved to the front of `values`: in place, as there may be no room for a copy."""
    for target, source in enumerate(places):
        if target != source:
            values[target] = values[source]
    return values[: len(places)]
