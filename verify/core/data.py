"""Training data of a run: inputs that turn a map S into indices, and noisy labels.

Conventions of the model: S and S0 are d x d, symmetric and positive. The index of a sample is the
symmetric T x T matrix h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d). Indices and maps have no
unit. A softmax over a row of h depends only on its contrasts h_ab - h_aT, b < T.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import torch

from attention_erm.runtime.errors import InvalidParameter
from verify.core.norms import TokenNorms
from verify.core.streams import Stream

MEMORY_LIMIT = 8 << 30  #: bytes allowed for the inputs of one run

#: Rows of d numbers evaluated at a time. On a CPU a block and its products stay in the second-level
#: cache, which halves the time of an evaluation at d = 100; a GPU needs few kernel launches.
BLOCK_ROWS = {"cpu": 1024, "cuda": 1 << 18}


class TokenLaw(Protocol):
    """Law of whitened tokens other than Gaussian ones."""

    def draw(self, shape: tuple[int, int, int], stream: Stream) -> torch.Tensor:
        """Return independent sequences of tokens.

        Args:
            shape: (n, T, d).
            stream: source of the tokens.
        """
        ...


class DataKind(enum.StrEnum):
    """Kind of inputs that define the indices."""

    SEQUENCES = "sequences"
    GAUSSIAN_EQUIVALENT = "gaussian-equivalent"


class Output(enum.StrEnum):
    """Output of a head that the loss compares: attention (T x T), or attention times X."""

    LABELS = "labels"
    SEQUENCES = "sequences"


def row_softmax(beta: float, indices: torch.Tensor) -> torch.Tensor:
    """Return the softmax of beta h over each row.

    Args:
        beta: inverse temperature.
        indices: h, shape (..., T, T).
    """
    return torch.softmax(beta * indices, dim=-1)


def contrasts_of(indices: torch.Tensor) -> torch.Tensor:
    """Return the contrasts h_ab - h_aT, shape (..., T, T - 1), of indices h (..., T, T)."""
    return indices[..., :-1] - indices[..., -1:]


def slope_by_indices(slope: torch.Tensor) -> torch.Tensor:
    """Convert a derivative by the contrasts (..., T, T - 1) into one by the entries of h."""
    return torch.cat([slope, -slope.sum(-1, keepdim=True)], -1)


def attention(beta: float | torch.Tensor, contrasts: torch.Tensor) -> torch.Tensor:
    """Return the softmax of beta h without the last entry of each row, shape of `contrasts`.

    Args:
        beta: inverse temperature, a number or a tensor that broadcasts.
        contrasts: h_ab - h_aT, shape (..., T, T - 1).
    """
    if contrasts.shape[-1] == 1:  # torch's softmax takes ten times as long for rows of two
        return torch.sigmoid(beta * contrasts)
    return torch.softmax(torch.nn.functional.pad(beta * contrasts, (0, 1)), -1)[..., :-1]


def draw_labels(indices: torch.Tensor, noise: float, beta0: float, stream: Stream) -> torch.Tensor:
    """Return y = softmax(beta0 (h0 + sqrt(Delta) xi)), shape (n, T, T).

    Args:
        indices: h0, shape (n, T, T).
        noise: Delta; xi is symmetric with variance (1 + delta_ab)/2.
        beta0: inverse temperature of the target.
        stream: source of the noise.
    """
    xi = stream.normal(*indices.shape)
    return row_softmax(beta0, indices + math.sqrt(noise) * ((xi + xi.mT) / 2).to(indices))


@dataclass(frozen=True)
class Sequences:
    """n sequences of T tokens, `tokens` of shape (n, T, d), i.i.d. N(0, 1).

    `contrasts`, `contrast_adjoint` and `output_metric` also take B stacked runs: tokens
    (B, n, T, d) with maps (B, d, d).
    """

    tokens: torch.Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def blocks(self) -> Iterator[tuple[slice, Sequences]]:
        """Yield (slice, these samples) in blocks of about `BLOCK_ROWS` tokens."""
        step = max(1, BLOCK_ROWS[self.tokens.device.type] // self.tokens.shape[1])
        for part in slices(len(self), step):
            yield part, self.select(part)

    def select(self, samples: slice | torch.Tensor) -> Sequences:
        """Return only these samples, in their order."""
        return Sequences(self.tokens[samples])

    def indices(self, s: torch.Tensor) -> torch.Tensor:
        """Return h_ab = (x_a^T S x_b - delta_ab tr S)/sqrt(d), shape (n, T, T), of any S (d, d)."""
        h = torch.bmm(self.tokens @ s, self.tokens.mT)
        h.diagonal(dim1=1, dim2=2).sub_(s.trace())
        return h.div_(math.sqrt(len(s)))

    def adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, indices(S)>, shape (d, d), for any `g` (n, T, T)."""
        dim = self.tokens.shape[-1]
        out = self.tokens.reshape(-1, dim).T @ torch.bmm(g, self.tokens).reshape(-1, dim)
        out.diagonal().sub_(g.diagonal(dim1=1, dim2=2).sum())
        return out.div_(math.sqrt(dim))

    def contrasts(self, s: torch.Tensor) -> torch.Tensor:
        """Return x_a^T S (x_b - x_T)/sqrt(d) minus the trace part, shape (n, T, T - 1), of any S.

        It multiplies one token fewer by S than `indices`: half of the work for two tokens.
        """
        right = self._differences.flatten(-3, -2) @ s.mT
        h = self.tokens @ right.unflatten(-2, self._differences.shape[-3:-1]).mT
        trace = s.trace() if s.ndim == 2 else s.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None]
        h.diagonal(dim1=-2, dim2=-1).sub_(trace)
        h[..., -1, :].add_(trace)
        return h.div_(math.sqrt(s.shape[-1]))

    def contrast_adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, contrasts(S)>, shape (d, d), for any `g` (n, T, T - 1)."""
        x, dim = self.tokens, self.tokens.shape[-1]
        # sum_a g_ab x_a: a batched product of such small matrices takes longer
        weighted = g[..., 0, :, None] * x[..., :1, :]
        for a in range(1, x.shape[-2]):
            weighted.addcmul_(g[..., a, :, None], x[..., a : a + 1, :])
        out = weighted.flatten(-3, -2).mT @ self._differences.flatten(-3, -2)
        traces = g.diagonal(dim1=-2, dim2=-1).sum((-2, -1)) - g[..., -1, :].sum((-2, -1))
        out.diagonal(dim1=-2, dim2=-1).sub_(traces[..., None])
        return out.div_(math.sqrt(dim))

    def output_metric(self) -> torch.Tensor:
        """Return (x_a - x_T).(x_b - x_T)/d, shape (n, T - 1, T - 1).

        For rows r that sum to zero it gives ||r X||_F^2/d from all but their last entry.
        """
        return (self._differences @ self._differences.mT).div_(self.tokens.shape[-1])

    @cached_property
    def _differences(self) -> torch.Tensor:
        """x_b - x_T, shape (n, T - 1, d)."""
        return self.tokens[..., :-1, :] - self.tokens[..., -1:, :]


def packed(h: torch.Tensor) -> torch.Tensor:
    """Return h_ab/sqrt(1 + delta_ab) for a <= b, shape (..., T(T+1)/2), of symmetric h."""
    a, b = torch.triu_indices(*h.shape[-2:], device=h.device)
    return h[..., a, b] / _index_deviation(a, b).to(h)


def unpacked(units: torch.Tensor, tokens: int) -> torch.Tensor:
    """Return the inverse of `packed`, shape (..., T, T).

    Args:
        units: packed indices, shape (..., T(T+1)/2).
        tokens: T.
    """
    a, b = torch.triu_indices(tokens, tokens, device=units.device)
    place = torch.empty(tokens, tokens, dtype=torch.long, device=units.device)
    place[a, b] = place[b, a] = torch.arange(len(a), device=units.device)
    return (units * _index_deviation(a, b).to(units))[..., place]


def packed_slope(g: torch.Tensor) -> torch.Tensor:
    """Convert a derivative by the entries of h (..., T, T) into one by `packed` h.

    g_ab and g_ba act on the same packed index.
    """
    a, b = torch.triu_indices(*g.shape[-2:], device=g.device)
    return (g[..., a, b] + g[..., b, a]) / _index_deviation(a, b).to(g)


@dataclass(frozen=True)
class GaussianEquivalent:
    """Inputs with h_ab = tr(G_ab S)/sqrt(d): symmetric Gaussian G_ab = G_ba replace token products.

    Symmetric maps only. `sensing` has shape (n, T(T+1)/2, d(d+1)/2). Its entries are i.i.d.
    N(0, 1), the coordinates of G_ab/sqrt(1 + delta_ab) for a <= b in the orthonormal basis of
    symmetric matrices, so that h has the covariance (1 + delta_ab) tr S^2/d of the theory exactly,
    at every d (theory note, end of section 8). `contrasts` and `contrast_adjoint` also take B
    stacked runs, with one more leading dimension.
    """

    sensing: torch.Tensor
    token_count: int

    def __len__(self) -> int:
        return len(self.sensing)

    @property
    def dim(self) -> int:
        """Dimension d, from the d(d + 1)/2 coordinates of a symmetric matrix."""
        return (math.isqrt(8 * self.sensing.shape[-1] + 1) - 1) // 2

    def blocks(self) -> Iterator[tuple[slice, GaussianEquivalent]]:
        """Yield (slice, these samples) in blocks of about `BLOCK_ROWS` sensing matrices."""
        step = max(1, BLOCK_ROWS[self.sensing.device.type] // self.sensing.shape[1])
        for part in slices(len(self), step):
            yield part, self.select(part)

    def select(self, samples: slice | torch.Tensor) -> GaussianEquivalent:
        """Return only these samples, in their order."""
        return GaussianEquivalent(self.sensing[samples], self.token_count)

    def indices(self, s: torch.Tensor) -> torch.Tensor:
        """Return h, shape (n, T, T), of a symmetric S (d, d)."""
        units = _times_vector(self.sensing.flatten(-3, -2), symmetric_coordinates(s))
        units = units.unflatten(-1, self.sensing.shape[-3:-1]) / math.sqrt(self.dim)
        return unpacked(units, self.token_count)

    def adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, indices(S)>, symmetric (d, d), for any `g` (n, T, T)."""
        slopes = packed_slope(g).flatten(-2)
        coordinates = _times_vector(self.sensing.flatten(-3, -2).mT, slopes)
        return from_symmetric_coordinates(coordinates / math.sqrt(self.dim), self.dim)

    def contrasts(self, s: torch.Tensor) -> torch.Tensor:
        """Return h_ab - h_aT, shape (n, T, T - 1), of a symmetric S (d, d)."""
        return contrasts_of(self.indices(s))

    def contrast_adjoint(self, g: torch.Tensor) -> torch.Tensor:
        """Return d/dS of sum_n <g, contrasts(S)>, symmetric (d, d), for any `g` (n, T, T - 1)."""
        return self.adjoint(slope_by_indices(g))


Inputs = Sequences | GaussianEquivalent


def output_metric(inputs: Inputs, output: Output) -> torch.Tensor | None:
    """Return the metric that turns residuals of attention into those of the output.

    Args:
        inputs: samples.
        output: compared output of the head.

    Returns:
        The metric (n, T - 1, T - 1); None if the attention itself is compared.

    Raises:
        TypeError: output sequences of inputs without tokens.
    """
    if output is Output.LABELS:
        return None
    if not isinstance(inputs, Sequences):
        raise TypeError("sensing matrices have no tokens, so they have no output sequences")
    return inputs.output_metric()


def sample_shape(kind: DataKind, tokens: int, dim: int) -> tuple[int, int]:
    """Return the shape of the inputs of one sample: rows, and numbers in a row.

    Args:
        kind: kind of inputs.
        tokens: T.
        dim: d.
    """
    if kind is DataKind.SEQUENCES:
        return tokens, dim
    return tokens * (tokens + 1) // 2, dim * (dim + 1) // 2


def inputs_shape(kind: DataKind, n: int, tokens: int, dim: int) -> tuple[int, int, int]:
    """Return the shape of the inputs of n samples.

    Args:
        kind: kind of inputs.
        n: number of samples.
        tokens: T.
        dim: d.

    Raises:
        InvalidParameter: they would take more than `MEMORY_LIMIT`.
    """
    shape = (n, *sample_shape(kind, tokens, dim))
    if 8 * math.prod(shape) > MEMORY_LIMIT:
        size = 8 * math.prod(shape) / 2**30
        rule = f"{n} samples of {kind} data take {size:.1f} GiB, allowed are {MEMORY_LIMIT >> 30}"
        raise InvalidParameter("dim", dim, rule, "lower it, or alpha")
    return shape


def draw_inputs(
    kind: DataKind,
    n: int,
    tokens: int,
    dim: int,
    stream: Stream,
    law: TokenLaw | None = None,
) -> Inputs:
    """Return n samples in float64.

    Args:
        kind: kind of inputs.
        n: number of samples.
        tokens: T.
        dim: d.
        stream: source of the samples.
        law: law of the whitened tokens; Gaussian ones by default.

    Raises:
        InvalidParameter: they would take more than `MEMORY_LIMIT`; nothing is drawn.
    """
    shape = inputs_shape(kind, n, tokens, dim)
    if kind is DataKind.SEQUENCES:
        return Sequences(draw_tokens(shape, stream, law))
    values = stream.normal(*shape)
    if isinstance(law, TokenNorms):
        covariance = symmetric_coordinates(torch.diag(law.covariance))
        values = law.of_sensing(values, own_scores(tokens), covariance)
    return GaussianEquivalent(values, tokens)


def draw_tokens(shape: tuple[int, int, int], stream: Stream, law: TokenLaw | None) -> torch.Tensor:
    """Return whitened tokens.

    Args:
        shape: (n, T, d).
        stream: source of the tokens.
        law: their law; None for Gaussian tokens.
    """
    return stream.normal(*shape) if law is None else law.draw(shape, stream)


def own_scores(tokens: int) -> torch.Tensor:
    """Return the places of scores of a token with itself among packed indices, shape (T,)."""
    a, b = torch.triu_indices(tokens, tokens)
    return torch.nonzero(a == b)[:, 0]


class FreshSamples(NamedTuple):
    """Test samples: contrasts of h (n, T, T - 1), h0 (n, T, T), and their `output_metric`."""

    contrasts: torch.Tensor
    h0: torch.Tensor
    metric: torch.Tensor | None


def fresh_indices(
    kind: DataKind,
    maps: tuple[torch.Tensor, torch.Tensor],
    n: int,
    tokens: int,
    stream: Stream,
    output: Output = Output.LABELS,
    law: TokenLaw | None = None,
) -> Iterator[FreshSamples]:
    """Yield n fresh samples in blocks.

    For Gaussian-equivalent data (h, h0) is drawn from its exact joint law, without sensing matrix.

    Args:
        kind: kind of inputs.
        maps: S and S0, (d, d), with the indices h and h0.
        n: number of samples.
        tokens: T.
        stream: source of the samples.
        output: compared output of the head.
        law: law of the whitened tokens; Gaussian ones by default.
    """
    for part in slices(n, 4096):
        size = len(range(n)[part])
        if kind is DataKind.SEQUENCES:
            inputs = Sequences(draw_tokens((size, tokens, len(maps[0])), stream, law).to(maps[0]))
            pairs = [
                (block.contrasts(maps[0]), block.indices(maps[1])) for _, block in inputs.blocks()
            ]
            contrasts, h0 = map(torch.cat, zip(*pairs, strict=True))
            yield FreshSamples(contrasts, h0, output_metric(inputs, output))
        else:
            h, h0 = _joint_gaussian(maps, size, tokens, stream)
            if isinstance(law, TokenNorms):
                own = _own_pair(law.covariances(*maps), size, tokens, stream)
                for scores, values in zip((h, h0), own, strict=True):
                    scores.diagonal(dim1=1, dim2=2).copy_(values)
            yield FreshSamples(contrasts_of(h), h0, None)


def _joint_gaussian(
    maps: tuple[torch.Tensor, torch.Tensor], n: int, tokens: int, stream: Stream
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw h and h0 of n samples, shape (n, T, T) each."""
    s, s0 = maps
    q, m, q0 = (float((x * y).sum()) / len(s) for x, y in ((s, s), (s, s0), (s0, s0)))
    g = stream.normal(2, n, tokens, tokens).to(s)
    g = (g + g.mT) / math.sqrt(2)  # variance 1 off the diagonal, 2 on it
    along = m / math.sqrt(q0)
    return along * g[0] + math.sqrt(max(q - along**2, 0.0)) * g[1], math.sqrt(q0) * g[0]


def _own_pair(covariance: torch.Tensor, n: int, tokens: int, stream: Stream) -> torch.Tensor:
    """Draw h_aa and h0_aa of n samples with this covariance, shape (2, n, T)."""
    values, vectors = torch.linalg.eigh(covariance)
    root = vectors * values.clamp(min=0.0).sqrt()
    return torch.tensordot(root, stream.normal(2, n, tokens).to(root), 1)


def slices(n: int, step: int) -> Iterator[slice]:
    """Yield consecutive slices of 0, ..., n - 1, all of length `step` but the last.

    Args:
        n: length of the whole.
        step: length of a slice.
    """
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _times_vector(matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """Return the product of each matrix (..., k, l) with its vector (..., l)."""
    return matrix @ vector if vector.ndim == 1 else (matrix @ vector[..., None])[..., 0]


def _index_deviation(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Standard deviation of an index per unit, sqrt(1 + delta_ab)."""
    return (1 + (a == b).double()).sqrt()


def symmetric_coordinates(s: torch.Tensor) -> torch.Tensor:
    """Return the coordinates of a symmetric S (..., d, d) in the orthonormal basis.

    Their shape is (..., d(d + 1)/2).
    """
    rows, columns = torch.triu_indices(*s.shape[-2:], device=s.device)
    return s[..., rows, columns] * _multiplicity(rows, columns).sqrt().to(s)


def from_symmetric_coordinates(coordinates: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the inverse of `symmetric_coordinates`, shape (..., d, d).

    Args:
        coordinates: shape (..., d(d + 1)/2).
        dim: d.
    """
    rows, columns = torch.triu_indices(dim, dim, device=coordinates.device)
    out = coordinates.new_zeros(*coordinates.shape[:-1], dim, dim)
    out[..., rows, columns] = coordinates / _multiplicity(rows, columns).sqrt().to(coordinates)
    return out + out.mT - torch.diag_embed(out.diagonal(dim1=-2, dim2=-1))


def _multiplicity(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Number of occurrences of an entry of the upper triangle: 1 on the diagonal, 2 off it."""
    return 2 - (rows == columns).double()
