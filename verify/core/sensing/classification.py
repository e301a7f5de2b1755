"""How well a trained student predicts fresh labels with a few values.

The student predicts the class with the least loss, each draw of a label by itself, as the theory
does (`numeric.channel.classification`); only the generated functions are shared.
"""

from __future__ import annotations

import numpy as np
import torch

from numeric.model import draw_values, structure
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
    rows = [torch.as_tensor(of_class, dtype=h.dtype) for of_class in values]
    rest = torch.zeros_like(labels[0])
    for draw, of_class in zip(shape.draws, rows, strict=True):
        rest[list(draw.numbers)] = of_class[0]
    found = []
    for k, (draw, of_class) in enumerate(zip(shape.draws, rows, strict=True), 1):
        numbers, losses = list(draw.numbers), []
        for row in of_class:
            label = rest.clone()
            label[numbers] = row
            losses.append(evaluated("index_loss", (*h, *label), problem))
        scores = -torch.stack(losses)
        predicted = scores.argmax(0)
        chances = stacked(evaluated(f"draw{k}_probabilities", tuple(h0), problem), h0[0])
        correct = (labels[:, numbers] == of_class[predicted]).all(1).double().mean()
        stated = scores.softmax(0).max(0).values.mean()
        agreement = (predicted == chances.argmax(0)).double().mean()
        found.append([float(1 - correct), float(stated - correct), float(agreement)])
    names = ("misclassification", "calibration", "agreement")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))
