"""The paper's learning curves, each a row of a table: what varies, over which values, and heads trained beside the theory.

Where a curve lists weight decays, its weight decay is chosen: by the theory as the one of least test error, by training through
cross-validation among those listed, and a chosen head is judged by the theory at its own weight decay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem, SampleMinimum
from numeric.problem.solution import Solution
from numeric.saddle.curve import Watch, learning_curve
from numeric.studies.optimal_decay import optimal_lambda
from verify.jobs.pool import execute_all
from verify.jobs.store import Store
from verify.judging.realised import Expected
from verify.judging.scores import Comparison, Score, compare_with_theory
from verify.judging.theory import progress, watched_predictions
from verify.studies.cross_validation import ChoiceGroup, against_factors, choice_store
from verify.training.cross_validation import SEEDING_DECAY, DecaySearch, choose
from verify.training.draw import require_memory
from verify.training.measure import RunResult
from verify.training.minimise import DescentStatus
from verify.training.run import Run, Start

LINE_ACCURACY = 1e-2  #: relative, of every quantity: as wide as a line is thick; shown as its band
FOLDS = 5
DECAY_TOLERANCE = 0.1  #: of log lambda: the test error is flat at its minimum and changes by 0.1 per cent or less


@dataclass(frozen=True)
class Family:
    """One curve: what of a Run it changes; `every` how manieth of the sample ratios of a line is solved.

    `decays` are those to choose from, none where lambda is given: for all curves of a preset or for none. trained: whether heads are,
    at each `start` that the preset has.
    """

    label: str
    changes: Mapping[str, Any]
    every: int = 1
    decays: tuple[float, ...] = ()
    trained: bool = True


@dataclass(frozen=True)
class Preset:
    """One figure: its curves, the sample ratios trained at, sizes (d, number of runs), what is drawn.

    `settings` are parameters common to all curves where they are not those of Figure 1; `line` are the sample ratios of the theory, a
    grid over those trained at by default; `sample_minimum` is that of the theory. Runs from other starts than the first are compared
    with those alone: they have the same data.
    """

    title: str
    families: tuple[Family, ...]
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...] = ((32, 8), (48, 8))
    quantities: tuple[str, ...] = ("test_error", "train_error")
    settings: Mapping[str, Any] = field(default_factory=dict)
    line: tuple[float, ...] = ()
    sample_minimum: SampleMinimum = SampleMinimum.GLOBAL
    starts: tuple[Start, ...] = (Start.RANDOM,)

    @property
    def chooses(self) -> bool:
        """Whether the weight decay is chosen."""
        return all(family.decays for family in self.families)


_ALPHAS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
WEAK_DECAYS = (1e-2, 2e-3, 1e-3, 5e-4, 1e-4, 1e-5)
TRAINED_DECAYS = (1e-3, 1e-5)
FEW = (0.1, 0.3, 1.0, 3.0)  #: where training or theory takes longer
LARGE = ((40, 8), (60, 8))
LINE_POINTS = 25  #: of a line: smooth over two decades
SAMPLED = 4  #: `every` where the theory takes seconds a point
SEARCHED = 6  #: and where each point is a search of twenty such
_FACTORS = {"parametrisation": Parametrisation.FACTORISED}
_SYMMETRIC = {"parametrisation": Parametrisation.SYMMETRIC}
_GENERAL = {"parametrisation": Parametrisation.GENERAL}


def _decays(least: float, count: int) -> tuple[float, ...]:
    """Up to 0.3. Least: a tenth of the best one at few samples; factors at weaker decay take thousands of steps there."""
    return tuple(float(decay) for decay in np.geomspace(least, 0.3, count))


FIGURE_PRESETS: dict[str, Preset] = {
    "1": Preset(
        "width of the student",
        tuple(Family(rf"$\kappa = {width:g}$", {"width": width}) for width in (0.75, 1.0)),
        (0.05, *_ALPHAS),
        LARGE,
    ),
    "2": Preset(
        "factors against direct training, each at its best weight decay",
        (
            Family("factors $W W^T$", _FACTORS, decays=_decays(1e-3, 8)),
            Family("symmetric $A$", _SYMMETRIC, decays=_decays(1e-4, 9)),
            Family("general $A$", _GENERAL, SEARCHED, _decays(1e-4, 9)),
        ),
        FEW,
        quantities=("test_error",),
        settings={"target": MarchenkoPastur(0.05), "noise": 0.05},
    ),
    "6": Preset(
        "weak weight decay and the interpolation peak, on the fitted branch",
        (
            *(
                Family(rf"$\lambda = {decay:g}$", {"lambda_": decay}, trained=decay in TRAINED_DECAYS)
                for decay in WEAK_DECAYS
            ),
            Family(r"$\lambda \to 0^+$", {"lambda_": 0.0}, trained=False),
        ),
        (0.05, 0.1, 0.155, 0.194, 0.241, 0.272, 0.35, 0.5),
        ((40, 8), (60, 8), (80, 8)),
        settings={"target": MarchenkoPastur(0.5), "noise": 0.5, "width": 1.0},
        line=tuple(np.linspace(0.025, 0.5, 60).tolist()),
        sample_minimum=SampleMinimum.FITTED,
        starts=(Start.RANDOM, Start.TARGET),
    ),
    "10": Preset(
        "inverse temperature of the student",
        tuple(Family(rf"$\beta = {beta:g}$", {"beta": beta}) for beta in (0.5, 1.0, 2.0)),
        _ALPHAS,
    ),
    "11": Preset(
        "tokens per sequence",
        tuple(Family(f"$T = {t}$", {"tokens": t}, 1 if t == 2 else SAMPLED) for t in (2, 3, 4)),
        FEW,
    ),
    "rank": Preset(
        "width of the student, below and above the rank of the target",
        tuple(Family(rf"$\kappa = {width:g}$", {"width": width}) for width in (0.25, 0.75)),
        FEW,
    ),
    "direct": Preset(
        "factors against direct training at one weight decay",
        (
            Family("factors $W W^T$", _FACTORS),
            Family("symmetric $A$", _SYMMETRIC),
            Family("general $A$", _GENERAL, SAMPLED),
        ),
        FEW,
    ),
}


@dataclass(frozen=True)
class Curve:
    """Theory along alpha (any points, solved or not) and the scores of heads trained at these settings."""

    label: str
    solutions: tuple[Solution, ...]
    scores: tuple[Score, ...]


class StartEffect(NamedTuple):
    """What another start changes on the same data: mean over the runs of one size, in all its points, of the relative change of q."""

    family: str
    dim: int
    runs: int
    mean: float
    standard_error: float
    largest: float


@dataclass(frozen=True)
class LearningCurveOutcome:
    """Curves of a preset, the comparison with training, and direct training against factors where lambda was chosen."""

    preset: Preset
    curves: tuple[Curve, ...]
    comparison: Comparison
    training_order: tuple[dict[str, Any], ...] = ()
    theory_order: tuple[dict[str, Any], ...] = ()
    starts: tuple[StartEffect, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether training agrees with the theory, and direct training is nowhere better than factors."""
        return self.comparison.agrees and all(item["agrees"] for item in (*self.training_order, *self.theory_order))


def study_learning_curves(
    preset: Preset, base: Run, folder: Path, note: Callable[[str], None], workers: int | None = None
) -> LearningCurveOutcome:
    """Train what `folder` lacks, solve the theory, compare; `base` says how to train and holds the settings of Figure 1.

    Raises WorkerError if a run fails, NoAnswer if the theory has no answer where heads were trained.
    """
    base = base.varied(**preset.settings)
    note("training")
    comparison, orders, starts = (_cross_validated if preset.chooses else _trained)(preset, base, folder, workers)
    note("theory curves")
    grids = [_grid(preset)[:: family.every] for family in preset.families]
    with progress("theory", sum(map(len, grids))) as watch:
        lines = [
            _line(preset, dataclasses.replace(base.problem, **family.changes), grid, watch)
            for family, grid in zip(preset.families, grids, strict=True)
        ]
    curves = tuple(
        Curve(family.label, tuple(line), _scores(comparison, family))
        for family, line in zip(preset.families, lines, strict=True)
    )
    theory_order = tuple(order_of_theory(curves[0], curve) for curve in curves[1:]) if preset.chooses else ()
    return LearningCurveOutcome(preset, curves, comparison, orders, theory_order, starts)


def runs_of(preset: Preset, base: Run) -> list[Run]:
    """Every run of the preset: all curves, sample ratios and sizes."""
    return [
        base.varied(dim=dim, alpha=alpha, index=index, start=start, **family.changes)
        for family, (dim, count), alpha, start in product(preset.families, preset.sizes, preset.alphas, preset.starts)
        if family.trained
        for index in range(count)
    ]


#: And direct training against factors, and other starts against the first.
Judged = tuple[Comparison, tuple[dict[str, Any], ...], tuple[StartEffect, ...]]


def _trained(preset: Preset, base: Run, folder: Path, workers: int | None) -> Judged:
    runs = runs_of(preset, base)
    require_memory(runs)
    results = execute_all(runs, Store(folder, RunResult), workers=workers)

    def theory(problems: Sequence[Problem]) -> list[Expected]:
        return watched_predictions([dataclasses.replace(p, sample_minimum=preset.sample_minimum) for p in problems])

    first = [result for result in results if result.run.start is preset.starts[0]]
    return compare_with_theory(first, theory), (), tuple(start_effects(preset, results))


def start_effects(preset: Preset, results: Sequence[RunResult]) -> Iterator[StartEffect]:
    """Of each other start against the first, for every curve and size."""
    found = {r.run: r for r in results if r.status is DescentStatus.CONVERGED}
    for family, (dim, _) in product(preset.families, preset.sizes):
        changes = [
            found[run].q / found[first].q - 1
            for run in found
            if run.start is not preset.starts[0] and run.dim == dim and _belongs(run.problem, family)
            if (first := dataclasses.replace(run, start=preset.starts[0])) in found
        ]
        if len(changes) > 1:
            error = float(np.std(changes, ddof=1) / np.sqrt(len(changes)))
            largest = float(np.abs(changes).max())
            yield StartEffect(family.label, dim, len(changes), float(np.mean(changes)), error, largest)


def _cross_validated(preset: Preset, base: Run, folder: Path, workers: int | None) -> Judged:
    base = base.varied(lambda_=SEEDING_DECAY)
    searches = [
        DecaySearch(run, family.decays, FOLDS)
        for family in preset.families
        for run in runs_of(dataclasses.replace(preset, families=(family,)), base)
    ]
    require_memory(search.base for search in searches)
    choices = execute_all(searches, choice_store(folder), workers=workers, task=choose)
    comparison = compare_with_theory([choice.trained for choice in choices], watched_predictions, _any_decay)
    members: dict[tuple[float, int, Parametrisation], list[Any]] = {}
    for choice in choices:
        run = choice.run.base
        members.setdefault((run.problem.alpha, run.dim, run.problem.parametrisation), []).append(choice)
    groups = [ChoiceGroup(*key, tuple(found)) for key, found in members.items()]
    return comparison, tuple(item for group in groups if (item := against_factors(group, groups)) is not None), ()


def _any_decay(run: Run) -> Problem:
    return dataclasses.replace(run.problem, lambda_=SEEDING_DECAY)


def _grid(preset: Preset) -> list[float]:
    return list(preset.line) or np.geomspace(min(preset.alphas), max(preset.alphas), LINE_POINTS).tolist()


def _line(preset: Preset, problem: Problem, alphas: Sequence[float], watch: Watch) -> list[Solution]:
    along = best_decay_along if preset.chooses else learning_curve
    asked = dataclasses.replace(problem, sample_minimum=preset.sample_minimum)
    return along(asked, alphas, watch, LINE_ACCURACY)


def best_decay_along(problem: Problem, alphas: Sequence[float], watch: Watch, accuracy: float) -> list[Solution]:
    """The solution at the weight decay of least test error, at each alpha."""
    return [optimal_lambda(problem.at(alpha), DECAY_TOLERANCE, accuracy).solution for alpha in watch(alphas)]


def _scores(comparison: Comparison, family: Family) -> tuple[Score, ...]:
    return tuple(score for score in comparison.scores if _belongs(score.problem, family))


def _belongs(problem: Problem, family: Family) -> bool:
    return all(getattr(problem, name) == value for name, value in family.changes.items())


def order_of_theory(factors: Curve, direct: Curve) -> dict[str, Any]:
    """Least excess of the test error of direct training over that of factors, and whether it is nowhere below their errors."""
    known = {s.problem.alpha: s for s in factors.solutions if s.trusted}
    pairs = [(s, known[s.problem.alpha]) for s in direct.solutions if s.trusted and s.problem.alpha in known]
    excess = [d.test_error - f.test_error for d, f in pairs]
    allowed = [d.errors["test_error"] + f.errors["test_error"] for d, f in pairs]
    return {
        "curve": direct.label,
        "least_excess_test_error": min(excess),
        "agrees": all(e >= -a for e, a in zip(excess, allowed, strict=True)),
    }
