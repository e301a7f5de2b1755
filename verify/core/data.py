"""What a run is trained on: inputs that turn a map S into indices, and noisy labels.

Conventions of the model: S and S0 are d x d, symmetric and positive; the index of a sample is the symmetric
T x T matrix h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d); indices and maps carry no unit.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from attention_erm.runtime.errors import InvalidParameter

MEMORY_LIMIT = 8 << 30  #: bytes that the inputs of one run may take; beyond it the run is refused

#: Rows of d numbers treated at a time. On a CPU a block and its products stay in the second-level cache, which
#: at d = 100 halves the time of one evaluation; on a GPU launches, not memory traffic, are what must be few.
BLOCK_ROWS = {"cpu": 1024, "cuda": 1 << 18}


class DataKind(enum.StrEnum):
    """What the indices are made of."""

    SEQUENCES = "sequences"
    GAUSSIAN_EQUIVALENT = "gaussian-equivalent"


class Output(enum.StrEnum):
    """What of a head is compared with the target's: its attention (T x T), or the sequence that it puts out, attention times X."""

    LABELS = "labels"
    SEQUENCES = "sequences"


def row_softmax(beta: float, indices: torch.Tensor) -> torch.Tensor:
    """Return exp(beta h_ab) / sum_c exp(beta h_ac), shape of `indices` (..., T, T)."""
    return torch.softmax(beta * indices, dim=-1)


def contrasts_of(indices: torch.Tensor) -> torch.Tensor:
    """Return h_ab - h_aT, shape (..., T, T - 1), of indices h (..., T, T): all that a softmax over a row sees of it."""
    return indices[..., :-1] - indices[..., -1:]


def slope_by_indices(slope: torch.Tensor) -> torch.Tensor:
    """A slope by the contrasts, shape (..., T, T - 1), as one by the T^2 entries of h."""
    return torch.cat([slope, -slope.sum(-1, keepdim=True)], -1)


def attention(beta: float | torch.Tensor, contrasts: torch.Tensor) -> torch.Tensor:
    """Return the softmax of beta h for all but the last of each row, from its contrasts, shape of these."""
    if contrasts.shape[-1] == 1:  # torch's softmax takes ten times as long for rows of two
        return torch.sigmoid(beta * contrasts)
    return torch.softmax(torch.nn.functional.pad(beta * contrasts, (0, 1)), -1)[..., :-1]


def draw_labels(
    indices: torch.Tensor, noise: float, beta0: float, rng: np.random.Generator
) -> torch.Tensor:
    """Return y = softmax(beta0 (h0 + sqrt(Delta) xi)), shape (n, T, T), xi symmetric of variance (1 + delta_ab)/2."""
    xi = rng.standard_normal(tuple(indices.shape))
    symmetric = torch.as_tensor((xi + xi.swapaxes(1, 2)) / 2).to(indices)
    return row_softmax(beta0, indices + math.sqrt(noise) * symmetric)


@dataclass(frozen=True)
class Sequences:
    """n sequences of T tokens, `tokens` of shape (n, T, d), i.i.d. N(0, 1)."""

    tokens: torch.Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def blocks(self) -> Iterator[tuple[slice, Sequences]]:
        """Yield (which samples, the same samples alone) in blocks of about `BLOCK_ROWS` tokens."""
        step = max(1, BLOCK_ROWS[self.tokens.device.type] // self.tokens.shape[1])
        for part in _slices(len(self), step):
            yield part, self.select(part)

    def select(self, samples: slice | torch.Tensor) -> Sequences:
        """These samples alone, in their order."""
        return Sequences(self.tokens[samples])

    def indices(self, s: torch.Tensor) -> torch.Tensor:
        """Return h_ab = (x_a^T S x_b - delta_ab tr S)/sqrt(d), shape (n, T, T), of any S (d, d)."""
        h = torch.bmm(self.tokens @ s, self.tokens.transpose(1, 2))
        h.diagonal(dim1=1, dim2=2).sub_(s.trace())
        return h.div_(math.sqrt(s.shape[0]))

    def adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, indices(S)>, shape (d, d), by each entry of S, for any `g` (n, T, T)."""
        dim = self.tokens.shape[-1]
        out = self.tokens.reshape(-1, dim).T @ torch.bmm(g, self.tokens).reshape(-1, dim)
        out.diagonal().sub_(g.diagonal(dim1=1, dim2=2).sum())
        return out.div_(math.sqrt(dim))

    def contrasts(self, s: torch.Tensor) -> torch.Tensor:
        """Return h_ab - h_aT = x_a^T S (x_b - x_T)/sqrt(d) less the trace's part, shape (n, T, T - 1), of any S (d, d).

        One token fewer to multiply by S: for two tokens half of the work.
        """
        h = torch.bmm(self.tokens, (self._differences @ s.T).transpose(1, 2))
        h.diagonal(dim1=1, dim2=2).sub_(s.trace())
        h[:, -1].add_(s.trace())
        return h.div_(math.sqrt(s.shape[0]))

    def contrast_adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, contrasts(S)>, shape (d, d), by each entry of S, for any `g` (n, T, T - 1)."""
        x, dim = self.tokens, self.tokens.shape[-1]
        weighted = (
            g[:, 0, :, None] * x[:, :1]
        )  # sum_a g_ab x_a: a batched product of such small matrices takes longer
        for a in range(1, x.shape[1]):
            weighted.addcmul_(g[:, a, :, None], x[:, a : a + 1])
        out = weighted.reshape(-1, dim).T @ self._differences.reshape(-1, dim)
        out.diagonal().sub_(g.diagonal(dim1=1, dim2=2).sum() - g[:, -1].sum())
        return out.div_(math.sqrt(dim))

    def output_metric(self) -> torch.Tensor:
        """Return (x_a - x_T).(x_b - x_T)/d, (n, T - 1, T - 1): ||r X||_F^2/d of rows r that sum to 0, from all but their last."""
        return torch.bmm(self._differences, self._differences.transpose(1, 2)).div_(
            self.tokens.shape[-1]
        )

    @cached_property
    def _differences(self) -> torch.Tensor:
        """x_b - x_T, shape (n, T - 1, d)."""
        return self.tokens[:, :-1] - self.tokens[:, -1:]


def packed(h: torch.Tensor) -> torch.Tensor:
    """The indices per unit, h_ab/sqrt(1 + delta_ab) for a <= b, shape (n, T(T+1)/2), of symmetric h (n, T, T)."""
    a, b = torch.triu_indices(*h.shape[1:], device=h.device)
    return h[:, a, b] / _spread(a, b).to(h)


def unpacked(units: torch.Tensor, tokens: int) -> torch.Tensor:
    """Inverse of `packed`, shape (n, T, T)."""
    a, b = torch.triu_indices(tokens, tokens, device=units.device)
    place = torch.empty(tokens, tokens, dtype=torch.long, device=units.device)
    place[a, b] = place[b, a] = torch.arange(len(a), device=units.device)
    return (units * _spread(a, b).to(units))[:, place]


def packed_slope(g: torch.Tensor) -> torch.Tensor:
    """A slope by the T^2 entries of h (n, T, T) as one by `packed` h: g_ab and g_ba act on the same index."""
    a, b = torch.triu_indices(*g.shape[1:], device=g.device)
    return (g[:, a, b] + g[:, b, a]) / _spread(a, b).to(g)


@dataclass(frozen=True)
class GaussianEquivalent:
    """h_ab = tr(G_ab S)/sqrt(d) with symmetric Gaussian G_ab = G_ba in place of token products.

    Symmetric maps only. `sensing` has shape (n, T(T+1)/2, d(d+1)/2): entries i.i.d. N(0, 1), the coordinates of
    G_ab/sqrt(1 + delta_ab) for a <= b in the orthonormal basis of symmetric matrices, so that h has the covariance
    (1 + delta_ab) tr S^2/d of the theory exactly, at every d.   (end of section 8)
    """

    sensing: torch.Tensor
    token_count: int

    def __len__(self) -> int:
        return len(self.sensing)

    @property
    def dim(self) -> int:
        """d, from the d(d + 1)/2 coordinates of a symmetric matrix."""
        return (math.isqrt(8 * self.sensing.shape[-1] + 1) - 1) // 2

    def blocks(self) -> Iterator[tuple[slice, GaussianEquivalent]]:
        """Yield (which samples, the same samples alone) in blocks of about `BLOCK_ROWS` sensing matrices."""
        step = max(1, BLOCK_ROWS[self.sensing.device.type] // self.sensing.shape[1])
        for part in _slices(len(self), step):
            yield part, self.select(part)

    def select(self, samples: slice | torch.Tensor) -> GaussianEquivalent:
        """These samples alone, in their order."""
        return GaussianEquivalent(self.sensing[samples], self.token_count)

    def indices(self, s: torch.Tensor) -> torch.Tensor:
        """Return h, shape (n, T, T), of a symmetric S (d, d)."""
        return unpacked(
            self.sensing @ symmetric_coordinates(s) / math.sqrt(s.shape[0]), self.token_count
        )

    def adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, indices(S)>, symmetric (d, d), for any `g` (n, T, T)."""
        return self.packed_adjoint(packed_slope(g))

    def contrasts(self, s: torch.Tensor) -> torch.Tensor:
        """Return h_ab - h_aT, shape (n, T, T - 1), of a symmetric S (d, d)."""
        return contrasts_of(self.indices(s))

    def contrast_adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, contrasts(S)>, symmetric (d, d), for any `g` (n, T, T - 1)."""
        return self.adjoint(slope_by_indices(g))

    def packed_adjoint(self, f: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <f, packed(indices(S))>, symmetric (d, d), for `f` (n, T(T+1)/2)."""
        dim = self.dim
        coordinates = (
            f.reshape(-1) @ self.sensing.reshape(-1, self.sensing.shape[-1]) / math.sqrt(dim)
        )
        return from_symmetric_coordinates(coordinates, dim)


Inputs = Sequences | GaussianEquivalent


def output_metric(inputs: Inputs, output: Output) -> torch.Tensor | None:
    """How residuals of attention are weighed to give those of the output; None where they are the output themselves.

    Raises TypeError for the output sequences of inputs without tokens.
    """
    if output is Output.LABELS:
        return None
    if not isinstance(inputs, Sequences):
        raise TypeError("sensing matrices have no tokens to put out")
    return inputs.output_metric()


def inputs_shape(kind: DataKind, n: int, tokens: int, dim: int) -> tuple[int, ...]:
    """Return the shape of the inputs of n samples.

    Raises InvalidParameter if they would take more than `MEMORY_LIMIT`.
    """
    shape = (n, tokens, dim)
    if kind is DataKind.GAUSSIAN_EQUIVALENT:
        shape = (n, tokens * (tokens + 1) // 2, dim * (dim + 1) // 2)
    if 8 * math.prod(shape) > MEMORY_LIMIT:
        size = 8 * math.prod(shape) / 2**30
        rule = f"{n} samples of {kind} data take {size:.1f} GiB, allowed are {MEMORY_LIMIT >> 30}"
        raise InvalidParameter("dim", dim, rule, "lower it, or alpha")
    return shape


def draw_inputs(
    kind: DataKind, n: int, tokens: int, dim: int, rng: np.random.Generator, device: str
) -> Inputs:
    """Return n samples on `device`, float64.

    Raises InvalidParameter, before anything is drawn, if they would take more than `MEMORY_LIMIT`.
    """
    values = torch.as_tensor(rng.standard_normal(inputs_shape(kind, n, tokens, dim)), device=device)
    return Sequences(values) if kind is DataKind.SEQUENCES else GaussianEquivalent(values, tokens)


class FreshSamples(NamedTuple):
    """Fresh samples: contrasts of h (n, T, T - 1), h0 (n, T, T), and the metric of the output, as `output_metric` gives it."""

    contrasts: torch.Tensor
    h0: torch.Tensor
    metric: torch.Tensor | None


def fresh_indices(
    kind: DataKind,
    maps: tuple[torch.Tensor, torch.Tensor],
    n: int,
    tokens: int,
    rng: np.random.Generator,
    output: Output = Output.LABELS,
) -> Iterator[FreshSamples]:
    """Yield n fresh samples in blocks, h and h0 the indices of `maps` (S, S0).

    For Gaussian-equivalent data (h, h0) is drawn from its exact joint law, which needs no sensing matrix.
    """
    for part in _slices(n, 4096):
        size = len(range(n)[part])
        if kind is DataKind.SEQUENCES:
            inputs = Sequences(
                torch.as_tensor(rng.standard_normal((size, tokens, len(maps[0])))).to(maps[0])
            )
            pairs = [
                (block.contrasts(maps[0]), block.indices(maps[1])) for _, block in inputs.blocks()
            ]
            c, h0 = map(torch.cat, zip(*pairs, strict=True))
            yield FreshSamples(c, h0, output_metric(inputs, output))
        else:
            h, h0 = _joint_gaussian(maps, size, tokens, rng)
            yield FreshSamples(contrasts_of(h), h0, None)


def _joint_gaussian(
    maps: tuple[torch.Tensor, torch.Tensor], n: int, tokens: int, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    s, s0 = maps
    dim = len(s)
    q, m, q0 = (float((x * y).sum()) / dim for x, y in ((s, s), (s, s0), (s0, s0)))
    g = torch.as_tensor(rng.standard_normal((2, n, tokens, tokens))).to(s)
    g = (g + g.transpose(-1, -2)) / math.sqrt(2)  # variance 1 off the diagonal, 2 on it
    along = m / math.sqrt(q0)
    return along * g[0] + math.sqrt(max(q - along**2, 0.0)) * g[1], math.sqrt(q0) * g[0]


def _slices(n: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _spread(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Standard deviation of an index per unit, sqrt(1 + delta_ab)."""
    return (1 + (a == b).double()).sqrt()


def symmetric_coordinates(s: torch.Tensor) -> torch.Tensor:
    """Coordinates of a symmetric S (..., d, d) in the orthonormal basis of symmetric matrices, (..., d(d + 1)/2)."""
    rows, columns = torch.triu_indices(*s.shape[-2:], device=s.device)
    return s[..., rows, columns] * _multiplicity(rows, columns).sqrt().to(s)


def from_symmetric_coordinates(coordinates: torch.Tensor, dim: int) -> torch.Tensor:
    """Inverse of `symmetric_coordinates`, (..., d, d)."""
    rows, columns = torch.triu_indices(dim, dim, device=coordinates.device)
    out = coordinates.new_zeros(*coordinates.shape[:-1], dim, dim)
    out[..., rows, columns] = coordinates / _multiplicity(rows, columns).sqrt().to(coordinates)
    return out + out.mT - torch.diag_embed(out.diagonal(dim1=-2, dim2=-1))


def _multiplicity(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """How often an entry of the upper triangle occurs in the symmetric matrix: 1 on the diagonal, 2 off it."""
    return 2 - (rows == columns).double()
