"""The paper's learning curves, each a row of a table: what varies, over which values, and heads
trained beside the theory.

Where a curve lists weight decays, its weight decay is chosen: by the theory as the one of least
test error, by training through cross-validation among those listed, and a chosen head is judged by
the theory at its own weight decay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from numeric.engines.task import Task
from numeric.problem.problem import Parametrisation, Problem, SampleMinimum
from verify.core.cross_validation import SEEDING_DECAY, DecayChoice, DecaySearch, choose
from verify.core.curve_panel import Curve
from verify.core.decay_choice import ChoiceGroup, against_factors, choice_store
from verify.core.draw import require_memory
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.run import Run, Start
from verify.core.scores import Comparison, Score, compare_with_theory
from verify.core.spectra import TrainedSpectrum, spectrum_task
from verify.core.store import Store
from verify.core.theory_lines import (
    LineStore,
    TheoryLine,
    line_solutions,
    line_store,
    line_tasks,
    stored_predictions,
)

LINE_ACCURACY = 1e-2  #: relative, of every quantity: as wide as a line is thick; shown as its band
LINE_POINTS = 25  #: of a line: smooth over two decades
FOLDS = 5


@dataclass(frozen=True)
class Family:
    """One curve: what of a Run it changes; `every` how manieth of the sample ratios of a line is
    solved.

    `decays` are those to choose from, none where lambda is given: for all curves of a preset or for
    none. trained: whether heads are, at each `start` that the preset has. Its sample ratios are
    those of the preset times `unit`. `panel`: curves of one name share a
    panel. spectrum: whether the preset's spectra are shown of it. `sample_minimum` is that of its
    theory.
    """

    label: str
    changes: Mapping[str, Any]
    every: int = 1
    decays: tuple[float, ...] = ()
    trained: bool = True
    unit: float = 1.0
    panel: str = ""
    spectrum: bool = False
    sample_minimum: SampleMinimum = SampleMinimum.GLOBAL


#: Sample ratio, and (d, number of runs) of each size.
SpectrumSizes = tuple[float, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class Preset:
    """One figure: its curves, the sample ratios trained at, sizes (d, number of runs), what is
    drawn.

    `settings` are parameters common to all curves where they are not those of Figure 1; `line` are
    the sample ratios of the theory, a grid over those trained at by default. Runs from other starts
    than the first are compared with those alone: they have the same
    data. `spectra`: sample ratios and sizes, extrapolated where they are several. `axis` names what
    sample ratios of the preset are.
    """

    title: str
    families: tuple[Family, ...]
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    quantities: tuple[str, ...] = ("test_error", "train_error")
    settings: Mapping[str, Any] = field(default_factory=dict)
    line: tuple[float, ...] = ()
    starts: tuple[Start, ...] = (Start.RANDOM,)
    spectra: tuple[SpectrumSizes, ...] = ()
    axis: str = r"sample ratio $\alpha = n/d^2$"

    @property
    def chooses(self) -> bool:
        """Return whether the weight decay is chosen."""
        return all(family.decays for family in self.families)


class StartEffect(NamedTuple):
    """What another start changes on the same data: mean over the runs of one size, in all its
    points, of the relative change of q.
    """

    family: str
    dim: int
    runs: int
    mean: float
    standard_error: float
    largest: float


@dataclass(frozen=True)
class LearningCurveOutcome:
    """Curves of a preset, comparison with training, spectra by curve, and direct training against
    factors where lambda was chosen.
    """

    preset: Preset
    curves: tuple[Curve, ...]
    comparison: Comparison
    spectra: tuple[tuple[str, TrainedSpectrum], ...] = ()
    training_order: tuple[dict[str, Any], ...] = ()
    theory_order: tuple[dict[str, Any], ...] = ()
    starts: tuple[StartEffect, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return whether training agrees with the theory, spectra too, and direct training is
        nowhere better than factors.
        """
        orders = all(item["agrees"] for item in (*self.training_order, *self.theory_order))
        return (
            self.comparison.agrees
            and orders
            and all(spectrum.agrees for _, spectrum in self.spectra)
        )


@dataclass(frozen=True)
class LearningCurvePlan:
    """Curves to compute: `base` says how to train and contains the settings of Figure 1."""

    preset: Preset
    base: Run


def study_learning_curves(plan: LearningCurvePlan, folder: Path) -> Steps[LearningCurveOutcome]:
    """Train the runs that `folder` lacks, solve the theory and compare.

    Args:
        plan: curves, and how to train.
        folder: folder of finished runs and solved lines of the theory.

    Raises:
        WorkerError: a run failed.
        NoAnswer: the theory has no answer where heads were trained.
    """
    preset, base = plan.preset, plan.base.varied(**plan.preset.settings)
    lines, heads = line_store(folder), Store(folder, RunResult)
    curve_lines = [_line(preset, base, family) for family in preset.families]
    spectrum_lines = [line for line, _ in _spectrum_lines(preset, base)]
    training = (
        _search_tasks(preset, base, folder)
        if preset.chooses
        else _training_tasks(preset, base, heads)
    )
    theory = [job for line in (*curve_lines, *spectrum_lines) for job in line_tasks(line, lines)]
    results = (yield [*training, *theory])[: len(training)]  # one list, so that no core waits
    judge = _cross_validated if preset.chooses else _trained
    comparison, orders, starts = yield from judge(preset, results, lines)
    solved = yield from line_solutions(curve_lines, lines)
    curves = tuple(
        Curve(family.label, line, _scores(comparison, family), family.panel, family.unit)
        for family, line in zip(preset.families, solved, strict=True)
    )
    trained_from = min(preset.alphas)
    theory_order = (
        tuple(order_of_theory(curves[0], c, trained_from) for c in curves[1:])
        if preset.chooses
        else ()
    )
    spectra = yield from _spectra(preset, base, lines, heads)
    return LearningCurveOutcome(preset, curves, comparison, spectra, orders, theory_order, starts)


def runs_of(preset: Preset, base: Run) -> list[Run]:
    """Every run of the preset: all curves, sample ratios and sizes."""
    return [
        base.varied(dim=dim, alpha=alpha * family.unit, index=index, start=start, **family.changes)
        for family, (dim, count), alpha, start in product(
            preset.families, preset.sizes, preset.alphas, preset.starts
        )
        if family.trained
        for index in range(count)
    ]


#: And direct training against factors, and other starts against the first.
Judged = tuple[Comparison, tuple[dict[str, Any], ...], tuple[StartEffect, ...]]


def _training_tasks(preset: Preset, base: Run, heads: Store[RunResult]) -> list[Task]:
    runs = runs_of(preset, base)
    require_memory(runs)
    return [training_task(run, heads) for run in runs]


def _trained(preset: Preset, results: Sequence[RunResult], lines: LineStore) -> Steps[Judged]:
    first = [
        _on_branch(preset, result) for result in results if result.run.start is preset.starts[0]
    ]
    compared = compare_with_theory(first, (yield from stored_predictions(first, lines)))
    return compared, (), tuple(start_effects(preset, results))


def _on_branch(preset: Preset, result: RunResult) -> RunResult:
    """The result, to be judged by the theory of its curve."""
    family = next(family for family in preset.families if _belongs(result.run.problem, family))
    return dataclasses.replace(result, run=result.run.varied(sample_minimum=family.sample_minimum))


def start_effects(preset: Preset, results: Sequence[RunResult]) -> Iterator[StartEffect]:
    """Compare each other start with the first one, for every curve and size."""
    found = {r.run: r for r in results if r.status is DescentStatus.CONVERGED}
    for family, (dim, _) in product(preset.families, preset.sizes):
        changes = [
            found[run].q / found[first].q - 1
            for run in found
            if run.start is not preset.starts[0]
            and run.dim == dim
            and _belongs(run.problem, family)
            if (first := dataclasses.replace(run, start=preset.starts[0])) in found
        ]
        if len(changes) > 1:
            error = float(np.std(changes, ddof=1) / np.sqrt(len(changes)))
            largest = float(np.abs(changes).max())
            yield StartEffect(
                family.label, dim, len(changes), float(np.mean(changes)), error, largest
            )


def _search_tasks(preset: Preset, base: Run, folder: Path) -> list[Task]:
    searches = [
        DecaySearch(run, family.decays, FOLDS)
        for family in preset.families
        for run in runs_of(
            dataclasses.replace(preset, families=(family,)), base.varied(lambda_=SEEDING_DECAY)
        )
    ]
    require_memory(search.base for search in searches)
    store = choice_store(folder)
    return [training_task(search, store, choose) for search in searches]


def _cross_validated(
    preset: Preset, choices: Sequence[DecayChoice], lines: LineStore
) -> Steps[Judged]:
    trained = [choice.trained for choice in choices]
    theory = yield from stored_predictions(trained, lines)
    comparison = compare_with_theory(trained, theory, _any_decay)
    members: dict[tuple[float, int, Parametrisation], list[DecayChoice]] = {}
    for choice in choices:
        run = choice.run.base
        members.setdefault((run.problem.alpha, run.dim, run.problem.parametrisation), []).append(
            choice
        )
    groups = [ChoiceGroup(*key, tuple(found)) for key, found in members.items()]
    return (
        comparison,
        tuple(item for group in groups if (item := against_factors(group, groups)) is not None),
        (),
    )


def _any_decay(run: Run) -> Problem:
    return dataclasses.replace(run.problem, lambda_=SEEDING_DECAY)


def _line(preset: Preset, base: Run, family: Family) -> TheoryLine:
    grid = preset.line or np.geomspace(min(preset.alphas), max(preset.alphas), LINE_POINTS).tolist()
    return _theory(
        preset, base, family, tuple(family.unit * alpha for alpha in grid[:: family.every])
    )


def _theory(preset: Preset, base: Run, family: Family, alphas: tuple[float, ...]) -> TheoryLine:
    problem = dataclasses.replace(
        base.problem, sample_minimum=family.sample_minimum, **family.changes
    )
    return TheoryLine(problem.at(1.0), alphas, LINE_ACCURACY, preset.chooses)


def _spectrum_lines(preset: Preset, base: Run) -> list[tuple[TheoryLine, Family]]:
    """The theory at the sample ratios of the spectra, for its weight decay where that is chosen."""
    alphas = tuple(alpha for alpha, _ in preset.spectra)
    return [
        (_theory(preset, base, family, alphas), family)
        for family in preset.families
        if family.spectrum
    ]


def _spectra(
    preset: Preset, base: Run, lines: LineStore, heads: Store[RunResult]
) -> Steps[tuple[tuple[str, TrainedSpectrum], ...]]:
    """Train heads at the weight decay of the theory, and compare their singular values with it.

    The best weight decay of the theory vanishes where labels are interpolated; there the least one
    that training chooses from is used.
    """
    shown = _spectrum_lines(preset, base)
    solved = yield from line_solutions([line for line, _ in shown], lines)
    places: list[tuple[str, list[Task]]] = []
    for (_, family), solutions in zip(shown, solved, strict=True):
        for solution, (alpha, sizes) in zip(solutions, preset.spectra, strict=True):
            decay = max(solution.unwrap().problem.lambda_, min(family.decays, default=0.0))
            at = {**family.changes, "lambda_": decay, "alpha": alpha * family.unit}
            runs = [
                base.varied(dim=dim, index=i, **at) for dim, count in sizes for i in range(count)
            ]
            places.append((family.label, [training_task(run, heads) for run in runs]))
    results = iter((yield [job for _, jobs in places for job in jobs]))
    found = yield [spectrum_task(list(islice(results, len(jobs)))) for _, jobs in places]
    return tuple((label, spectrum) for (label, _), spectrum in zip(places, found, strict=True))


def _scores(comparison: Comparison, family: Family) -> tuple[Score, ...]:
    return tuple(score for score in comparison.scores if _belongs(score.problem, family))


def _belongs(problem: Problem, family: Family) -> bool:
    return all(getattr(problem, name) == value for name, value in family.changes.items())


def order_of_theory(factors: Curve, direct: Curve, trained_from: float) -> dict[str, Any]:
    """Least excess of the test error of direct training over that of factors, and whether it is
    nowhere below their errors.

    From the least sample ratio trained at on: where nearly nothing is learned a matrix that keeps
    all of its noisy target is better than its positive part, by parts of a thousand; `better` lists
    the excess at those sample ratios.
    """
    known = {s.problem.alpha: s for s in factors.solutions if s.trusted}
    pairs = [
        (s, known[s.problem.alpha])
        for s in direct.solutions
        if s.trusted and s.problem.alpha in known
    ]
    excess = {d.problem.alpha: d.test_error - f.test_error for d, f in pairs}
    allowed = {d.problem.alpha: d.errors["test_error"] + f.errors["test_error"] for d, f in pairs}
    better = {alpha: excess[alpha] for alpha in excess if excess[alpha] < -allowed[alpha]}
    return {
        "curve": direct.name,
        "from_alpha": trained_from,
        "least_excess_test_error": min(excess[alpha] for alpha in excess if alpha >= trained_from),
        "better": [{"alpha": alpha, "excess_test_error": value} for alpha, value in better.items()],
        "agrees": all(alpha < trained_from for alpha in better),
    }
