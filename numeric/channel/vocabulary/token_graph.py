"""Sampled graphs of tokens and samples, with the Gaussian numbers of their fields.

All replicates are one graph of disjoint parts.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.channel.vocabulary.sample_losses import Array, Indices
from numeric.maths.sobol import Sampling, gaussians

_TRAIN, _TEST, _OF_TOKENS = 1, 2, 3  #: streams of random numbers


@dataclass(frozen=True, eq=False)
class TokenGraph:
    """Samples and their tokens.

    Attributes:
        places: number of the token at each place of each sample, shape (samples, tokens).
        replicates: number of replicates, each with the same number of samples.
        of_tokens: replicate of each token, shape (nodes,).
    """

    places: Indices
    replicates: int
    of_tokens: Indices

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.places)

    @property
    def nodes(self) -> int:
        """Number of tokens."""
        return len(self.of_tokens)

    @property
    def of_samples(self) -> Indices:
        """Replicate of each sample, shape (samples,)."""
        return np.repeat(np.arange(self.replicates), self.samples // self.replicates)

    @cached_property
    def apart(self) -> "TokenGraph":
        """The same samples, none of which shares a token."""
        places = np.arange(self.places.size).reshape(self.places.shape)
        return TokenGraph(places, self.replicates, np.repeat(self.of_samples, self.places.shape[1]))

    def gathered(self, of_tokens: Array) -> Array:
        """Return what belongs to the tokens at the places of the samples.

        Args:
            of_tokens: values of tokens, shape (..., nodes).

        Returns:
            Shape (tokens, samples), after the leading axes.
        """
        return of_tokens[..., self.places.T]

    def scattered(self, of_places: Array) -> Array:
        """Return sums over the places where a token occurs, shape (nodes,).

        Args:
            of_places: values, shape (tokens, samples).
        """
        sums = np.bincount(self.places.T.ravel(), of_places.ravel(), minlength=self.nodes)
        return np.asarray(sums, dtype=np.float64)

    @cached_property
    def degrees(self) -> Array:
        """Number of samples of each token, shape (nodes,)."""
        return self.scattered(np.ones(self.places.T.shape))

    @property
    def occurs(self) -> NDArray[np.bool_]:
        """Whether each token is in a sample, shape (nodes,)."""
        return self.degrees > 0

    def mean_over_tokens(self, values: Array) -> Array:
        """Return sums over tokens per sample, shape (replicates,).

        Args:
            values: one for each token, shape (nodes,).
        """
        sums = np.bincount(self.of_tokens, values, minlength=self.replicates)
        return sums * self.replicates / self.samples

    def mean_over_samples(self, values: Array) -> Array:
        """Return means over samples, shape (..., replicates).

        Args:
            values: shape (..., samples).
        """
        return values.reshape(*values.shape[:-1], self.replicates, -1).mean(axis=-1)

    @cached_property
    def couplings(self) -> "Couplings":
        """Pattern of a matrix that couples the tokens of each sample."""
        return Couplings.of(self)


@dataclass(frozen=True)
class Couplings:
    """Pattern of a sparse matrix over tokens: a diagonal, and one block for each sample.

    Attributes:
        positions: position of each element of the blocks among the stored elements.
        diagonal: positions of the diagonal elements.
        columns: column of each stored element.
        starts: first stored element of each row.
    """

    positions: NDArray[np.intp]
    diagonal: NDArray[np.intp]
    columns: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, graph: TokenGraph) -> "Couplings":
        """Return the pattern of a graph."""
        places = graph.places.T
        rows = np.broadcast_to(places[:, None], (len(places), *places.shape)).ravel()
        columns = np.broadcast_to(places[None], (len(places), *places.shape)).ravel()
        on_diagonal = np.arange(graph.nodes) * (graph.nodes + 1)
        stored = np.concatenate([rows * graph.nodes + columns, on_diagonal])
        keys, positions = np.unique(stored, return_inverse=True)
        starts = np.searchsorted(keys, np.arange(graph.nodes + 1) * graph.nodes)
        of_blocks, diagonal = np.split(positions.ravel(), [rows.size])
        return cls(of_blocks, diagonal, keys % graph.nodes, starts)

    def matrix(self, blocks: Array, diagonal: float) -> scipy.sparse.csr_array:
        """Return a multiple of the identity plus a sum of blocks.

        Args:
            blocks: shape (tokens, tokens, samples).
            diagonal: the multiple.
        """
        found = np.bincount(self.positions, blocks.ravel(), minlength=len(self.columns))
        values = np.asarray(found, dtype=np.float64)
        values[self.diagonal] += diagonal
        size = len(self.starts) - 1
        return scipy.sparse.csr_array((values, self.columns, self.starts), shape=(size, size))


class Draw(NamedTuple):
    """Gaussian numbers of samples.

    Attributes:
        places: number of the token at each place of each sample, shape (samples, tokens).
        seen: numbers of pairs that the labels see, shape (pairs, samples).
        unseen: numbers of pairs that they do not see, shape (pairs, samples).
        noise: numbers of the noise on scores, shape (scores, samples).
        label_noise: numbers of the noise on labels, shape (numbers, samples).
    """

    places: Indices
    seen: Array
    unseen: Array
    noise: Array
    label_noise: Array


class SampledVocabulary(NamedTuple):
    """Samples of training and of test, whose tokens come from one vocabulary.

    Attributes:
        graph: tokens and samples of training; tokens of the test alone are in no sample.
        seen: numbers of tokens that the labels see, shape (nodes,).
        unseen: numbers of tokens that they do not see, shape (nodes,).
        train: numbers of the samples of training.
        test: numbers of the samples of the test.
    """

    graph: TokenGraph
    seen: Array
    unseen: Array
    train: Draw
    test: Draw

    @property
    def apart(self) -> "SampledVocabulary":
        """The same samples of training, none of which shares a token; no samples of a test."""
        seen, unseen = (self.graph.gathered(one).T.ravel() for one in (self.seen, self.unseen))
        train = self.train._replace(places=self.graph.apart.places)
        return SampledVocabulary(self.graph.apart, seen, unseen, train, self.test)


class GraphSize(NamedTuple):
    """Size of a sampled vocabulary.

    Attributes:
        sampling: samples per replicate, and replicates.
        ratio: tokens of the vocabulary per sample, nu/alpha.
        tokens: tokens of a sample.
        noise: numbers of noise on scores and on labels in a sample; 0 without noise.
    """

    sampling: Sampling
    ratio: float
    tokens: int
    noise: tuple[int, int]


@lru_cache(maxsize=2)
def drawn_vocabulary(size: GraphSize) -> SampledVocabulary:
    """Return samples; tokens are drawn uniformly, and those of a sample are distinct."""
    sampling, tokens = size.sampling, size.tokens
    vocabulary = max(2 * tokens, round(size.ratio * sampling.points))
    names = [_drawn_tokens(size, vocabulary, stream) for stream in (_TRAIN, _TEST)]
    known, numbers = np.unique(np.stack(names), return_inverse=True)
    places = numbers.reshape(2, -1, tokens)
    of_tokens = known // vocabulary
    graph = TokenGraph(places[0], sampling.replicates, of_tokens)
    counts = np.bincount(of_tokens, minlength=sampling.replicates)
    enough = Sampling(1 << int(counts.max() - 1).bit_length(), sampling.replicates)
    points = gaussians(2, enough, _OF_TOKENS).reshape(sampling.replicates, -1, 2)
    seen, unseen = np.concatenate([one[:k] for one, k in zip(points, counts, strict=True)]).T
    draws = (_draw(size, one, stream) for one, stream in zip(places, (_TRAIN, _TEST), strict=True))
    return SampledVocabulary(graph, seen, unseen, *draws)


def _drawn_tokens(size: GraphSize, vocabulary: int, stream: int) -> Indices:
    """Return the name of the token at each place; replicates have names of their own."""
    sampling = size.sampling
    rng = np.random.default_rng((stream, sampling.points, sampling.replicates, size.tokens))
    found = rng.random((sampling.replicates * sampling.points, size.tokens)) * vocabulary
    found = np.floor(found)
    while len(again := np.flatnonzero(np.any(np.diff(np.sort(found)) == 0, axis=1))):
        found[again] = np.floor(rng.random((len(again), size.tokens)) * vocabulary)
    replicate = np.repeat(np.arange(sampling.replicates), sampling.points)
    return found.astype(np.intp) + (vocabulary * replicate)[:, None]


def _draw(size: GraphSize, places: Indices, stream: int) -> Draw:
    pairs = size.tokens * (size.tokens - 1) // 2
    counts = np.cumsum([pairs, pairs, *size.noise])
    points = gaussians(int(counts[-1]), size.sampling, stream) if counts[-1] else _none(size)
    return Draw(places, *np.split(points.T, counts[:-1]))


def _none(size: GraphSize) -> Array:
    return np.zeros((size.sampling.points * size.sampling.replicates, 0))
