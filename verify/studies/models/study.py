"""Any model trained on Gaussian-equivalent data compared with its theory: overlaps, errors and the
least risk, extrapolated in d.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from numeric.engines.task import Task
from numeric.problem.problem import Problem, extra_setting_names
from numeric.problem.solution import Solution
from numeric.saddle.curve import learning_curve
from verify.core.data import DataKind
from verify.core.model_check import require_weight_decay
from verify.core.pool import Steps, training_task
from verify.core.scores import Score, extrapolated, size_groups
from verify.core.sensing.run import ModelResult, ModelRun, default_target, train_model
from verify.core.store import Store

JUDGED = ("m", "q", "train_error", "test_error", "free_entropy")


def judged(problem: Problem) -> tuple[str, ...]:
    """Return the quantities that are compared: JUDGED, and those of labels with a few values."""
    return (*JUDGED, *problem.label_quantities)


CURVE = tuple(2 ** (k / 4) for k in range(-8, 9))  #: sample ratios of the theory's line in a report
_POINT = 0.4  #: approximate seconds of the theory per point


class ModelSetting(NamedTuple):
    """Parameters at which a model is tested."""

    alpha: float
    kappa0: float
    lambda_: float
    noise: float


#: Three settings along the learning curve, and one with lower rank, more decay and less noise.
SETTINGS = (
    ModelSetting(0.5, 0.5, 0.05, 0.5),
    ModelSetting(1.0, 0.5, 0.05, 0.5),
    ModelSetting(2.0, 0.5, 0.05, 0.5),
    ModelSetting(1.0, 0.25, 0.2, 0.2),
)
#: Settings of models whose risk has many local minima at fewer samples: a descent from a random
#: start then ends in one of these, and the theory is that of the lowest minimum.
EASY_SETTINGS = MappingProxyType(
    {
        "phase_retrieval": (
            ModelSetting(4.0, 0.5, 0.05, 0.5),
            ModelSetting(8.0, 0.5, 0.05, 0.5),
            ModelSetting(4.0, 0.25, 0.2, 0.2),
        ),
        "signed_phase_retrieval": (
            ModelSetting(16.0, 0.5, 0.05, 0.5),
            ModelSetting(24.0, 0.5, 0.05, 0.5),
            ModelSetting(16.0, 0.25, 0.2, 0.2),
        ),
    }
)
#: Values of settings that only some models have.
EXTRA = MappingProxyType({"mu": 0.05, "label_noise": 0.05})


def problem_at(
    model: str,
    setting: ModelSetting,
    own: Mapping[str, float] = EXTRA,
    vocabulary: float = math.inf,
) -> Problem:
    """Return the problem of a model at a setting.

    Args:
        model: name of the model.
        setting: parameters of every model.
        own: settings that only some models have.
        vocabulary: number of tokens over d^2.
    """
    extra = tuple((name, own[name]) for name in extra_setting_names(model))
    target = default_target(model, setting.kappa0)
    stated = setting.alpha, target, setting.lambda_, setting.noise
    return Problem(*stated, model=model, extra=extra, vocabulary=vocabulary)


@dataclass(frozen=True)
class TrainingSetup:
    """Training of every problem of a study: sizes (d, number of runs), seed, whether labels are
    shuffled on purpose, and kind of data.
    """

    sizes: tuple[tuple[int, int], ...]
    seed: int = 0
    shuffle_labels: bool = False
    data: DataKind = DataKind.GAUSSIAN_EQUIVALENT

    def runs(self, problem: Problem) -> list[ModelRun]:
        """Return the runs of a problem."""
        return [
            ModelRun(problem, dim, index, self.seed, self.shuffle_labels, self.data)
            for dim, count in self.sizes
            for index in range(count)
        ]


@dataclass(frozen=True)
class ModelOutcome:
    """One model: theory along alpha at its first setting, and scores at all settings."""

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


def study_models(plan: ModelsPlan, folder: Path) -> Steps[ModelsOutcome]:
    """Train every problem, solve the theory, and compare, model by model in the order of the
    problems.

    Args:
        plan: problems and training.
        folder: folder of finished runs.

    Raises:
        NotConverged: the theory is not solved.
    """
    store = Store(folder, ModelResult, "models.jsonl")
    families: dict[str, list[Problem]] = {}
    for problem in plan.problems:
        require_weight_decay(problem.model)
        families.setdefault(problem.model, []).append(problem)
    problems = [problem for family in families.values() for problem in family]
    curves = [_theory_task(family, _grid(family)) for family in families.values()]
    points = [_theory_task([problem], ()) for problem in problems]
    runs = [plan.trial.runs(problem) for problem in problems]
    training = [training_task(run, store, train_model) for group in runs for run in group]
    found = iter((yield [*curves, *points, *training]))  # all tasks together keep all cores busy
    lines = {name: tuple(next(found)) for name in families}
    theory = [next(found)[0] for _ in points]
    results = dict(zip((run for group in runs for run in group), found, strict=True))
    scores: dict[str, list[Score]] = {name: [] for name in families}
    for problem, solution, group in zip(problems, theory, runs, strict=True):
        scores[problem.model] += _scores(solution, [results[run] for run in group])
    return ModelsOutcome(
        plan,
        tuple(ModelOutcome(name, lines[name], tuple(scores[name])) for name in families),
    )


def _scores(theory: Solution, results: Sequence[ModelResult]) -> Iterator[Score]:
    """Yield a score for each quantity: means at each size, extrapolated to infinite d."""
    theory.unwrap()
    for name in judged(theory.problem):
        measured = ((result.run.dim, getattr(result, name)) for result in results)
        groups = size_groups(measured, getattr(theory, name))
        error = theory.errors[name]
        if name == "train_error":  # kinks of the loss are smoothed in training
            error += max(result.smoothing_error for result in results)
        found = extrapolated(groups, error)
        yield Score(name, theory.problem, groups, error, *found)


def _grid(family: Sequence[Problem]) -> tuple[float, ...]:
    """Return the sample ratios of the theory's line of a model.

    It begins at a fourth of the least setting of a model that is hard to train at fewer samples.
    """
    least = min(problem.alpha for problem in family)
    scale = least if family[0].model in EASY_SETTINGS else 1.0
    return tuple(scale * alpha for alpha in CURVE)


def _theory_task(problems: Sequence[Problem], grid: Sequence[float]) -> Task:
    """Return the task of the theory along a grid and at the sample ratios of problems that differ
    from the first in alpha only.
    """
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
