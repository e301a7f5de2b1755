"""Norms of whitened tokens that are less or more random than those of Gaussian tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from numeric.laws.norms import GAUSSIAN_NORMS
from verify.core.streams import Stream


@dataclass(frozen=True)
class TokenNorms:
    """Law of the norms of tokens x = C^{1/2} g, with Var ||x||^2 = variance * tr C^2.

    Attributes:
        variance: variance of ||x||^2 over tr C^2; 2 for Gaussian tokens, 0 for fixed norms.
        roots: square roots of the eigenvalues of C, shape (d,), in the coordinates of g.
    """

    variance: float
    roots: torch.Tensor

    @property
    def covariance(self) -> torch.Tensor:
        """Eigenvalues of C, shape (d,)."""
        return self.roots**2

    def rescaled(self, tokens: torch.Tensor, stream: Stream) -> torch.Tensor:
        """Return whitened tokens (n, T, d) of the directions of Gaussian ones, with these norms.

        ||x||^2/d is log-normal, so that it is positive, with mean 1.

        Args:
            tokens: Gaussian tokens g, shape (n, T, d).
            stream: source of the norms.
        """
        c = self.covariance.to(tokens)
        squares = (tokens**2 @ c)[..., None] / len(c)  # of the norms of Gaussian tokens, over d
        wanted = torch.ones_like(squares)
        if self.variance > 0:
            square = self.variance * float((c**2).sum()) / len(c) ** 2
            width = math.log1p(square)
            normal = stream.normal(*squares.shape).to(tokens)
            wanted = (math.sqrt(width) * normal - width / 2).exp()
        return tokens * (wanted / squares).sqrt()

    def draw(self, shape: tuple[int, int, int], stream: Stream) -> torch.Tensor:
        """Return whitened tokens with these norms.

        Args:
            shape: (n, T, d).
            stream: source of the tokens.
        """
        return self.rescaled(stream.normal(*shape), stream)

    def of_sensing(
        self, sensing: torch.Tensor, own: torch.Tensor, covariance: torch.Tensor
    ) -> torch.Tensor:
        """Return Gaussian sensing matrices whose part along C has the variance of these norms.

        Args:
            sensing: coordinates of symmetric matrices, shape (n, K, d(d + 1)/2).
            own: places in K of scores of a token with itself.
            covariance: coordinates of C, shape (d(d + 1)/2,).
        """
        along = (covariance / covariance.norm()).to(sensing)
        kept = math.sqrt(self.variance / GAUSSIAN_NORMS) - 1
        found = sensing.clone()
        found[:, own] += kept * (sensing[:, own] @ along)[..., None] * along
        return found

    def covariances(self, s: torch.Tensor, s0: torch.Tensor) -> torch.Tensor:
        """Return the covariance matrix of (h_aa, h0_aa), shape (2, 2).

        Args:
            s: learned map, shape (d, d).
            s0: target, shape (d, d).
        """
        c = self.covariance.to(s)
        maps = torch.stack([s, s0])
        overlaps = torch.einsum("aij,bij->ab", maps, maps) / len(s)
        t = maps.diagonal(dim1=1, dim2=2) @ c / (c**2).sum()
        deficit = (GAUSSIAN_NORMS - self.variance) * (c**2).mean()
        return 2 * overlaps - deficit * t[:, None] * t
