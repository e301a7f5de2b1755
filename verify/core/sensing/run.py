"""One run of any model, on Gaussian-equivalent data or token sequences: target, samples, descent
and measurements.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.laws.target_spectrum import target_quantile_means
from numeric.model import structure
from numeric.problem.problem import Problem
from verify.core.data import DataKind
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.run import record_digest, vocabulary_size
from verify.core.sensing.classification import measured_classification
from verify.core.sensing.risk import SensedRisk
from verify.core.sensing.samples import (
    deviations,
    evaluated,
    labels_of,
    noisy_indices,
    sensed_labels,
    token_indices,
    token_sensing,
)
from verify.core.sensing.shape import Shape
from verify.core.sensing.smoothing import has_convex_kinks, held_loss, minimise_kinked
from verify.core.target import haar_rotation

_FRESH = 100_000  #: number of samples of the test error
_FRESH_SEQUENCES = 50_000  #: number of sequences of the test error
_EVALUATIONS = 300  #: approximate number of evaluations of the risk in a descent


def default_target(model: str, kappa0: float, positive: float = 0.5) -> Target:
    """Return the target law of a model at this rank ratio, of unit scale.

    Args:
        model: name of the model.
        kappa0: rank ratio.
        positive: share of positive jumps, if the law has both signs.
    """
    if not structure(model).has_negative_eigenvalues:
        return MarchenkoPastur(kappa0)
    return RationalTarget.of(model, kappa0=kappa0, positive=positive, scale=1.0)


@dataclass(frozen=True)
class ModelRun:
    """One training of any model.

    Attributes:
        problem: model and parameters.
        dim: dimension d.
        index: number of the run among those of equal parameters.
        seed: seed of all runs.
        shuffle_labels: shuffle the labels among the samples: breaks the data on purpose.
        data: Gaussian indices with the covariance of the theory, or those of token sequences.
    """

    problem: Problem
    dim: int
    index: int
    seed: int = 0
    shuffle_labels: bool = False
    data: DataKind = DataKind.GAUSSIAN_EQUIVALENT

    device: ClassVar[str] = "cpu"

    @property
    def key(self) -> str:
        """Return the key of the stored result."""
        return record_digest(dataclasses.asdict(self) | {"problem": repr(self.problem)})

    @property
    def label(self) -> str:
        """Return the name of the run in messages."""
        return f"{self.problem.model} dim {self.dim} index {self.index}"

    @property
    def cost(self) -> float:
        """Estimated seconds on one core: each evaluation is a product with all sensing matrices."""
        indices = len(structure(self.problem.model).index_variances)
        return 1e-10 * _EVALUATIONS * indices * self.problem.alpha * self.dim**4


@dataclass(frozen=True)
class ModelResult:
    """Measured values of one run: overlaps per d, mean losses, and the minimum per d^2; figures of
    classification, None if labels are no classes; and a bound on the training loss that is due to
    the smoothing of kinks.
    """

    run: ModelRun
    m: float
    q: float
    train_error: float
    test_error: float
    free_entropy: float
    misclassification: float | None = None
    calibration: float | None = None
    agreement: float | None = None
    smoothing_error: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the values without the run."""
        return {name: value for name, value in vars(self).items() if name != "run"}

    @classmethod
    def from_json(cls, run: ModelRun, record: dict[str, Any]) -> ModelResult:
        """Return the result stored as `record`.

        Args:
            run: run of the result.
            record: JSON values.

        Raises:
            TypeError, ValueError: a value is missing or not a number.
        """
        result = cls(run, **record)
        values = [value for value in result.to_json().values() if value is not None]
        if not all(map(math.isfinite, values)):
            raise ValueError("a value that is not finite")
        return result


def train_model(run: ModelRun) -> ModelResult:
    """Draw the data of a run, minimise its risk and measure.

    Raises:
        RuntimeError: the descent did not converge.
    """
    problem, dim = run.problem, run.dim
    rng = np.random.default_rng(
        [run.seed, dim, run.index, round(1e6 * problem.alpha), round(1e6 * problem.lambda_)]
    )
    shape_of = structure(problem.model)
    shape = Shape(
        shape_of.matrix, shape_of.has_linear_penalty, dim, max(1, round(problem.width * dim))
    )
    s0, samples = drawn_target(problem, dim, rng), round(problem.alpha * dim**2)
    sensing = drawn_sensing(run, samples, rng)
    labels = sensed_labels(s0, sensing, problem, rng)
    if run.shuffle_labels:
        labels = labels[torch.as_tensor(rng.permutation(samples))]
    risk = SensedRisk(problem, shape, sensing, labels)
    start = torch.as_tensor(rng.standard_normal((dim, shape.columns)))
    smoothed = has_convex_kinks(problem, labels)
    found = minimise_kinked(risk, start) if smoothed else Lbfgs().minimise(risk, start)
    if found.status is not DescentStatus.CONVERGED:
        raise RuntimeError(found.status.value)
    s = shape.matrix(torch.as_tensor(found.weights))
    h = risk.indices(s)
    losses = risk.losses(h)
    if (s * s0).sum() < 0 and torch.equal(losses, risk.losses(-h)):
        s, h = -s, -h  # the labels do not tell the sign
    m, q = (float((s * other).sum()) / dim for other in (s0, s))
    q0 = float(s0.square().sum()) / dim
    train_error, smoothing_error = float(losses.mean()), 0.0
    if smoothed:
        train_error, smoothing_error = held_loss(risk, h)
    fresh = (
        _fresh_indices(problem, m, q, q0, rng)
        if run.data is DataKind.GAUSSIAN_EQUIVALENT
        else _sequence_indices(problem, s, s0, rng)
    )
    return ModelResult(
        run,
        m=m,
        q=q,
        train_error=train_error,
        free_entropy=found.loss,
        smoothing_error=smoothing_error,
        **_fresh_figures(fresh, problem, rng),
    )


def drawn_sensing(run: ModelRun, samples: int, rng: np.random.Generator) -> torch.Tensor:
    """Return sensing matrices in coordinates of the class of S, shape (K, samples, P).

    Args:
        run: the run.
        samples: number of samples.
        rng: source of the matrices, or of the tokens.
    """
    dim, model = run.dim, structure(run.problem.model)
    if run.data is DataKind.GAUSSIAN_EQUIVALENT:
        size = dim**2 if model.matrix == "general" else dim * (dim + 1) // 2
        count = len(model.index_variances)
        return torch.as_tensor(rng.standard_normal((count, samples, size)))
    return token_sensing(_drawn_tokens(run.problem, samples, dim, rng), run.problem)


def _drawn_tokens(
    problem: Problem, samples: int, dim: int, rng: np.random.Generator
) -> torch.Tensor:
    """Return Gaussian tokens of samples, shape (samples, tokens, d).

    Tokens of a vocabulary are drawn once, and each is equally likely at every place.
    """
    tokens = 1 + max(max(pair) for pair in structure(problem.model).tokens_of_scores)
    if not problem.has_vocabulary:
        return torch.as_tensor(rng.standard_normal((samples, tokens, dim)))
    vocabulary = rng.standard_normal((vocabulary_size(problem, dim), dim))
    return torch.as_tensor(vocabulary[rng.integers(len(vocabulary), size=(samples, tokens))])


def _sequence_indices(
    problem: Problem, s: torch.Tensor, s0: torch.Tensor, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the indices (K, n) of student and target of fresh sequences of new tokens."""
    tokens = _drawn_tokens(problem.of_new_tokens, _FRESH_SEQUENCES, len(s), rng)
    return token_indices(s, tokens, problem), token_indices(s0, tokens, problem)


def _fresh_indices(
    problem: Problem, m: float, q: float, q0: float, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the indices (K, n) of student and target of fresh samples, jointly Gaussian."""
    along, independent = torch.as_tensor(rng.standard_normal((2, len(deviations(problem)), _FRESH)))
    spread = deviations(problem)[:, None]
    h0 = math.sqrt(q0) * spread * along
    h = spread * (m / math.sqrt(q0) * along + math.sqrt(max(q - m**2 / q0, 0.0)) * independent)
    return h, h0


def _fresh_figures(
    fresh: tuple[torch.Tensor, torch.Tensor], problem: Problem, rng: np.random.Generator
) -> dict[str, float]:
    """Return the test error, and the figures of classification if labels have a few values."""
    h, h0 = fresh
    labels = labels_of(noisy_indices(h0, problem, rng), problem, rng)
    figures = {"test_error": float(evaluated("index_loss", (*h, *labels.T), problem).mean())}
    if names := problem.label_quantities:
        measured = measured_classification(h, h0, labels, problem)
        figures |= {name: measured[name] for name in names}
    return figures


def drawn_target(problem: Problem, dim: int, rng: np.random.Generator) -> torch.Tensor:
    """Return S0 with the eigenvalues (singular values) of its law, in random directions.

    Args:
        problem: the problem, which states the law.
        dim: d.
        rng: source of the directions.
    """
    rotation = haar_rotation(dim, rng)
    if problem.has_singular_values:
        # The law is symmetric: its positive half holds every singular value twice.
        values = np.sort(np.abs(quantiles(problem.target, 2 * dim)))[::-2]
        return torch.as_tensor((rotation * values) @ haar_rotation(dim, rng).T)
    if isinstance(problem.target, MarchenkoPastur):
        values = target_quantile_means(problem.target.kappa0, dim)
    else:
        values = quantiles(problem.target, dim)
    return torch.as_tensor((rotation * values) @ rotation.T)


def quantiles(target: Target, dim: int) -> np.ndarray:
    """Return the eigenvalues at the middles of d equal masses of the law, scaled to its second
    moment.

    Args:
        target: law of the target.
        dim: d.
    """
    if isinstance(target, Eigenvalues):
        s, weights = target.arrays
        values = s[np.searchsorted(np.cumsum(weights), (np.arange(dim) + 0.5) / dim)]
        return np.asarray(values * math.sqrt(target.q0 / np.mean(values**2)))
    # a narrow semicircle replaces the zero eigenvalues, where the law has no density
    noise = 1e-9
    support = target.support(noise)
    grid = np.linspace(support[0][0], support[-1][1], 4001)[1:-1]
    above = np.array([target.mass_above(noise, x) for x in grid])
    values = np.interp((np.arange(dim) + 0.5) / dim, 1 - above, grid)
    return values * math.sqrt(target.q0 / np.mean(values**2))
