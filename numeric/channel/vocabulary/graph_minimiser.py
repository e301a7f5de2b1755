"""Minimum of the energy of all scores of samples that share tokens (step `token_graph`).

Newton's method. Scores of pairs belong to one sample each and are eliminated; the equations of the
scores of tokens are solved by conjugate gradients.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from numeric.channel.block_sample import MAX_STEP
from numeric.channel.vocabulary.sample_losses import Array, Indices, SampleLosses
from numeric.channel.vocabulary.token_graph import TokenGraph
from numeric.maths.domain import OutsideDomain

MAX_STEPS = 100  # Newton steps; about six are typical
TOLERANCE = 1e-6  # last Newton step in units of 1/beta; the error is about its square
LINEAR_TOLERANCE = 1e-3  # relative residual of the equations of a Newton step
DESCENT = 1e-4  # share of the expected descent of a step that is enough
HALVINGS = 30  # of a step
ROUNDING = 1e-13  # relative, of an energy


class _NegativeCurvature(Exception):
    """Error raised where the energy is not convex."""


class Scores(NamedTuple):
    """Numbers of scores: of tokens, shape (nodes,), and of pairs, shape (pairs, samples)."""

    tokens: Array
    pairs: Array

    def plus(self, fraction: float, step: "Scores") -> "Scores":
        """Return the scores after a fraction of a step."""
        return Scores(self.tokens + fraction * step.tokens, self.pairs + fraction * step.pairs)


class OwnResponses(NamedTuple):
    """Change of each dual field with its own fields, in units of the covariance.

    Attributes:
        student: with the field of the student.
        target: with that of the target, which enters the labels.
    """

    student: Scores
    target: Scores


def scores_of_samples(losses: SampleLosses, places: Indices, scores: Scores) -> Array:
    """Return all scores of each sample, shape (scores, samples).

    Args:
        losses: losses of the model.
        places: number of the token at each place of each sample, shape (samples, tokens).
        scores: scores of all tokens and of the pairs of these samples.
    """
    own = losses.is_own
    found = np.empty((len(own), len(places)))
    found[own], found[~own] = scores.tokens[places.T], scores.pairs
    return found


@dataclass(frozen=True, eq=False)
class GraphEnergy:
    """Energy of all scores of samples.

    Attributes:
        graph: tokens and samples.
        losses: losses of the model.
        fields: fields of the student.
        labels: labels, shape (numbers, samples).
        V: response, index^2/loss.
    """

    graph: TokenGraph
    losses: SampleLosses
    fields: Scores
    labels: Array
    V: float

    @property
    def variances(self) -> tuple[float, float]:
        """Variances of the score of a token with itself, and of a pair, per unit."""
        return self.losses.variances

    def dual(self, at: Scores) -> Scores:
        """Return the dual fields, the forces that pull scores away from their fields."""
        away = at.plus(-1.0, self.fields)
        own, pair = (variance * self.V for variance in self.variances)
        return Scores(away.tokens / own, away.pairs / pair)

    def losses_at(self, at: Scores) -> Array:
        """Return the loss of each sample, shape (samples,)."""
        return self.losses.loss(self._of_samples(at), self.labels)

    def minimiser(self, start: Scores) -> Scores:
        """Return the minimum that Newton steps reach from a start.

        Args:
            start: first scores.

        Raises:
            OutsideDomain: none is found within MAX_STEPS.
        """
        reach, tolerance = MAX_STEP * self.losses.unit, TOLERANCE * self.losses.unit
        at, energy = start, self._value(start)
        for _ in range(MAX_STEPS):
            if not np.isfinite(energy):
                break
            slope = self._slope(at)
            step, convex = self._newton_step(at, slope)
            length = max(float(np.max(np.abs(part), initial=0.0)) for part in step)
            if length < tolerance:
                return at.plus(1.0, step)
            step = Scores(*(np.clip(part, -reach, reach) for part in step))
            descent = float(slope.tokens @ step.tokens + np.sum(slope.pairs * step.pairs))
            for halving in range(HALVINGS):
                fraction = 0.5**halving
                moved = at.plus(fraction, step)
                lower = self._value(moved)
                if lower <= energy + DESCENT * fraction * descent + ROUNDING * abs(energy):
                    break
            if not convex:  # away from a saddle, short steps would grow slowly
                moved, lower = self._extended(at, step, fraction, lower)
            at, energy = moved, lower
        raise OutsideDomain(f"no minimum is found of the scores of a vocabulary, V = {self.V:g}")

    def _extended(
        self, at: Scores, step: Scores, fraction: float, energy: float
    ) -> tuple[Scores, float]:
        """Return the end of a step that is doubled as long as the energy falls, and its energy."""
        for _ in range(HALVINGS):
            longer = self._value(at.plus(2 * fraction, step))
            if not longer < energy:
                break
            fraction, energy = 2 * fraction, longer
        return at.plus(fraction, step), energy

    def own_responses(self, at: Scores, target: Array, signs: Scores | None) -> OwnResponses:
        """Return the changes of each dual field with its own fields.

        Args:
            at: minimiser.
            target: noisy target scores of the samples, shape (scores, samples).
            signs: random signs for samples that share tokens; None for samples apart.
        """
        curvature, own = self.curvature(at), self.losses.is_own
        order = np.argsort(~own, kind="stable")  # scores of tokens first
        mixed = self.losses.label_slope(self._of_samples(at), self.labels, target)
        mixed = np.moveaxis(mixed[order][:, order], -1, 0)
        with_student, with_target = (
            curvature.product_diagonal_apart(right)
            if signs is None
            else curvature.product_diagonal(right, signs)
            for right in (curvature.identity, mixed)
        )
        V, (tokens, pairs) = self.V, with_student
        of_token, of_pair = (variance * V for variance in self.variances)
        return OwnResponses(
            Scores((tokens / of_token - self.graph.occurs) / V, (pairs / of_pair - 1) / V),
            Scores(-with_target.tokens / V, -with_target.pairs / V),
        )

    def responses(self, at: Scores, probe: Scores) -> Scores:
        """Return the change of the dual fields with the fields, in units of their covariance.

        Args:
            at: minimiser.
            probe: direction, in units of the covariance.
        """
        own, other = np.sqrt(self.variances)
        force = Scores(probe.tokens / (own * self.V), probe.pairs / (other * self.V))
        moved = self.curvature(at).solved(force)
        return Scores(
            (moved.tokens / own - probe.tokens) / self.V,
            (moved.pairs / other - probe.pairs) / self.V,
        )

    def _of_samples(self, at: Scores) -> Array:
        return scores_of_samples(self.losses, self.graph.places, at)

    def _value(self, at: Scores) -> float:
        away, dual = at.plus(-1.0, self.fields), self.dual(at)
        elastic = away.tokens @ dual.tokens + np.sum(away.pairs * dual.pairs)
        return float(elastic / 2 + np.sum(self.losses_at(at)))

    def _slope(self, at: Scores) -> Scores:
        slopes, own = self.losses.slope(self._of_samples(at), self.labels), self.losses.is_own
        summed = Scores(self.graph.scattered(slopes[own]), slopes[~own])
        return summed.plus(1.0, self.dual(at))

    def curvature(self, at: Scores, convex: bool = False) -> "Curvature":
        """Return the curvature.

        Args:
            at: scores.
            convex: leave out negative curvatures of the losses.

        Raises:
            _NegativeCurvature: the energy is not convex in the scores of pairs.
        """
        found = self.losses.curvature(self._of_samples(at), self.labels)
        if convex:
            values, vectors = np.linalg.eigh(np.moveaxis(found, -1, 0))
            parts = (vectors * np.maximum(values, 0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
            found = np.moveaxis(parts, 0, -1)
        return Curvature.of(self, found)

    def _newton_step(self, at: Scores, slope: Scores) -> tuple[Scores, bool]:
        """Return a step, and whether the energy is convex there."""
        force = Scores(-slope.tokens, -slope.pairs)
        try:
            return self.curvature(at).solved(force), True
        except _NegativeCurvature:
            return self.curvature(at, convex=True).solved(force), False


@dataclass(frozen=True, eq=False)
class Curvature:
    """Curvature of the energy, with the scores of pairs eliminated.

    Attributes:
        graph: tokens and samples.
        through: change of the scores of pairs with those of tokens, shape (samples, tokens, pairs).
        pairs: inverse curvature in the scores of pairs, shape (samples, pairs, pairs).
        of_samples: part of each sample in the curvature in the scores of tokens, shape (samples,
            tokens, tokens).
        stiffness: elastic part of this curvature, of each token.
    """

    graph: TokenGraph
    through: Array
    pairs: Array
    of_samples: Array
    stiffness: float

    @classmethod
    def of(cls, energy: GraphEnergy, of_losses: Array) -> Self:
        """Return the curvature.

        Args:
            energy: the energy.
            of_losses: curvature of the losses, shape (scores, scores, samples).

        Raises:
            _NegativeCurvature: the energy is not convex in the scores of pairs.
        """
        own = energy.losses.is_own
        of_token, of_pair = (variance * energy.V for variance in energy.variances)
        blocks = np.moveaxis(of_losses, -1, 0)
        mixed = blocks[:, own][:, :, ~own]
        pairs = blocks[:, ~own][:, :, ~own] + np.eye(int(np.sum(~own))) / of_pair
        inverse = _positive_inverse(pairs)
        through = mixed @ inverse
        of_samples = blocks[:, own][:, :, own] - through @ np.swapaxes(mixed, 1, 2)
        return cls(energy.graph, through, inverse, of_samples, 1 / of_token)

    @cached_property
    def _reduced(self) -> csr_array:
        """Return the curvature in the scores of tokens."""
        blocks = np.moveaxis(self.of_samples, 0, -1)
        return self.graph.couplings.matrix(blocks, self.stiffness)

    @cached_property
    def _diagonal(self) -> Array:
        """Return its diagonal.

        Raises:
            _NegativeCurvature: the energy is not convex in one score.
        """
        found = self._reduced.diagonal()
        if np.any(found <= 0):
            raise _NegativeCurvature
        return found

    def solved(self, force: Scores) -> Scores:
        """Return the displacements by forces.

        Args:
            force: force on each score.

        Raises:
            _NegativeCurvature: the energy is not convex.
        """
        moved = self._solved_tokens(force.tokens - self._on_tokens(force.pairs))
        back = np.einsum("ntp,tn->pn", self.through, self.graph.gathered(moved))
        return Scores(moved, np.einsum("npr,rn->pn", self.pairs, force.pairs) - back)

    @property
    def identity(self) -> Array:
        """The unit matrix as a sum over samples, shape (samples, scores, scores).

        It is zero for tokens that are in no sample.
        """
        pairs = np.ones((self.pairs.shape[1], self.graph.samples))
        shares = [1 / self.graph.gathered(self.graph.degrees), pairs]
        return np.eye(sum(map(len, shares))) * np.concatenate(shares).T[:, :, None]

    def product_diagonal(self, right: Array, signs: Scores) -> Scores:
        """Return the diagonal of the inverse times a matrix, up to noise of mean zero.

        Products with random signs have this mean. What next neighbours add to them has the mean
        zero and is left out.

        Args:
            right: matrix as a sum over samples, shape (samples, scores, scores), tokens first.
            signs: random signs.
        """
        on_tokens, on_pairs = self._reduced_right(right)
        known = self.graph.scattered(np.diagonal(on_tokens, axis1=1, axis2=2).T) / self._diagonal
        force = self._force(on_tokens, self.graph.gathered(signs.tokens))
        first = known * signs.tokens
        neighbours = (self._reduced @ first) / self._diagonal - first
        beyond = self._solved_tokens(force) - force / self._diagonal + neighbours
        tokens = known + signs.tokens * beyond
        force = self._force(on_pairs, signs.pairs)
        beyond = self._solved_tokens(force) - force / self._diagonal
        back = np.einsum("ntp,tn->pn", self.through, self.graph.gathered(beyond))
        near = 1 / self.graph.gathered(self._diagonal)
        near = np.einsum("ntp,tn,ntp->pn", self.through, near, on_pairs)
        return Scores(tokens, self._pairs_alone_with(right) - near - signs.pairs * back)

    def product_diagonal_apart(self, right: Array) -> Scores:
        """Return the diagonal of the inverse times a matrix if no two samples share a token.

        Args:
            right: matrix as a sum over samples, shape (samples, scores, scores), tokens first.
        """
        on_tokens, on_pairs = self._reduced_right(right)
        size = self.of_samples.shape[1]
        inverse = np.linalg.inv(self.of_samples + self.stiffness * np.eye(size))
        tokens = np.einsum("ntu,nut->nt", inverse, on_tokens).ravel()
        near = np.einsum("ntp,ntu,nup->pn", self.through, inverse, on_pairs)
        return Scores(tokens, self._pairs_alone_with(right) - near)

    def _reduced_right(self, right: Array) -> tuple[Array, Array]:
        """Return a matrix with the rows of pairs eliminated: its columns of tokens and of pairs."""
        size = self.of_samples.shape[1]
        found = right[:, :size] - self.through @ right[:, size:]
        return found[:, :, :size], found[:, :, size:]

    def _pairs_alone_with(self, right: Array) -> Array:
        """Return the diagonal for pairs at fixed tokens, shape (pairs, samples)."""
        size = self.of_samples.shape[1]
        return np.einsum("npr,nrp->pn", self.pairs, right[:, size:, size:])

    def _force(self, columns: Array, signs: Array) -> Array:
        """Return forces on tokens, columns (samples, tokens, any) times signs (any, samples)."""
        return self.graph.scattered(np.einsum("ntc,cn->tn", columns, signs))

    def _on_tokens(self, pairs: Array) -> Array:
        """Return forces on pairs as forces on tokens of the opposite sign."""
        return self.graph.scattered(np.einsum("ntp,pn->tn", self.through, pairs))

    def _solved_tokens(self, force: Array) -> Array:
        """Return the displacements of the scores of tokens by forces on them.

        Raises:
            _NegativeCurvature: the energy is not convex.
        """

        def product(direction: Array) -> Array:
            found = self._reduced @ direction
            if direction @ found < 0:
                raise _NegativeCurvature
            return found

        shape = self._reduced.shape
        matrix = LinearOperator(shape, matvec=product, dtype=float)
        inverse = LinearOperator(shape, matvec=lambda one: one / self._diagonal, dtype=float)
        moved, failed = cg(matrix, force, rtol=LINEAR_TOLERANCE, atol=0.0, M=inverse)
        if failed:
            raise _NegativeCurvature
        return moved


def _positive_inverse(matrices: Array) -> Array:
    """Return the inverse of symmetric matrices, shape (samples, size, size).

    Raises:
        _NegativeCurvature: one is not positive.
    """
    if matrices.shape[1] == 1:
        if np.any(matrices <= 0):
            raise _NegativeCurvature
        return 1 / matrices
    if matrices.size and np.any(np.linalg.eigvalsh(matrices)[:, 0] <= 0):
        raise _NegativeCurvature
    return np.asarray(np.linalg.inv(matrices))
