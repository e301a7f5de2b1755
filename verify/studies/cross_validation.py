"""Weight decay chosen by cross-validation, as one does without knowing the target, and what it costs against the best.

The samples are cut into folds; for each the risk of the others is minimised along a grid of weight decays and the loss on the fold
measured.  The decay of least mean validation loss is used to train on all samples.  It is taken over unchanged: the risk is
a sum over samples, in which a decay means the same at any number of them.

Along the grid each descent starts from the minimum before, from weak decay to strong: downwards a descent over factors would start
from S = 0, which is stationary at every decay.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from numeric.problem.parameter import InvalidParameter
from numeric.problem.problem import Parametrisation
from verify.jobs.store import Store
from verify.judging.scores import BAND, normal_score
from verify.training.draw import Drawn, draw
from verify.training.measure import fresh_errors
from verify.training.minimise import MINIMISERS, Minimum, Status
from verify.training.parametrisation import WEIGHTS
from verify.training.risk import Risk
from verify.training.run import PROTOCOL, Run, digest

SEEDING_DECAY = 1.0  #: of the runs that name the data of a search: any value, the same for all
CHOICE_PROTOCOL = hashlib.sha256((PROTOCOL + Path(__file__).read_text()).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Search:
    """Weight decays to choose from on the data of `base`, whose own decay serves for nothing but to seed these data.

    `decays` increase; `folds` is 2 or more, at most the number of samples. Raises InvalidParameter for any other values.
    """

    base: Run
    decays: tuple[float, ...]
    folds: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "decays", tuple(self.decays))
        if len(self.decays) < 3 or list(self.decays) != sorted(set(self.decays)) or not self.decays[0] > 0:
            rule = "must be three or more, positive and increasing"
            raise InvalidParameter("decays", self.decays, rule, "try 0.001, 0.01, 0.1")
        if not 2 <= self.folds <= self.base.samples:
            raise InvalidParameter("folds", self.folds, f"must be 2 to the {self.base.samples} samples", "try 5")

    @property
    def key(self) -> str:
        """Under which the result is stored."""
        return digest({"protocol": CHOICE_PROTOCOL, **dataclasses.asdict(self)})

    @property
    def cost(self) -> float:
        """About how many seconds the search takes on one core."""
        return self.base.cost * (1 + len(self.decays) * (self.folds - 1))

    @property
    def dim(self) -> int:
        """D of the run."""
        return self.base.dim

    @property
    def alpha(self) -> float:
        """n/d^2 of the run."""
        return self.base.alpha

    @property
    def index(self) -> int:
        """Which of the equal runs."""
        return self.base.index

    @property
    def device(self) -> str:
        """Where to train."""
        return self.base.device


class Trained(NamedTuple):
    """What a comparison reads of a map trained on data that also chose its weight decay, that of `run`."""

    run: Run
    m: float
    q: float
    q0: float
    train_error: float
    test_error: float
    status: Status
    relative_gradient: float


@dataclass(frozen=True)
class Choice:
    """What cross-validation chose and what came of it.

    `validation` holds the mean loss per held-out sample at each decay and `scatter` its standard error over folds; m, q, errors as of
    a RunResult, of the map trained on all samples at the chosen decay. `status` is the first failure among all descents and
    `relative_gradient` the largest at which one ended.
    """

    run: Search
    validation: tuple[float, ...]
    scatter: tuple[float, ...]
    lambda_: float
    m: float
    q: float
    train_error: float
    test_error: float
    estimation_error: float
    status: Status
    relative_gradient: float
    evaluations: int
    seconds: float

    @property
    def trained(self) -> Trained:
        """The final map as a comparison reads it, at the chosen weight decay."""
        run = dataclasses.replace(self.run.base, lambda_=self.lambda_)
        q0 = self.estimation_error + 2 * self.m - self.q
        return Trained(run, self.m, self.q, q0, self.train_error, self.test_error, self.status, self.relative_gradient)

    @property
    def inside(self) -> bool:
        """Whether the choice lies inside the grid; at an end the best decay may be beyond it."""
        return self.run.decays[0] < self.lambda_ < self.run.decays[-1]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `from_json` is the inverse."""
        return {**dataclasses.asdict(self), "status": self.status.name}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Choice:
        """Raises KeyError, TypeError or ValueError if the record is not of this kind."""
        fields = dict(record)
        search = dict(fields["run"])
        fields["run"] = Search(Run(**search.pop("base")), **search)
        fields["status"] = Status[fields["status"]]
        for name in ("validation", "scatter"):
            fields[name] = tuple(float(value) for value in fields[name])
        return cls(**fields)


def choice_store(folder: Path) -> Store[Choice]:
    """Finished searches in `folder`. Raises OSError if it cannot be written."""
    return Store(folder, Choice, "choices.jsonl", CHOICE_PROTOCOL)


def choose(search: Search) -> Choice:
    """Draw the data, choose the weight decay by cross-validation and train with it on all samples.

    Raises InvalidParameter before anything is drawn if the data would not fit.
    """
    started, run, drawn = time.perf_counter(), search.base, draw(search.base)
    parts = np.array_split(np.arange(run.samples), search.folds)  # samples are independent: any cut is as good
    paths = [_validate(search, drawn, part) for part in parts]
    losses = np.array([[loss for loss, _ in path] for path in paths])
    chosen = search.decays[int(losses.mean(0).argmin())]
    risk = Risk(drawn.inputs, drawn.labels, chosen, run.beta, WEIGHTS[run.parametrisation])
    final = MINIMISERS[run.minimiser]().minimise(risk, drawn.start)
    s = risk.weights.attention_map(torch.as_tensor(final.weights, device=run.device))
    minima = [minimum for path in paths for _, minimum in path] + [final]
    failed = [minimum.status for minimum in minima if minimum.status is not Status.CONVERGED]
    m, q = (float((s * other).sum()) / run.dim for other in (drawn.s0, s))
    return Choice(
        run=search,
        validation=tuple(losses.mean(0).tolist()),
        scatter=tuple((losses.std(0, ddof=1) / math.sqrt(search.folds)).tolist()),
        lambda_=chosen,
        m=m,
        q=q,
        train_error=risk.train_error(s),
        test_error=fresh_errors(run, s, drawn.s0, drawn.test).test,
        estimation_error=float((s - drawn.s0).square().sum()) / run.dim,
        status=failed[0] if failed else Status.CONVERGED,
        relative_gradient=max(minimum.relative_gradient for minimum in minima),
        evaluations=sum(minimum.evaluations for minimum in minima),
        seconds=time.perf_counter() - started,
    )


def _validate(search: Search, drawn: Drawn, held_out: np.ndarray) -> list[tuple[float, Minimum]]:
    """Loss per sample of `held_out` and minimum over the other samples, at each decay."""
    run = search.base
    others = torch.as_tensor(np.setdiff1d(np.arange(run.samples), held_out), device=run.device)
    judged = torch.as_tensor(held_out, device=run.device)
    risk, judge = (
        Risk(drawn.inputs.select(part), drawn.labels[part], search.decays[0], run.beta, WEIGHTS[run.parametrisation])
        for part in (others, judged)
    )
    weights, path = drawn.start, []
    for decay in search.decays:
        minimum = MINIMISERS[run.minimiser]().minimise(dataclasses.replace(risk, lambda_=decay), weights)
        weights = torch.as_tensor(minimum.weights, device=run.device)
        path.append((judge.train_error(risk.weights.attention_map(weights)), minimum))
    return path


@dataclass(frozen=True)
class ChoiceGroup:
    """Choices at one sample ratio, size and parametrisation, one for each draw of the data."""

    alpha: float
    dim: int
    parametrisation: Parametrisation
    choices: tuple[Choice, ...]

    @property
    def test_errors(self) -> np.ndarray:
        """Test error of each draw, shape (runs,)."""
        return np.array([choice.test_error for choice in self.choices])

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        errors = self.test_errors
        return {
            "alpha": self.alpha,
            "dim": self.dim,
            "parametrisation": str(self.parametrisation),
            "lambdas": [choice.lambda_ for choice in self.choices],
            "inside_grid": [choice.inside for choice in self.choices],
            "converged": [choice.status is Status.CONVERGED for choice in self.choices],
            "test_error": float(errors.mean()),
            "standard_error": float(errors.std(ddof=1) / math.sqrt(len(errors))),
            "decays": list(self.choices[0].run.decays),
            "validation": np.mean([choice.validation for choice in self.choices], 0).tolist(),
        }


def against_factors(group: ChoiceGroup, groups: Sequence[ChoiceGroup]) -> dict[str, Any] | None:
    """Test error of direct training minus that of factors on the same data, in standard errors; None without factors."""
    if group.parametrisation is Parametrisation.FACTORISED:
        return None
    factors = [
        other for other in groups
        if (other.alpha, other.dim, other.parametrisation) == (group.alpha, group.dim, Parametrisation.FACTORISED)
    ]  # fmt: skip
    if not factors:
        return None
    excess = group.test_errors - factors[0].test_errors
    error = float(excess.std(ddof=1)) / math.sqrt(len(excess))
    z = normal_score(float(excess.mean()) / error, len(excess) - 1)
    return {
        "alpha": group.alpha, "dim": group.dim, "parametrisation": str(group.parametrisation),
        "excess_test_error": float(excess.mean()), "standard_error": error, "z": z, "agrees": z > -BAND,
    }  # fmt: skip
