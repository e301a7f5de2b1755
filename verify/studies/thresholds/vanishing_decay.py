"""Training at vanishing weight decay, followed to a small decay and to fewer samples, and
extrapolated.

At each decay the descent starts from the minimum at the previous one. The limit is then the
regularised minimum (least trace below interpolation), not an arbitrary point of zero loss. Values
along the sample ratio use nested subsets of the same samples, so their common scatter cancels in
the fitted crossing.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

import torch

from verify.core.draw import draw, empirical_risk
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.run import Run, record_digest, result_record

#: Multiples of the smallest decay, in order. With all samples every one is used, with fewer samples
#: only the last two.
DECAY_MULTIPLES = (10.0, 2.0, 1.0)
#: Relative gradient: the roots are within 0.3 % of those at 1e-3, while runs scatter by 10 %.
_TOLERANCE = 1e-2
_MAX_STEPS = 4000
_MEMORY = 3  #: 0.85 of the time of 8: the warm-started descents are short
#: a nested run takes about this many times as long as a run above interpolation
_LENGTH = 10


def vanishing_root(larger: float, smaller: float) -> float:
    """Return the square root of a quantity at decay 0, extrapolated linearly; 0 if negative.

    Args:
        larger: value at the second-last decay.
        smaller: value at the last decay.
    """
    step = DECAY_MULTIPLES[-1] / (DECAY_MULTIPLES[-2] - DECAY_MULTIPLES[-1])
    return math.sqrt(max(0.0, smaller - step * (larger - smaller)))


@dataclass(frozen=True)
class NestedRun:
    """A run whose minimum is followed along the decreasing `shares` of its samples; the first share
    is 1.
    """

    run: Run
    shares: tuple[float, ...]

    @property
    def samples(self) -> tuple[int, ...]:
        """Return the numbers n of samples, decreasing."""
        return tuple(max(1, round(share * self.run.samples)) for share in self.shares)

    def record(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"run": self.run.record(), "shares": self.shares}

    @property
    def key(self) -> str:
        """Return the key of the result in a store."""
        return record_digest(self.record())

    @property
    def cost(self) -> float:
        """Return the approximate number of seconds on one core."""
        return _LENGTH * self.run.cost

    @property
    def label(self) -> str:
        """Return the label of the run."""
        return self.run.label

    @property
    def device(self) -> str:
        """Return the device to train on."""
        return self.run.device


@dataclass(frozen=True)
class VanishingResult:
    """Training loss per sample and estimation error per d, for each share of the samples.

    Both are pairs at the last two decays, the larger first. `status` is the first failure among the
    descents at these decays.
    """

    run: NestedRun
    train_error: tuple[tuple[float, float], ...]
    estimation_error: tuple[tuple[float, float], ...]
    status: DescentStatus
    evaluations: int
    seconds: float

    def limits(self, quantity: str) -> list[float]:
        """Return square roots of `train_error` or `estimation_error` at decay 0, one for each
        share.
        """
        return [vanishing_root(*pair) for pair in getattr(self, quantity)]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` is the inverse."""
        return result_record(self)

    @classmethod
    def from_json(cls, run: NestedRun, record: dict[str, Any]) -> VanishingResult:
        """Return the result stored as `record`.

        Args:
            run: the run of the result.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
        """
        fields = {**record, "run": run}
        fields["status"] = DescentStatus[fields["status"]]
        for name in ("train_error", "estimation_error"):
            fields[name] = tuple(
                (float(larger), float(smaller)) for larger, smaller in fields[name]
            )
        return cls(**fields)


def train_at_vanishing_decay(nested: NestedRun) -> VanishingResult:
    """Follow the minimum of a run to its weight decay and to fewer samples, and measure it."""
    started, drawn = time.perf_counter(), draw(nested.run)
    smallest = empirical_risk(nested.run, drawn)
    minimiser = Lbfgs(tolerance=_TOLERANCE, max_steps=_MAX_STEPS, memory=_MEMORY)
    weights, measured, evaluations, statuses = drawn.start, [], 0, []
    for place, count in enumerate(nested.samples):
        inputs, labels = smallest.inputs.select(slice(count)), smallest.labels[:count]
        for multiple in DECAY_MULTIPLES if place == 0 else DECAY_MULTIPLES[-2:]:
            decay = multiple * smallest.lambda_
            risk = dataclasses.replace(smallest, inputs=inputs, labels=labels, lambda_=decay)
            minimum = minimiser.minimise(risk, weights)
            weights = torch.as_tensor(minimum.weights, device=nested.device)
            s = risk.weights.attention_map(weights)
            estimation_error = float((s - drawn.s0).square().sum()) / len(s)
            measured.append((risk.train_error(s), estimation_error))
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
        status=next(iter(failed), DescentStatus.CONVERGED),
        evaluations=evaluations,
        seconds=time.perf_counter() - started,
    )
