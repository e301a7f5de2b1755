"""Token sequences of a student, in memory or drawn again block by block where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from verify.core.data import Sequences, slices
from verify.core.streams import device_stream

DRAWN_BLOCK = 4096  #: sequences that are drawn at once


class TokenSequences(Protocol):
    """Sequences of Gaussian tokens, in blocks."""

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield the position of a block and its tokens, shape (k, T, d)."""
        ...

    def first(self, count: int) -> TokenSequences:
        """Return only the first `count` sequences."""
        ...


@dataclass(frozen=True)
class StoredSequences:
    """Sequences in memory, `tokens` of shape (n, T, d)."""

    tokens: torch.Tensor

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield the position of a block and its tokens, shape (k, T, d)."""
        for part, block in Sequences(self.tokens).blocks():
            yield part, block.tokens

    def first(self, count: int) -> StoredSequences:
        """Return only the first `count` sequences."""
        return StoredSequences(self.tokens[:count])


@dataclass(frozen=True)
class RedrawnSequences:
    """Sequences that are drawn on a device whenever they are needed, each block from its own seed.

    Attributes:
        seed: seed of all sequences.
        shape: n, T and d.
        device: torch device.
    """

    seed: np.random.SeedSequence
    shape: tuple[int, int, int]
    device: str

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield the position of a block and its tokens, shape (k, T, d)."""
        count, *size = self.shape
        for block, part in enumerate(slices(count, DRAWN_BLOCK)):
            seed = np.random.SeedSequence(
                self.seed.entropy, spawn_key=(*self.seed.spawn_key, block)
            )
            tokens = device_stream(seed, self.device).normal(DRAWN_BLOCK, *size)
            yield part, tokens[: part.stop - part.start]

    def first(self, count: int) -> RedrawnSequences:
        """Return only the first `count` sequences."""
        return RedrawnSequences(self.seed, (count, *self.shape[1:]), self.device)

    def stored(self) -> StoredSequences:
        """Return the same sequences in memory."""
        tokens = torch.empty(self.shape, dtype=torch.float64, device=self.device)
        for part, block in self.blocks():
            tokens[part] = block
        return StoredSequences(tokens)
