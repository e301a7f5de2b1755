"""How well a student classifies: wrong labels, calibration, and agreement with the target.

The student predicts the class with the least loss. These figures depend on the overlaps alone, and
are averaged over the draws of a label. A draw that depends on one direction of the index is
averaged in closed form over the target, between the jumps of the prediction; others are sampled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from numeric.channel.block_average import gaussian_grid
from numeric.channel.block_sample import Array, field_axes
from numeric.channel.class_average import AT_ONCE, SPAN, class_probabilities, panels
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Sampling, gaussians
from numeric.model import call, draw_values, label_of_classes, structure
from numeric.problem.axes import axis_overlaps, unlearned_rho
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

PANEL = 0.25  # width of panels over the field of the student, in standard deviations
INNER = 60  # nodes over the part of the target that the student does not see
STEEP = 0.02  # change of a probability between two places of a scan that may be a jump
SCAN = 4001  # places at which a scan for jumps looks
BISECTIONS = 45  # of an interval with a jump, down to rounding
SAMPLING = Sampling(2**14)  # of draws that depend on several directions
NO_EDGES = np.zeros(0)
HIDDEN = Sampling(2**6)  # of the part of the target that the best predictor does not know


class Classification(NamedTuple):
    """Figures of a student, each averaged over the draws of a label.

    Attributes:
        misclassification: share of the labels that are not predicted.
        calibration: mean probability of the predicted class as stated by the student, minus the
            share of labels that are predicted; NaN if the loss states no probabilities.
        agreement: share of labels whose most likely class under the target without noise is
            predicted.
    """

    misclassification: float
    calibration: float
    agreement: float


def classification(problem: Problem, overlaps: Overlaps) -> Classification:
    """Return the figures of a student.

    Args:
        problem: problem of a model whose labels have a few values, each predicted by itself.
        overlaps: order parameters of the student.
    """
    return _figures(_of_student(problem, overlaps))


def sampling_errors(problem: Problem, overlaps: Overlaps) -> Classification:
    """Return the half-widths of the figures of a student that are due to sampling.

    Args:
        problem: problem of a model whose labels have a few values, each predicted by itself.
        overlaps: order parameters of the student.
    """
    draws = _draws(problem)
    if overlaps.q == 0 or all(draw.dimensions == 1 for draw in draws):
        return Classification(0.0, 0.0, 0.0)
    total = np.zeros((3, SAMPLING.replicates))
    for draw, (weights, *values) in zip(draws, _of_student(problem, overlaps), strict=True):
        if draw.dimensions == 1:
            continue
        of_runs = np.reshape(weights * values, (3, SAMPLING.replicates, -1)).sum(axis=-1)
        total += SAMPLING.replicates * of_runs / len(draws)
    stated, correct, agreed = total
    return Classification(*(float(half_width(one)) for one in (correct, stated - correct, agreed)))


def optimal_classification(problem: Problem, error: float) -> Classification:
    """Return the figures of the best predictor, which takes the most likely class given the data.

    Args:
        problem: problem of a model whose labels have a few values, each predicted by itself.
        error: estimation error of the posterior mean of the target, eigenvalue^2.
    """
    known = problem.q0 - error
    overlaps = Overlaps(known, known, 1.0)
    return _figures([_predictions(draw, overlaps, optimal=True) for draw in _draws(problem)])


def reliability_bins(problem: Problem, overlaps: Overlaps, edges: Array) -> Array:
    """Return how confident a student is and how often it is right, by its confidence.

    Args:
        problem: problem of a model whose loss states probabilities.
        overlaps: order parameters of the student.
        edges: ascending ends of the bins of the stated probability of the predicted class.

    Returns:
        For each bin: the share of labels in it, its part of the mean confidence, and its part of
        the share of labels that are predicted; shape (3, bins).
    """
    draws = _draws(problem)
    total = np.zeros((3, len(edges) - 1))
    for draw in draws:
        weights, stated, correct, _ = _predictions(draw, overlaps, edges=edges)
        of_point = np.clip(np.searchsorted(edges, stated, "right") - 1, 0, len(edges) - 2)
        for row, values in zip(total, (weights, weights * stated, weights * correct), strict=True):
            np.add.at(row, of_point, values)
    return total / len(draws)


class _Predictions(NamedTuple):
    """Predictions of the label of a draw, each of shape (points,).

    Attributes:
        weights: probabilities of the points.
        stated: probability of the predicted class as stated by the student.
        correct: probability that the label is predicted.
        agreed: probability that the most likely class under the target is predicted.
    """

    weights: Array
    stated: Array
    correct: Array
    agreed: Array


@lru_cache(maxsize=4)  # error bars need those at a root several times
def _of_student(problem: Problem, overlaps: Overlaps) -> tuple[_Predictions, ...]:
    return tuple(_predictions(draw, overlaps) for draw in _draws(problem))


def _figures(draws: Sequence[_Predictions]) -> Classification:
    """Return the figures as means over draws."""
    means = [[float(one.weights @ values) for values in one[1:]] for one in draws]
    stated, correct, agreed = np.mean(means, axis=0).tolist()
    return Classification(1 - correct, stated - correct, agreed)


def _predictions(
    draw: "LabelDraw",
    overlaps: Overlaps,
    optimal: bool = False,
    edges: Array = NO_EDGES,
) -> _Predictions:
    """Return the predictions of a draw.

    Args:
        draw: the draw.
        overlaps: order parameters of the student.
        optimal: whether the most likely class is predicted, given what the student knows.
        edges: stated probabilities between which points are told apart.
    """
    if overlaps.q == 0:
        return _unlearned(draw)
    if draw.dimensions == 1:
        return _on_line(draw, overlaps, optimal, edges)
    return _sampled(draw, overlaps, optimal)


def _draws(problem: Problem) -> list["LabelDraw"]:
    return [_draw(problem, k + 1) for k in range(len(structure(problem.model).draws))]


@lru_cache(maxsize=16)  # all averages of a solve share where labels and target jump
def _draw(problem: Problem, number: int) -> "LabelDraw":
    return LabelDraw(problem, number)


@dataclass(frozen=True)
class LabelDraw:
    """One draw of a label, as a function of the directions that it depends on.

    Args:
        problem: the problem.
        number: number of the draw, from 1.
    """

    problem: Problem
    number: int

    @cached_property
    def directions(self) -> Array:
        """Return the directions of the index, shape (dimensions, entries)."""
        rows = structure(self.problem.model).draws[self.number - 1].directions
        return np.array(rows, dtype=float)

    @property
    def dimensions(self) -> int:
        """Return the number of directions."""
        return len(self.directions)

    @cached_property
    def axes(self) -> tuple[Array, Array]:
        """Return a root of the covariance of the directions per unit of overlap, and the shares of
        scores of a token with itself along its columns.
        """
        shape = structure(self.problem.model)
        A, own = self.directions, np.array([i == j for i, j in shape.tokens_of_scores], dtype=float)
        covariance = A @ np.diag(np.array(shape.index_variances, dtype=float)) @ A.T
        return field_axes(covariance, A @ np.diag(own) @ A.T if self.problem.has_norms else None)

    @cached_property
    def lines(self) -> tuple["_Line", "_Line"]:
        """Return the probabilities of the classes along the only direction, and the most likely
        class.
        """
        root, shares = self.axes
        scale = float(abs(root[0, 0]))
        width = float(np.sqrt(unlearned_rho(self.problem, shares)[0])) * scale * SPAN
        kinds = self.probabilities, lambda z: _one_hot(self.probabilities(z))
        chances, hard = (_Line(scale, of, _jumps(of, width)) for of in kinds)
        return chances, hard

    def index(self, x: Array) -> Array:
        """Return an index with these values along the directions, shape (entries, points)."""
        A = self.directions
        return np.asarray(A.T @ np.linalg.solve(A @ A.T, x))

    def probabilities(self, z: Array) -> Array:
        """Return the probability of each class, shape (classes, points).

        Args:
            z: noisy target index along the directions, shape (dimensions, points).
        """
        function = getattr(self.problem.generated, f"draw{self.number}_probabilities")
        values = call(function, tuple(self.index(z)), self.problem.settings)
        return np.array([one + np.zeros(z.shape[1]) for one in values])

    def scores(self, u: Array) -> Array:
        """Return minus the loss of each class, up to a constant, shape (classes, points).

        Args:
            u: index of the student along the directions, shape (dimensions, points).
        """
        index, settings = self.index(u), self.problem.settings
        losses = (
            call(self.problem.generated.index_loss, (*index, *label), settings)
            for label in self._labels
        )
        return np.array([-(loss + np.zeros(u.shape[1])) for loss in losses])

    @cached_property
    def _labels(self) -> list[tuple[float, ...]]:
        """Return a label of each class of this draw, with the first class of all others."""
        model, settings = self.problem.model, self.problem.settings
        values, found = draw_values(model, settings), []
        for one in range(len(values[self.number - 1])):
            chosen = [one if k == self.number else 0 for k in range(1, len(values) + 1)]
            found.append(label_of_classes(model, settings, chosen))
        return found

    def confidence(self, u: Array) -> Array:
        """Return the probability of the predicted class as stated by the student, shape
        (points,).
        """
        if not structure(self.problem.model).is_log_likelihood:
            return np.full(u.shape[1], np.nan)
        return np.asarray(scipy.special.softmax(self.scores(u), axis=0).max(axis=0))

    def fields(self, overlaps: Overlaps) -> tuple[Fields, Fields]:
        """Return the fields along the axes with the noisy target index, and with the noise-free
        one.
        """
        problem, shares = self.problem, self.axes[1]
        return (
            axis_overlaps(overlaps, problem, shares).fields,
            axis_overlaps(overlaps, problem, shares, problem.q0).fields,
        )


@dataclass(frozen=True)
class _Line:
    """Classes along one direction (see ClassedIndex), with jumps at `jumps` and else smooth."""

    scale: float
    chances: Callable[[Array], Array]
    jumps: Array

    @property
    def indices(self) -> int:
        return 1

    @property
    def root(self) -> Array:
        return np.array([[self.scale]])

    @property
    def is_in_cells(self) -> bool:
        return len(self.jumps) > 0

    @property
    def borders(self) -> tuple[Array, Array]:
        return np.ones((len(self.jumps), 1)), -self.jumps

    def probabilities(self, z: Array) -> Array:
        return self.chances(z)


def _unlearned(draw: LabelDraw) -> _Predictions:
    """Return the predictions of S = 0, for which classes of equal loss are predicted alike."""
    origin = np.zeros((draw.dimensions, 1))
    scores = draw.scores(origin)[:, 0]
    alike = np.isclose(scores, scores.max(), rtol=1e-12, atol=1e-12)
    chosen = alike / alike.sum()
    root, shares = draw.axes
    units = gaussians(draw.dimensions, SAMPLING).T
    spreads = (
        np.sqrt(unlearned_rho(draw.problem, shares, rho))[:, None]
        for rho in (draw.problem.rho, draw.problem.q0)
    )
    noisy, clean = (draw.probabilities(root @ (spread * units)) for spread in spreads)
    correct, agreed = chosen @ noisy.mean(axis=1), chosen @ _one_hot(clean).mean(axis=1)
    return _Predictions(
        np.ones(1), draw.confidence(origin), np.atleast_1d(correct), np.atleast_1d(agreed)
    )


def _on_line(draw: LabelDraw, overlaps: Overlaps, optimal: bool, edges: Array) -> _Predictions:
    """Return the predictions of a draw along one direction."""
    noisy, clean = draw.fields(overlaps)
    chances, hard = draw.lines
    spread = float(np.max(np.hypot(noisy.teacher, noisy.independent)))
    size = chances.scale * spread

    def predicted(g: Array) -> tuple[Array, Array]:
        """Return the predicted class as a one-hot vector, and its stated probability."""
        if optimal:
            P = _chances(chances, noisy, spread, g)
            return _one_hot(P), P.max(axis=0)
        u = size * g[None]
        return _one_hot(draw.scores(u)), draw.confidence(u)

    def steps(g: Array) -> Array:
        """Return what is constant between the ends of panels."""
        chosen, stated = predicted(g[0])
        return np.vstack([chosen, *(stated > edge for edge in edges)]) if len(edges) else chosen

    g, weights = panels(_jumps(steps, SPAN), PANEL)
    chosen, stated = predicted(g)
    P, best_of_target = (
        _chances(line, fields, spread, g) for line, fields in ((chances, noisy), (hard, clean))
    )
    correct, agreed = (np.sum(chosen * one, axis=0) for one in (P, best_of_target))
    return _Predictions(weights, stated, correct, agreed)


def _chances(line: _Line, fields: Fields, spread: float, g: Array) -> Array:
    """Return the probability of each class given the field of the student."""
    along = float(np.max(fields.teacher)) / spread
    rest = np.sqrt(max(1 - along**2, 0.0))
    target = float(np.max(fields.target))
    inner = gaussian_grid(1, INNER, INNER)
    return class_probabilities(line, target * along * g[None], np.array([[target * rest]]), inner)


def _sampled(draw: LabelDraw, overlaps: Overlaps, optimal: bool) -> _Predictions:
    """Return the predictions of a draw along several directions."""
    root, _ = draw.axes
    noisy, clean = draw.fields(overlaps)
    count = draw.dimensions
    x, independent, noise = np.split(gaussians(3 * count, SAMPLING).T, 3)
    column = {name: np.reshape(getattr(clean, name), (-1, 1)) for name in clean._fields[:3]}
    h0 = root @ (column["target"] * x)
    u = root @ (column["teacher"] * x + column["independent"] * independent)
    added = np.sqrt(np.maximum(np.reshape(noisy.target, (-1, 1)) ** 2 - column["target"] ** 2, 0))
    z = h0 + root @ (added * noise)
    chances = _mean_chances(draw, noisy, u) if optimal else draw.scores(u)
    chosen = _one_hot(chances)
    stated = chances.max(axis=0) if optimal else draw.confidence(u)
    correct = np.sum(chosen * draw.probabilities(z), axis=0)
    agreed = np.sum(chosen * _one_hot(draw.probabilities(h0)), axis=0)
    return _Predictions(np.full(u.shape[1], 1 / u.shape[1]), stated, correct, agreed)


def _mean_chances(draw: LabelDraw, fields: Fields, u: Array) -> Array:
    """Return the probability of each class given the best guess u of the target index."""
    root, _ = draw.axes
    hidden = fields.target * fields.independent / np.hypot(fields.teacher, fields.independent)
    rest = root @ (np.reshape(hidden, (-1, 1)) * gaussians(draw.dimensions, HIDDEN).T)
    means = [
        draw.probabilities((part[:, :, None] + rest[:, None]).reshape(len(rest), -1))
        .reshape(-1, part.shape[1], rest.shape[1])
        .mean(axis=-1)
        for part in np.array_split(u, 1 + u[0].size * rest.shape[1] // AT_ONCE, axis=1)
    ]
    return np.concatenate(means, axis=1)


def _one_hot(values: Array) -> Array:
    """Return 1 for the largest value of each point, and 0 for the others."""
    return np.eye(len(values))[:, np.argmax(values, axis=0)]


def _jumps(values: Callable[[Array], Array], reach: float) -> Array:
    """Return where functions of one direction jump, in ascending order.

    Args:
        values: function of places, shape (1, points), with values of shape (classes, points).
        reach: largest place.
    """
    places = np.linspace(-reach, reach, SCAN + 1)
    steps = np.abs(np.diff(values(places[None]), axis=1)).max(axis=0)
    found = np.flatnonzero(steps > STEEP)
    low, high = places[found], places[found + 1]
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        first = np.abs(values(middle[None]) - values(low[None])).max(axis=0, initial=0)
        last = np.abs(values(high[None]) - values(middle[None])).max(axis=0, initial=0)
        low, high = np.where(first > last, low, middle), np.where(first > last, middle, high)
    left = np.abs(values(high[None]) - values(low[None])).max(axis=0, initial=0)
    return np.asarray(((low + high) / 2)[left > STEEP])
