"""Sequences whose tokens are drawn from a table of vectors, such as those of a trained network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from numeric.real.tokens import TokenFile
from verify.core.streams import Stream


@dataclass(frozen=True)
class Vocabulary:
    """Tokens of a file, each equally likely at every place of a sequence.

    Attributes:
        file: the file, and how its vectors are prepared.
    """

    file: TokenFile

    @property
    def whitened(self) -> torch.Tensor:
        """Tokens with the covariance 1 in the axes of C, shape (N, d)."""
        return _whitened(self.file, "cpu")

    def draw(self, shape: tuple[int, int, int], stream: Stream) -> torch.Tensor:
        """Return sequences of whitened tokens.

        Args:
            shape: (n, T, d).
            stream: source of the choice.

        Raises:
            ValueError: d is not the number of directions of the tokens.
        """
        count, dim = self.whitened.shape
        if shape[-1] != dim:
            raise ValueError(f"tokens of {dim} directions, not {shape[-1]}")
        places = stream.integers(count, *shape[:-1])
        return _whitened(self.file, str(places.device))[places]


@dataclass(frozen=True, eq=False)
class DrawnVocabulary:
    """Tokens that are drawn once for a run, each equally likely at every place of a sequence.

    Attributes:
        tokens: whitened tokens, shape (N, d).
    """

    tokens: torch.Tensor

    def draw(self, shape: tuple[int, int, int], stream: Stream) -> torch.Tensor:
        """Return sequences of whitened tokens.

        Args:
            shape: (n, T, d).
            stream: source of the choice.
        """
        return self.tokens[stream.integers(len(self.tokens), *shape[:-1])]


@lru_cache(maxsize=4)
def _whitened(file: TokenFile, device: str) -> torch.Tensor:
    return torch.as_tensor(file.table.whitened, device=device)
