"""Learning curves of the paper, described by a table of presets.

If a curve lists weight decays, its weight decay is chosen. The theory chooses the one of least test
error, training chooses by cross-validation among those listed. A trained head is compared with the
theory at its chosen weight decay.
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

#: relative accuracy of every quantity: the thickness of a line; drawn as a band
LINE_ACCURACY = 1e-2
LINE_POINTS = 25  #: points of a line: smooth over two decades
FOLDS = 5


@dataclass(frozen=True)
class Family:
    """One curve of a figure: its changes of a Run.

    Attributes:
        decays: weight decays to choose from; empty if lambda is given. All curves of a preset have
            some, or none has.
        trained: whether heads are trained, at each `start` of the preset.
        unit: factor of the sample ratios of the preset.
        panel: curves of one name share a panel.
        spectrum: whether the spectra of the preset are shown for this curve.
        sample_minimum: kind of minimum of a sample in the theory.
        every: solve every n-th sample ratio of a line.
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
    """One figure: its curves, trained sample ratios, sizes (d, number of runs), and drawing.

    Runs from another start than the first have the same data and are compared with the first only.

    Attributes:
        settings: parameters common to all curves that differ from Figure 1.
        line: sample ratios of the theory; default: a grid over the trained ones.
        spectra: sample ratios and sizes; several sizes are extrapolated.
        axis: name of the sample ratios.
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
    """Effect of another start on the same data: mean relative change of q over the runs of one
    size, at all points.
    """

    family: str
    dim: int
    runs: int
    mean: float
    standard_error: float
    largest: float


@dataclass(frozen=True)
class LearningCurveOutcome:
    """Curves of a preset with their scores, spectra by curve, and direct training compared with
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
        """Return whether training and spectra agree with the theory, and direct training is nowhere
        better than factors.
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
    # one list of tasks keeps all cores busy
    results = (yield [*training, *theory])[: len(training)]
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
    """Return every run of the preset: all curves, sample ratios and sizes.

    Args:
        preset: the preset.
        base: all other parameters.
    """
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
    """Return the result with the kind of minimum of its curve."""
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
    """Return the theory at the sample ratios of the spectra, for its weight decay if that is
    chosen.
    """
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

    The best weight decay of the theory vanishes where labels are interpolated. The least one that
    training chooses from is used there.
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
    """Return the least excess of the test error of direct training over that of factors, and
    whether it is nowhere below their error bars.

    The comparison starts at the least trained sample ratio. Where almost nothing is learned, a
    matrix that keeps its whole noisy target is better than its positive part, by parts in a
    thousand; `better` lists the excess at those sample ratios.

    Args:
        factors: theory of factors.
        direct: theory of direct training.
        trained_from: least trained sample ratio.
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
