"""Training at vanishing weight decay: the minimiser followed to a small decay and on to fewer samples, and the limit extrapolated.

At each decay the descent starts from the minimum of the one before, so that the limit is that of the regularised minimum (of least
trace below interpolation), not whatever point of zero loss a descent without decay happens to reach. Values along the sample ratio
come from the same samples, some of them taken away: the scatter of runs that they share drops out of where a line through them ends.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

import torch

from verify.core.draw import TrainingData, draw, empirical_risk
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.risk import Risk
from verify.core.run import Run, record_digest, result_record

#: Multiples of the smallest decay, in the order in which they are all_multiples with all samples; with fewer only the last two are.
DECAY_MULTIPLES = (10.0, 2.0, 1.0)
#: At this relative gradient the roots of loss and estimation error are within .3 per cent of those at 1e-3; runs scatter by ten.
_TOLERANCE = 1e-2
_MAX_STEPS = 4000
#: descents of a nested run take about so many times as long as one run above interpolation
_LENGTH = 10


def vanishing_root(larger: float, smaller: float) -> float:
    """Square root of a quantity at decay 0, linearly from its values at the last two decays; 0 if that is negative."""
    step = DECAY_MULTIPLES[-1] / (DECAY_MULTIPLES[-2] - DECAY_MULTIPLES[-1])
    return math.sqrt(max(0.0, smaller - step * (larger - smaller)))


@dataclass(frozen=True)
class NestedRun:
    """A run with all of its samples, and the decreasing `shares` of them, the first 1, at which its minimum is followed."""

    run: Run
    shares: tuple[float, ...]

    @property
    def samples(self) -> tuple[int, ...]:
        """Numbers n of samples, decreasing."""
        return tuple(max(1, round(share * self.run.samples)) for share in self.shares)

    def record(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"run": self.run.record(), "shares": self.shares}

    @property
    def key(self) -> str:
        """Under which the result is stored."""
        return record_digest(self.record())

    @property
    def cost(self) -> float:
        """About how many seconds it takes on one core."""
        return _LENGTH * self.run.cost

    @property
    def label(self) -> str:
        """That of the run."""
        return self.run.label

    @property
    def device(self) -> str:
        """Where to train."""
        return self.run.device


@dataclass(frozen=True)
class VanishingResult:
    """For each share of the samples training loss per sample and estimation error per d at the last two decays, the larger first.

    `status` is the first failure among descents at these decays.
    """

    run: NestedRun
    train_error: tuple[tuple[float, float], ...]
    estimation_error: tuple[tuple[float, float], ...]
    status: DescentStatus
    evaluations: int
    seconds: float

    def limits(self, quantity: str) -> list[float]:
        """Square roots of `train_error` or `estimation_error` at decay 0, one for each share."""
        return [vanishing_root(*pair) for pair in getattr(self, quantity)]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `from_json` is the inverse."""
        return result_record(self)

    @classmethod
    def from_json(cls, run: NestedRun, record: dict[str, Any]) -> VanishingResult:
        """Raises KeyError, TypeError or ValueError if the record is not of this kind."""
        fields = {**record, "run": run}
        fields["status"] = DescentStatus[fields["status"]]
        for name in ("train_error", "estimation_error"):
            fields[name] = tuple(
                (float(larger), float(smaller)) for larger, smaller in fields[name]
            )
        return cls(**fields)


def train_at_vanishing_decay(nested: NestedRun) -> VanishingResult:
    """Draw the data of the run, follow its minimum to its weight decay and on to fewer samples, measure at the last two decays."""
    started, drawn = time.perf_counter(), draw(nested.run)
    smallest, minimiser = (
        empirical_risk(nested.run, drawn),
        Lbfgs(tolerance=_TOLERANCE, max_steps=_MAX_STEPS),
    )
    weights, measured, evaluations, statuses = drawn.start, [], 0, []
    for place, count in enumerate(nested.samples):
        kept = _of_first(smallest, count)
        for multiple in DECAY_MULTIPLES if place == 0 else DECAY_MULTIPLES[-2:]:
            risk = dataclasses.replace(kept, lambda_=multiple * smallest.lambda_)
            minimum = minimiser.minimise(risk, weights)
            weights = torch.as_tensor(minimum.weights, device=nested.device)
            measured.append(_errors(risk, weights, drawn))
            evaluations += minimum.evaluations
            statuses.append(minimum.status)
    last = slice(len(DECAY_MULTIPLES) - 2, None)  # two decays for each share
    losses, errors = (
        tuple(zip(values[::2], values[1::2], strict=True))
        for values in zip(*measured[last], strict=True)
    )
    failed = [status for status in statuses[last] if status is not DescentStatus.CONVERGED]
    return VanishingResult(
        run=nested,
        train_error=losses,
        estimation_error=errors,
        status=failed[0] if failed else DescentStatus.CONVERGED,
        evaluations=evaluations,
        seconds=time.perf_counter() - started,
    )


def _of_first(risk: Risk, count: int) -> Risk:
    """The risk of the first samples alone."""
    return dataclasses.replace(
        risk, inputs=risk.inputs.select(slice(count)), labels=risk.labels[:count]
    )


def _errors(risk: Risk, weights: torch.Tensor, drawn: TrainingData) -> tuple[float, float]:
    """Training loss per sample and estimation error per d."""
    s = risk.weights.attention_map(weights)
    return risk.train_error(s), float((s - drawn.s0).square().sum()) / len(s)
