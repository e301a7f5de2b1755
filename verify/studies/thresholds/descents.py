"""Comparison of descents over W and over S: weight decay on W is a trace penalty on S, so both
minima agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from verify.core.draw import draw, empirical_risk
from verify.core.intervals import quotient
from verify.core.minimise import DescentStatus, Lbfgs, Proximal
from verify.core.run import Run

_TOLERANCE = 1e-6  #: relative gradient of both descents
#: Allowed relative differences of loss and map. The loss is quadratic at its minimum; the smallest
#: curvature is above 1e-3 of the largest because of the weight decay.
_LOSS_BAND, _MAP_BAND = 1e-6, 1e-4


@dataclass(frozen=True)
class Descents:
    """Minimal loss per d^2 of both descents, relative distance of their maps, and their
    statuses.
    """

    run: Run
    factorised: float
    convex: float
    distance: float
    statuses: tuple[DescentStatus, DescentStatus]

    @property
    def agrees(self) -> bool:
        """Return whether both converged to the same loss and the same map."""
        same = (
            abs(self.factorised - self.convex) <= _LOSS_BAND * self.factorised
            and self.distance <= _MAP_BAND
        )
        return same and all(status is DescentStatus.CONVERGED for status in self.statuses)

    def document(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "alpha": self.run.problem.alpha,
            **self.to_json(),
            "agrees": self.agrees,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the values without the run."""
        return {
            "factorised": self.factorised,
            "convex": self.convex,
            "distance": self.distance,
            "statuses": [status.name.lower() for status in self.statuses],
        }

    @classmethod
    def from_json(cls, run: Run, record: dict[str, Any]) -> Descents:
        """Return the result stored as `record`.

        Args:
            run: run of the result.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: a value is missing, or a status is unknown.
        """
        first, second = (DescentStatus[name.upper()] for name in record.pop("statuses"))
        return cls(run, **record, statuses=(first, second))


def compare_descents(run: Run) -> Descents:
    """Minimise over factors W and over S on the data of `run`."""
    drawn = draw(run)
    risk = empirical_risk(run, drawn)
    minima = [
        Lbfgs(tolerance=_TOLERANCE, proximal_steps=0).minimise(risk, drawn.start),
        Proximal(tolerance=_TOLERANCE).minimise(risk, drawn.start),
    ]
    factorised, convex = (
        risk.weights.attention_map(torch.as_tensor(minimum.weights)) for minimum in minima
    )
    return Descents(
        run=run,
        factorised=minima[0].loss,
        convex=minima[1].loss,
        distance=quotient(float((factorised - convex).norm()), float(factorised.norm())),
        statuses=(minima[0].status, minima[1].status),
    )
