"""Weight decay chosen by cross-validation, without knowledge of the target.

The samples are split into folds. For each fold the risk of the other samples is minimised along a
grid of weight decays, and the loss on the fold is measured. All samples are then trained on with
the decay of least mean validation loss. The decay needs no rescaling, because the risk is a sum
over samples.

Along the grid each descent starts from the previous minimum, from weak decay to strong. In the
other direction a descent over factors would start from S = 0, which is stationary at every decay.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from attention_erm.runtime.errors import InvalidParameter
from verify.core.draw import TrainingData, draw, empirical_risk, token_law
from verify.core.measure import fresh_errors, moments
from verify.core.minimise import MINIMISERS, DescentStatus, Minimum
from verify.core.run import Run, record_digest, result_record

SEEDING_DECAY = 1.0  #: of the runs that name the data of a search: any value, the same for all


@dataclass(frozen=True)
class DecaySearch:
    """Search for the weight decay on the data of `base`. The decay of `base` only enters the seed
    of these data.

    Attributes:
        base: run that states the data.
        decays: increasing weight decays to choose from.
        folds: number of folds, from 2 to the number of samples.

    Raises:
        InvalidParameter: `decays` or `folds` break these rules.
    """

    base: Run
    decays: tuple[float, ...]
    folds: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "decays", tuple(self.decays))
        if (
            len(self.decays) < 3
            or list(self.decays) != sorted(set(self.decays))
            or not self.decays[0] > 0
        ):
            rule = "must be three or more, positive and increasing"
            raise InvalidParameter("decays", self.decays, rule, "try 0.001, 0.01, 0.1")
        if not 2 <= self.folds <= self.base.samples:
            raise InvalidParameter(
                "folds", self.folds, f"must be 2 to the {self.base.samples} samples", "try 5"
            )

    def record(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"base": self.base.record(), "decays": self.decays, "folds": self.folds}

    @property
    def key(self) -> str:
        """Return the key of the stored result."""
        return record_digest(self.record())

    @property
    def cost(self) -> float:
        """Return the estimated number of seconds on one core."""
        return self.base.cost * (1 + len(self.decays) * (self.folds - 1))

    @property
    def label(self) -> str:
        """Name of the run in messages."""
        return self.base.label

    @property
    def device(self) -> str:
        """Device that trains."""
        return self.base.device


class TrainedMap(NamedTuple):
    """Map trained with a chosen weight decay, as a comparison with the theory reads it."""

    run: Run
    m: float
    q: float
    q0: float
    train_error: float
    test_error: float
    status: DescentStatus
    relative_gradient: float


@dataclass(frozen=True)
class DecayChoice:
    """Weight decay chosen by cross-validation, and measurements of the map trained with it on all
    samples.

    `validation` holds the mean loss per held-out sample at each decay and `scatter` its standard
    error over folds. m, q and the errors are defined as in RunResult. `status` is the first failure
    among all descents, `relative_gradient` the largest one at the end of a descent.
    """

    run: DecaySearch
    validation: tuple[float, ...]
    scatter: tuple[float, ...]
    lambda_: float
    m: float
    q: float
    train_error: float
    test_error: float
    estimation_error: float
    status: DescentStatus
    relative_gradient: float
    evaluations: int
    seconds: float

    @property
    def trained(self) -> TrainedMap:
        """Return the final map at the chosen weight decay, as a comparison reads it."""
        run = self.run.base.varied(lambda_=self.lambda_)
        q0 = self.estimation_error + 2 * self.m - self.q
        return TrainedMap(
            run,
            self.m,
            self.q,
            q0,
            self.train_error,
            self.test_error,
            self.status,
            self.relative_gradient,
        )

    @property
    def inside(self) -> bool:
        """Return whether the choice lies inside the grid; at an end the best decay may be
        beyond it.
        """
        return self.run.decays[0] < self.lambda_ < self.run.decays[-1]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` is the inverse."""
        return result_record(self)

    @classmethod
    def from_json(cls, run: DecaySearch, record: dict[str, Any]) -> DecayChoice:
        """Return the choice stored as `record`.

        Args:
            run: search of the choice.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
        """
        fields = {**record, "run": run}
        fields["status"] = DescentStatus[fields["status"]]
        for name in ("validation", "scatter"):
            fields[name] = tuple(float(value) for value in fields[name])
        return cls(**fields)


def choose(search: DecaySearch) -> DecayChoice:
    """Draw the data, choose the weight decay by cross-validation and train with it on all samples.

    Raises InvalidParameter before anything is drawn if the data do not fit into memory.
    """
    started, run, drawn = time.perf_counter(), search.base, draw(search.base)
    parts = np.array_split(
        np.arange(run.samples), search.folds
    )  # samples are independent: any cut is as good
    paths = [_validate(search, drawn, part) for part in parts]
    losses = np.array([[loss for loss, _ in path] for path in paths])
    chosen = search.decays[int(losses.mean(0).argmin())]
    risk = dataclasses.replace(empirical_risk(run, drawn), lambda_=chosen)
    final = MINIMISERS[run.minimiser]().minimise(risk, drawn.start)
    s = risk.weights.attention_map(torch.as_tensor(final.weights, device=run.device))
    minima = [minimum for path in paths for _, minimum in path] + [final]
    failed = [minimum.status for minimum in minima if minimum.status is not DescentStatus.CONVERGED]
    m, q, _ = moments(s, drawn.s0)
    return DecayChoice(
        run=search,
        validation=tuple(losses.mean(0).tolist()),
        scatter=tuple((losses.std(0, ddof=1) / math.sqrt(search.folds)).tolist()),
        lambda_=chosen,
        m=m,
        q=q,
        train_error=risk.train_error(s),
        test_error=fresh_errors(run, s, drawn.s0, drawn.test, token_law(run)).test,
        estimation_error=float((s - drawn.s0).square().sum()) / run.dim,
        status=failed[0] if failed else DescentStatus.CONVERGED,
        relative_gradient=max(minimum.relative_gradient for minimum in minima),
        evaluations=sum(minimum.evaluations for minimum in minima),
        seconds=time.perf_counter() - started,
    )


def _validate(
    search: DecaySearch, drawn: TrainingData, held_out: np.ndarray
) -> list[tuple[float, Minimum]]:
    """Return loss per sample of `held_out` and minimum over the other samples, at each decay."""
    run = search.base
    others = torch.as_tensor(np.setdiff1d(np.arange(run.samples), held_out), device=run.device)
    judged = torch.as_tensor(held_out, device=run.device)
    whole = empirical_risk(run, drawn)
    risk, judge = (
        dataclasses.replace(whole, inputs=drawn.inputs.select(part), labels=drawn.labels[part])
        for part in (others, judged)
    )
    weights, path = drawn.start, []
    for decay in search.decays:
        minimum = MINIMISERS[run.minimiser]().minimise(
            dataclasses.replace(risk, lambda_=decay), weights
        )
        weights = torch.as_tensor(minimum.weights, device=run.device)
        path.append((judge.train_error(risk.weights.attention_map(weights)), minimum))
    return path
