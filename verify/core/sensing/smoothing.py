"""Training with a convex loss that has kinks, such as the hinge loss.

A descent by slopes does not settle at kinks. The loss l is replaced by its Moreau envelope
min_v l(v) + (v - h)^2/(2 width), whose slope (h - v)/width is continuous; the width falls in steps,
each from the minimum of the one before. The envelope of the theory at response V is that of this
loss at V + width, up to the variance of the index, so that the effect of the last width is known to
be small. Only the generated loss and its slope are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from numeric.model import structure
from numeric.problem.problem import Problem
from verify.core.minimise import DescentStatus, Lbfgs, Minimum
from verify.core.sensing.risk import SensedRisk
from verify.core.sensing.samples import evaluated, stacked

ENVELOPE_WIDTHS = (0.3, 0.05, 0.01)  #: index^2/loss; responses V are of order 1
_REACH, _PLACES, _LABELS = 20.0, 2001, 20  # range and number of indices, and of labels, of a check
_BISECTIONS = 45
_LAST_TOLERANCE = 1e-3  # at curvatures of 1/width, of the gradient; relative changes are its square


def has_convex_kinks(problem: Problem, labels: torch.Tensor) -> bool:
    """Return whether the loss of a single index has kinks, and its slope never falls.

    Args:
        problem: the problem.
        labels: shape (n, numbers).
    """
    shape = structure(problem.model)
    if len(shape.index_variances) > 1 or not any(block.kinks for block in shape.blocks):
        return False
    places = torch.linspace(-_REACH, _REACH, _PLACES, dtype=labels.dtype)
    slopes = (_slope(places, label.expand(_PLACES, -1), problem) for label in labels[:_LABELS])
    return all(bool((slope.diff() >= -1e-9 * slope.abs().max()).all()) for slope in slopes)


@dataclass(frozen=True)
class SmoothedRisk(SensedRisk):
    """Empirical risk of the Moreau envelope of a convex loss of a single index.

    Attributes:
        width: width of the envelope, index^2/loss.
    """

    width: float = ENVELOPE_WIDTHS[-1]

    def losses_and_slopes(self, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the envelope of each sample and its slope in the index h, shape (1, n)."""
        v = self._nearest(h[0])[None]
        slopes = (h - v) / self.width
        return self.losses(v) + self.width * slopes[0].square() / 2, slopes

    def _nearest(self, h: torch.Tensor) -> torch.Tensor:
        """Return v with v + width l'(v) = h by bisection; its left side rises with v."""
        most = self.width * torch.maximum(
            *(_slope(h + side * _REACH, self.labels, self.problem).abs() for side in (-1, 1))
        )
        low, high = h - most, h + most
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            above = middle + self.width * _slope(middle, self.labels, self.problem) > h
            low, high = torch.where(above, low, middle), torch.where(above, middle, high)
        return (low + high) / 2


def held_loss(risk: SensedRisk, h: torch.Tensor) -> tuple[float, float]:
    """Return the mean training loss at the indices v that kinks hold, and a bound on the effect of
    the last width.

    Args:
        risk: risk of a single index.
        h: indices at the minimum, shape (1, n).
    """
    smooth = SmoothedRisk(risk.problem, risk.shape, risk.sensing, risk.labels)
    _, slopes = smooth.losses_and_slopes(h)
    loss = risk.losses(h - smooth.width * slopes).mean()
    return float(loss), float(smooth.width * slopes.square().mean())


def _slope(u: torch.Tensor, labels: torch.Tensor, problem: Problem) -> torch.Tensor:
    return stacked(evaluated("index_slope", (u, *labels.T), problem), u)[0]


def minimise_kinked(risk: SensedRisk, start: torch.Tensor) -> Minimum:
    """Return the minimum of a risk whose loss has convex kinks.

    Args:
        risk: risk of a single index.
        start: starting weights.
    """
    for width in ENVELOPE_WIDTHS:
        smooth = SmoothedRisk(risk.problem, risk.shape, risk.sensing, risk.labels, width)
        found = Lbfgs(tolerance=_LAST_TOLERANCE, max_steps=20000).minimise(smooth, start)
        if found.status is not DescentStatus.CONVERGED:
            return found
        start = torch.as_tensor(found.weights)
    value, _ = risk.value_and_gradient(start)
    return replace(found, loss=float(value))
