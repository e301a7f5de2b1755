"""How well a trained student predicts fresh labels with a few values.

The student predicts the class with the least loss, each draw of a label by itself, as the theory
does (`numeric.channel.classification`); only the generated functions are shared.
"""

from __future__ import annotations

import numpy as np
import torch

from numeric.model import draw_values, label_of_classes, structure
from numeric.problem.problem import Problem
from verify.core.sensing.samples import evaluated, stacked


def measured_classification(
    h: torch.Tensor, h0: torch.Tensor, labels: torch.Tensor, problem: Problem
) -> dict[str, float]:
    """Return misclassification, calibration and agreement, averaged over the draws of a label.

    Args:
        h: indices of the student, shape (K, n).
        h0: indices of the target without noise, shape (K, n).
        labels: labels, shape (n, numbers).
        problem: the problem.
    """
    shape, values = structure(problem.model), draw_values(problem.model, problem.settings)
    found = []
    for k, (draw, rows) in enumerate(zip(shape.draws, values, strict=True)):
        scores = class_scores(h, problem, k)
        predicted = scores.argmax(0)
        chances = stacked(evaluated(f"draw{k + 1}_probabilities", tuple(h0), problem), h0[0])
        of_class = torch.as_tensor(rows, dtype=h.dtype)
        correct = (labels[:, list(draw.numbers)] == of_class[predicted]).all(1).double().mean()
        stated = scores.softmax(0).max(0).values.mean()
        agreement = (predicted == chances.argmax(0)).double().mean()
        found.append([float(1 - correct), float(stated - correct), float(agreement)])
    names = ("misclassification", "calibration", "agreement")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def class_scores(h: torch.Tensor, problem: Problem, draw: int) -> torch.Tensor:
    """Return minus the loss of each class of a draw, up to a constant, shape (classes, n).

    Args:
        h: indices of the student, shape (K, n).
        problem: the problem.
        draw: number of the draw, from 0.
    """
    values, losses = draw_values(problem.model, problem.settings), []
    for one in range(len(values[draw])):
        chosen = [one if other == draw else 0 for other in range(len(values))]
        numbers = label_of_classes(problem.model, problem.settings, chosen)
        label = torch.tensor(numbers, dtype=h.dtype)
        losses.append(evaluated("index_loss", (*h, *label), problem).expand(h.shape[1]))
    return -torch.stack(losses)


def classes_of(labels: torch.Tensor, problem: Problem, draw: int) -> torch.Tensor:
    """Return the class of each label of a draw, shape (n,).

    Args:
        labels: shape (n, numbers).
        problem: the problem.
        draw: number of the draw, from 0.
    """
    numbers = list(structure(problem.model).draws[draw].numbers)
    values = torch.as_tensor(draw_values(problem.model, problem.settings)[draw]).to(labels)
    return (labels[:, None, numbers] - values).abs().sum(-1).argmin(1)
