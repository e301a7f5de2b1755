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

import numpy as np
import torch

from verify import data
from verify.erm import Risk, attention_map
from verify.minimise import Lbfgs, Status
from verify.run import Run, draw_start, training_labels

#: Multiples of the smallest decay, in the order in which they are visited.
DECAYS = (100.0, 10.0, 2.0, 1.0)
#: At this relative gradient loss and estimation error are within 1e-3 of those at 1e-5, a tenth of the scatter between runs.
TOLERANCE = 1e-3
MAX_STEPS = 4000


@dataclass(frozen=True)
class VanishingRun:
    """One run; `run.lambda_` is the smallest decay visited."""

    run: Run

    @property
    def cost(self) -> float:
        """Relative to that of a `Run`: the descents at small decay take about ten times the evaluations."""
        return 10 * self.run.cost

    @property
    def device(self) -> str:
        """Where it trains."""
        return self.run.device

    @property
    def dim(self) -> int:
        """Size d."""
        return self.run.dim

    @property
    def alpha(self) -> float:
        """Sample ratio asked for."""
        return self.run.alpha

    @property
    def index(self) -> int:
        """Number of the repetition."""
        return self.run.index

    @property
    def key(self) -> str:
        """Under which the result is stored."""
        return self.run.key


@dataclass(frozen=True)
class VanishingResult:
    """Training loss per sample and estimation error per d at the last two decays, the larger first."""

    run: VanishingRun
    train_error: tuple[float, float]
    estimation_error: tuple[float, float]
    status: Status
    evaluations: int
    seconds: float

    def limit(self, quantity: str) -> float:
        """Square root of `train_error` or `estimation_error` at decay 0, linearly from the last two; 0 if that is negative."""
        larger, smaller = getattr(self, quantity)
        step = DECAYS[-1] / (DECAYS[-2] - DECAYS[-1])
        return math.sqrt(max(0.0, smaller - step * (larger - smaller)))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `from_json` is the inverse."""
        return {**dataclasses.asdict(self), "run": dataclasses.asdict(self.run.run), "status": self.status.name}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> VanishingResult:
        """Raises KeyError, TypeError or ValueError if the record is not of this kind."""
        fields = dict(record)
        fields["run"] = VanishingRun(Run(**fields["run"]))
        fields["status"] = Status[fields["status"]]
        for name in ("train_error", "estimation_error"):
            fields[name] = tuple(float(value) for value in fields[name])
        return cls(**fields)


def follow(vanishing: VanishingRun) -> VanishingResult:
    """Draw the data of the run, follow its minimum down the decays and measure at the last two."""
    started, run = time.perf_counter(), vanishing.run
    rng = {name: np.random.default_rng(seed) for name, seed in run.seeds().items()}
    inputs = data.draw_inputs(run.data, run.samples, run.tokens, run.dim, rng["inputs"], run.device)
    s0 = torch.as_tensor(data.draw_target(run.target, run.dim, run.kappa0, rng["target"]), device=run.device)
    labels = training_labels(run, inputs, s0, rng)
    weights, losses, errors, evaluations, statuses = draw_start(run, rng["start"]), [], [], 0, []
    for multiple in DECAYS:
        risk = Risk(inputs, labels, multiple * run.lambda_, run.beta)
        minimum = Lbfgs(tolerance=TOLERANCE, max_steps=MAX_STEPS).minimise(risk, weights)
        weights = torch.as_tensor(minimum.weights, device=run.device)
        s = attention_map(weights)
        losses.append(risk.train_error(s))
        errors.append(float((s - s0).square().sum()) / run.dim)
        evaluations += minimum.evaluations
        statuses.append(minimum.status)
    failed = [status for status in statuses[-2:] if status is not Status.CONVERGED]
    return VanishingResult(
        run=vanishing,
        train_error=(losses[-2], losses[-1]),
        estimation_error=(errors[-2], errors[-1]),
        status=failed[0] if failed else Status.CONVERGED,
        evaluations=evaluations,
        seconds=time.perf_counter() - started,
    )
