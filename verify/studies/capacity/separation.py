"""The number of samples up to which some S predicts all labels, found by training.

The samples of a run are nested, so that the number is found by bisection. For a number of samples,
the squared hinge loss of the scores of all labels is minimised without weight decay, from the
weights of the last success. The labels are predicted if the descent finds an S that does; they are
not if it ends at a positive loss, which is the least one because the loss is convex in S and the
factors have full width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.model import structure
from numeric.problem.problem import Problem
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.run import record_digest
from verify.core.sensing.classification import class_scores, classes_of
from verify.core.sensing.run import ModelRun, drawn_sensing, drawn_target
from verify.core.sensing.samples import (
    coordinates,
    deviations,
    from_coordinates,
    sensed_labels,
)
from verify.core.sensing.shape import Shape

#: Relative gradient at which a descent ends. Labels that an S predicts only with a margin a
#: thousand times below that of S = 1 then count as not predicted; the margin falls to zero in
#: proportion to the distance from capacity.
SEPARATION_TOLERANCE = 1e-3
_STEPS = 20_000
_RESOLUTION = 0.002  # of the sample ratio, over the largest one
_SECONDS = 2e-9  # of a bisection, over n d^3


@dataclass(frozen=True)
class SeparationRun:
    """One search for the number of samples that can be predicted.

    Attributes:
        base: data of the run; its sample ratio is the largest that is tried.
        random_labels: labels are drawn without regard to the target.
    """

    base: ModelRun
    random_labels: bool

    device: ClassVar[str] = "cpu"

    @property
    def problem(self) -> Problem:
        """The problem of the run."""
        return self.base.problem

    @property
    def key(self) -> str:
        """Return the key of the stored result."""
        return record_digest({"base": self.base.key, "random_labels": self.random_labels})

    @property
    def label(self) -> str:
        """Return the name of the run in messages."""
        return f"capacity {self.base.label}"

    @property
    def cost(self) -> float:
        """Estimated seconds on one core."""
        return _SECONDS * self.problem.alpha * self.base.dim**5


@dataclass(frozen=True)
class SeparationResult:
    """Sample ratio up to which labels are predicted, with half of the bracket that is left."""

    run: SeparationRun
    alpha: float
    half_width: float

    def to_json(self) -> dict[str, Any]:
        """Return the values without the run."""
        return {"alpha": self.alpha, "half_width": self.half_width}

    @classmethod
    def from_json(cls, run: SeparationRun, record: dict[str, Any]) -> SeparationResult:
        """Return the result stored as `record`.

        Args:
            run: run of the result.
            record: JSON values.

        Raises:
            TypeError: a value is missing.
        """
        return cls(run, **record)


@dataclass(frozen=True)
class Margins:
    """Squared hinge loss of the scores of all labels, as a function of the weights.

    It is zero where all labels are predicted, whatever the margin.

    Attributes:
        shape: class of the matrices S.
        signs: coordinates of matrices C whose products with S are positive if a label is
            predicted, shape (labels, P).
    """

    shape: Shape
    signs: torch.Tensor

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean loss and its gradient, shape of the weights."""
        scores = self.signs @ coordinates(self.shape.matrix(weights), self.shape.kind)
        missing = (1 - scores).clamp(min=0)
        if bool((scores > 0).all()):
            missing = torch.zeros_like(missing)
        slope = -2 * (self.signs.T @ missing) / len(missing)
        matrix = from_coordinates(slope, self.shape.kind, self.shape.dim)
        return missing.square().mean(), self.shape.gradient(weights, matrix)


def separate(run: SeparationRun) -> SeparationResult:
    """Find the number of samples up to which some S predicts all labels.

    Raises:
        RuntimeError: all labels are predicted at the largest number of samples.
    """
    base, dim = run.base, run.base.dim
    rng = np.random.default_rng([base.seed, dim, base.index, int(run.random_labels)])
    shape_of = structure(base.problem.model)
    shape = Shape(shape_of.matrix, shape_of.has_linear_penalty, dim, dim)
    samples = round(base.problem.alpha * dim**2)
    s0 = drawn_target(base.problem, dim, rng)
    sensing = drawn_sensing(base, samples, rng)
    labels = sensed_labels(s0, sensing, base.problem, rng)
    signs = _signs(sensing, labels, run, rng)
    weights = torch.as_tensor(rng.standard_normal((dim, shape.columns)))
    low, high = predicted_samples(shape, signs, weights)
    if high > samples:
        raise RuntimeError(
            f"{run.label}: all labels are predicted at the largest sample ratio "
            f"{base.problem.alpha:g}"
        )
    return SeparationResult(run, (low + high) / 2 / dim**2, (high - low) / 2 / dim**2)


def predicted_samples(
    shape: Shape, signs: torch.Tensor, weights: torch.Tensor, resolution: float = _RESOLUTION
) -> tuple[int, int]:
    """Return the largest number of samples found that some S predicts, and the least one that none
    does.

    Args:
        shape: class of the matrices S.
        signs: coordinates of matrices whose products with S are positive if a label is predicted,
            shape (samples, labels of a sample, P).
        weights: starting weights.
        resolution: difference of both numbers at which the search ends, over all samples.
    """
    samples = len(signs)
    low, high = 0, samples + 1
    while high - low > max(1.0, resolution * samples):
        middle = min((low + high) // 2, samples)
        margins = Margins(shape, signs[:middle].flatten(0, 1))
        found = Lbfgs(tolerance=SEPARATION_TOLERANCE, max_steps=_STEPS).minimise(margins, weights)
        if found.status is not DescentStatus.CONVERGED:
            break
        if found.loss > 0:
            high = middle
        else:
            low, weights = middle, torch.as_tensor(found.weights)
    return low, high


def _signs(
    sensing: torch.Tensor, labels: torch.Tensor, run: SeparationRun, rng: np.random.Generator
) -> torch.Tensor:
    """Return matrices C of every sample and draw whose products with S are positive if the label is
    predicted, shape (n, draws, P).
    """
    problem, found = run.problem, []
    for k, draw in enumerate(structure(problem.model).draws):
        direction = torch.tensor(draw.directions, dtype=sensing.dtype)[0]
        score = torch.einsum("k,k,knp->np", direction, deviations(problem).to(sensing), sensing)
        side = _sides(problem, k, direction)
        classes = classes_of(labels, problem, k)
        if run.random_labels:
            classes = torch.as_tensor(rng.integers(len(side), size=len(labels)))
        found.append(side[classes][:, None] * score)
    return torch.stack(found, dim=1)


def _sides(problem: Problem, draw: int, direction: torch.Tensor) -> torch.Tensor:
    """Return the sign of the only direction at which each class is predicted, shape (classes,)."""
    h = direction[:, None] * torch.tensor([[-1.0, 1.0]], dtype=direction.dtype)
    predicted = class_scores(h, problem, draw).argmax(0).tolist()
    if sorted(predicted) != [0, 1]:
        rule = "has classes that the sign of one score does not tell apart"
        raise InvalidParameter("--model", problem.model, rule, "use signs, or two tokens")
    return torch.tensor([-1.0 if one == predicted[0] else 1.0 for one in (0, 1)])
