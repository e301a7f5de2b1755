"""Training at vanishing weight decay: the minimiser followed down to a small decay, and the limit extrapolated from the last two.

At each decay the descent starts from the minimum of the one before, so that the limit is that of the regularised minimum (of least
trace below interpolation), not whatever point of zero loss a descent without decay happens to reach.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

import torch

from verify.training.draw import draw, empirical_risk
from verify.training.minimise import DescentStatus, Lbfgs
from verify.training.run import Run, result_record

#: Multiples of the smallest decay, in the order in which they are visited.
DECAY_MULTIPLES = (100.0, 10.0, 2.0, 1.0)
#: At this relative gradient loss and estimation error are within 1e-3 of those at 1e-5, a tenth of the scatter between runs.
_TOLERANCE = 1e-3
_MAX_STEPS = 4000


def vanishing_root(larger: float, smaller: float) -> float:
    """Square root of a quantity at decay 0, linearly from its values at the last two decays; 0 if that is negative."""
    step = DECAY_MULTIPLES[-1] / (DECAY_MULTIPLES[-2] - DECAY_MULTIPLES[-1])
    return math.sqrt(max(0.0, smaller - step * (larger - smaller)))


@dataclass(frozen=True)
class VanishingResult:
    """Training loss per sample and estimation error per d at the last two decays, the larger first."""

    run: Run
    train_error: tuple[float, float]
    estimation_error: tuple[float, float]
    status: DescentStatus
    evaluations: int
    seconds: float

    def limit(self, quantity: str) -> float:
        """Square root of `train_error` or `estimation_error` at decay 0."""
        return vanishing_root(*getattr(self, quantity))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `from_json` is the inverse."""
        return result_record(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> VanishingResult:
        """Raises KeyError, TypeError or ValueError if the record is not of this kind."""
        fields = dict(record)
        fields["run"] = Run.from_record(fields["run"])
        fields["status"] = DescentStatus[fields["status"]]
        for name in ("train_error", "estimation_error"):
            fields[name] = tuple(float(value) for value in fields[name])
        return cls(**fields)


def train_at_vanishing_decay(run: Run) -> VanishingResult:
    """Draw the data of the run, follow its minimum down to its weight decay and measure at the last two decays."""
    started, drawn = time.perf_counter(), draw(run)
    weights, losses, errors, evaluations, statuses = drawn.start, [], [], 0, []
    smallest = empirical_risk(run, drawn)
    for multiple in DECAY_MULTIPLES:
        risk = dataclasses.replace(smallest, lambda_=multiple * smallest.lambda_)
        minimum = Lbfgs(tolerance=_TOLERANCE, max_steps=_MAX_STEPS).minimise(risk, weights)
        weights = torch.as_tensor(minimum.weights, device=run.device)
        s = risk.weights.attention_map(weights)
        losses.append(risk.train_error(s))
        errors.append(float((s - drawn.s0).square().sum()) / run.dim)
        evaluations += minimum.evaluations
        statuses.append(minimum.status)
    failed = [status for status in statuses[-2:] if status is not DescentStatus.CONVERGED]
    return VanishingResult(
        run=run,
        train_error=(losses[-2], losses[-1]),
        estimation_error=(errors[-2], errors[-1]),
        status=failed[0] if failed else DescentStatus.CONVERGED,
        evaluations=evaluations,
        seconds=time.perf_counter() - started,
    )
