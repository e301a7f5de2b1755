"""Weight decay on the factors W is a trace penalty on S: both descents, on the same data, must end at the same S."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch

from verify import data
from verify.erm import Risk, attention_map
from verify.minimise import Lbfgs, Proximal, Status
from verify.run import Run, draw_start, training_labels

TOLERANCE = 1e-6  #: relative gradient of both descents
#: Relative difference allowed: the loss is quadratic at its minimum, the map is known to the root of that over the
#: flattest curvature, which the weight decay keeps above a thousandth of the steepest.
LOSS_BAND, MAP_BAND = 1e-6, 1e-4


@dataclass(frozen=True)
class Parametrisation:
    """Minimal loss per d^2 of both descents, distance of their maps relative to the map, and how they ended."""

    alpha: float
    factorised: float
    convex: float
    distance: float
    statuses: tuple[Status, Status]

    @property
    def agrees(self) -> bool:
        """Whether both converged, to the same loss and the same map."""
        same = abs(self.factorised - self.convex) <= LOSS_BAND * self.factorised and self.distance <= MAP_BAND
        return same and all(status is Status.CONVERGED for status in self.statuses)

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        return {**dataclasses.asdict(self), "statuses": [s.name.lower() for s in self.statuses], "agrees": self.agrees}


def compare_parametrisations(run: Run) -> Parametrisation:
    """Minimise over W and over S on the data of `run`."""
    rng = {name: np.random.default_rng(seed) for name, seed in run.seeds().items()}
    inputs = data.draw_inputs(run.data, run.samples, run.tokens, run.dim, rng["inputs"], run.device)
    s0 = torch.as_tensor(data.draw_target(run.target, run.dim, run.kappa0, rng["target"]), device=run.device)
    risk = Risk(inputs, training_labels(run, inputs, s0, rng), run.lambda_, run.beta)
    start = draw_start(run, rng["start"])
    minima = [
        Lbfgs(tolerance=TOLERANCE, proximal_steps=0).minimise(risk, start),
        Proximal(tolerance=TOLERANCE).minimise(risk, start),
    ]
    factorised, convex = (attention_map(torch.as_tensor(minimum.weights)) for minimum in minima)
    return Parametrisation(
        alpha=run.alpha,
        factorised=minima[0].loss,
        convex=minima[1].loss,
        distance=float((factorised - convex).norm() / factorised.norm()),
        statuses=(minima[0].status, minima[1].status),
    )
