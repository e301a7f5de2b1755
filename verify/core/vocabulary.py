"""Sequences whose tokens are drawn from a table of vectors, such as those of a trained network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.real.tokens import TokenFile
from verify.core.streams import Stream


@dataclass(frozen=True)
class Vocabulary:
    """Tokens of a file, each equally likely at every place of a sequence.

    Attributes:
        file: the file and how its vectors are prepared.
        digest: digest of the vectors, which identifies stored results.
    """

    file: TokenFile
    digest: str

    @property
    def whitened(self) -> torch.Tensor:
        """Tokens with the covariance 1 in the axes of C, shape (N, d)."""
        return _whitened(self.file)

    def draw(self, count: int, tokens: int, stream: Stream) -> torch.Tensor:
        """Return sequences of whitened tokens, shape (count, tokens, d).

        Args:
            count: number of sequences.
            tokens: tokens in a sequence.
            stream: source of the choice.
        """
        table = self.whitened
        places = stream.integers(len(table), count, tokens)
        return table.to(places.device)[places]

    def target(self, law: MarchenkoPastur) -> IndependentCovariance:
        """Return a target with the covariance of the tokens.

        Args:
            law: law of the target, whose eigenvectors are independent of the covariance.
        """
        return IndependentCovariance(law, self.file.table.covariance.tolist())


@lru_cache(maxsize=4)
def _whitened(file: TokenFile) -> torch.Tensor:
    return torch.as_tensor(file.table.whitened.copy())
