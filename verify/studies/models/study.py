"""Any model trained on Gaussian-equivalent data compared with its theory: overlaps, errors and the least risk, extrapolated in d."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from numeric.engines.task import Task
from numeric.model import structure
from numeric.problem.problem import Problem, extra_setting_names
from numeric.problem.solution import Solution
from numeric.saddle.curve import learning_curve
from verify.core.intervals import mean_with_error
from verify.core.model_check import require_weight_decay
from verify.core.pool import Steps
from verify.core.scores import Score, SizeGroup, extrapolated
from verify.core.sensing.run import default_target, train_model

JUDGED = ("m", "q", "train_error", "test_error", "free_entropy")
CURVE = tuple(2 ** (k / 4) for k in range(-8, 9))  #: sample ratios of the theory's line in a report
_POINT = 0.4  #: seconds of the theory at one point, about


class ModelSetting(NamedTuple):
    """Where a model is tried."""

    alpha: float
    kappa0: float
    lambda_: float
    noise: float


#: Three along the learning curve, and one elsewhere: lower rank, more decay, less noise.
SETTINGS = (
    ModelSetting(0.5, 0.5, 0.05, 0.5),
    ModelSetting(1.0, 0.5, 0.05, 0.5),
    ModelSetting(2.0, 0.5, 0.05, 0.5),
    ModelSetting(1.0, 0.25, 0.2, 0.2),
)
#: Values of settings that only some models have.
EXTRA = MappingProxyType({"mu": 0.05, "label_noise": 0.05})


def problem_at(model: str, setting: ModelSetting, own: Mapping[str, float] = EXTRA) -> Problem:
    """The learning problem of a model there, with these values of the settings that only some models have."""
    extra = tuple((name, own[name]) for name in extra_setting_names(model))
    target = default_target(model, setting.kappa0)
    return Problem(setting.alpha, target, setting.lambda_, setting.noise, model=model, extra=extra)


@dataclass(frozen=True)
class TrainingSetup:
    """How every problem of a study is trained: sizes (d, number of runs), the seed, and whether labels are shuffled on purpose."""

    sizes: tuple[tuple[int, int], ...]
    seed: int = 0
    shuffle_labels: bool = False


@dataclass(frozen=True)
class ModelOutcome:
    """One model: the theory along alpha at its first setting, solved or not, and the scores of what was trained at all of them."""

    model: str
    curve: tuple[Solution, ...]
    scores: tuple[Score, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every quantity does at every setting."""
        return all(score.agrees for score in self.scores)


@dataclass(frozen=True)
class ModelsPlan:
    """Problems of one or several models, and how each is trained."""

    problems: tuple[Problem, ...]
    trial: TrainingSetup


@dataclass(frozen=True)
class ModelsOutcome:
    """Every model of a plan."""

    plan: ModelsPlan
    models: tuple[ModelOutcome, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every model agrees."""
        return all(model.agrees for model in self.models)


def study_models(plan: ModelsPlan) -> Steps[ModelsOutcome]:
    """Train every problem, solve the theory, and judge, model by model in the order of the problems.

    Raises NotConverged where the theory is not solved.
    """
    families: dict[str, list[Problem]] = {}
    for problem in plan.problems:
        families.setdefault(problem.model, []).append(problem)
    curves = [_theory_task(of_model) for of_model in families.values()]
    training = [
        _all_tasks(problem, plan.trial) for of_model in families.values() for problem in of_model
    ]
    found = iter(
        (yield [*curves, *(job for jobs in training for job in jobs)])
    )  # together: no core waits
    lines = [tuple(next(found)) for _ in curves]
    measured = iter([[next(found) for _ in jobs] for jobs in training])
    return ModelsOutcome(
        plan,
        tuple(
            ModelOutcome(
                name,
                line,
                tuple(s for one in of_model for s in _scores(one, plan.trial, next(measured))),
            )
            for (name, of_model), line in zip(families.items(), lines, strict=True)
        ),
    )


def scores_of(problem: Problem, trial: TrainingSetup) -> Steps[list[Score]]:
    """Train one problem and return a score for each of `JUDGED`. Raises as `study_models`."""
    return list(_scores(problem, trial, (yield _all_tasks(problem, trial))))


def _scores(problem: Problem, trial: TrainingSetup, results: Sequence[Any]) -> Iterator[Score]:
    """Means at each size, extrapolated to infinite d."""
    (theory,), *measured = results
    theory.unwrap()
    for name in JUDGED:
        values, expected, groups = iter(measured), getattr(theory, name), []
        for dim, runs in trial.sizes:
            groups.append(
                size_group(dim, np.array([next(values)[name] for _ in range(runs)]), expected)
            )
        found = extrapolated(groups, theory.errors[name])
        yield Score(name, problem, tuple(groups), theory.errors[name], *found)


def size_group(dim: int, values: np.ndarray, theory: float) -> SizeGroup:
    """Runs of one size, `values` of shape (runs,), beside one value of the theory."""
    mean, error = mean_with_error(values)
    return SizeGroup(dim, len(values), mean, theory, mean - theory, error)


def _theory_task(problems: Sequence[Problem], grid: Sequence[float] = CURVE) -> Task:
    """The theory along a grid and at the sample ratios of those problems that differ from the first in alpha alone."""
    first = problems[0]
    family = {
        problem.alpha
        for problem in problems
        if dataclasses.replace(problem, alpha=first.alpha) == first
    }
    alphas = tuple(sorted({*grid, *family}))
    return Task(
        learning_curve, (first, alphas), _POINT * len(alphas), f"{first.model}: theory", "theory"
    )


def _all_tasks(problem: Problem, trial: TrainingSetup) -> list[Task]:
    require_weight_decay(problem.model)
    runs = [_task(problem, dim, index, trial) for dim, runs in trial.sizes for index in range(runs)]
    return [_theory_task([problem], ()), *runs]


def _task(problem: Problem, dim: int, index: int, trial: TrainingSetup) -> Task:
    evaluations = 300  # of the risk, each a product with all sensing matrices
    cost = (
        1e-10 * len(structure(problem.model).index_variances) * problem.alpha * dim**4 * evaluations
    )
    arguments = (problem, dim, index, trial.seed, trial.shuffle_labels)
    return Task(
        train_model, arguments, cost, f"{problem.model} dim {dim} index {index}", "training"
    )
