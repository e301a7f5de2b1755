"""Thresholds seen in training: where the training loss starts to rise and where the estimation error ends, against proven values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.laws.law import Array
from numeric.problem.problem import Parametrisation, Problem
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.saddle.curve import learning_curve
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.proven_digits import Threshold
from numeric.thresholds.recovery import recovery
from verify.core.intervals import Interval
from verify.core.minimise import DescentStatus
from verify.core.pool import Job, Steps, training_job
from verify.core.run import Run
from verify.core.scores import MINIMUM_RUNS
from verify.core.store import Store
from verify.core.target import rank_ratio
from verify.core.theory import ACCURACY
from verify.studies.thresholds.crossing import (
    Crossing,
    SizePoints,
    TheoryCurve,
    find_crossing,
    pooled_ratio,
)
from verify.studies.thresholds.descents import Descents, compare_descents
from verify.studies.thresholds.vanishing_decay import (
    DECAY_MULTIPLES,
    NestedRun,
    VanishingResult,
    train_at_vanishing_decay,
    vanishing_root,
)

_DIGITS = 30
_MAX_HALF_WIDTH = 0.15  #: half of an interval over the proven value: a wider one decides nothing
#: Of the root at the fitted point nearest to the threshold: beyond it at most so much is left at the largest size. Extrapolated from
#: the two decays the loss is below its rounding there; a run whose own threshold lies that far off is six deviations away at d = 50.
_MAX_RESIDUAL_FRACTION = 0.1
#: Relative difference of roots far from the threshold that remains beside the scatter of runs: a + c/d leaves out 1/d^2.
_ROOT_ALLOWED = 0.05
_COST = 3.0  #: seconds of the theory at one sample ratio
#: Smallest weight decay: the miss of the linear extrapolation from it and its double is the theory's too, and is subtracted.
DECAY = 2e-4
COMPARISON_DECAY = 0.01  #: weight decay at which descents over W and over S are compared
_COMPARED = (0.8, 2.0)  #: multiples of the first interpolation threshold at which they are


@dataclass(frozen=True)
class ThresholdKind:
    """One threshold: which quantity vanishes, where it is fitted and where it is seen to have vanished, in multiples of it.

    Crossings scatter least if one point lies near the threshold, beyond the scatter of the thresholds of single runs (2/d).
    """

    name: str
    quantity: str
    label: str
    multiples: tuple[float, ...]
    beyond: float

    def all_multiples(self) -> tuple[float, ...]:
        """All multiples, decreasing."""
        return tuple(sorted((*self.multiples, self.beyond), reverse=True))


INTERPOLATION = ThresholdKind(
    "interpolation", "train_error", "training loss", (1.11, 1.48, 1.85), 0.8
)
RECOVERY = ThresholdKind(
    "recovery", "estimation_error", "estimation error", (0.54, 0.72, 0.9), 1.25
)


@dataclass(frozen=True)
class ThresholdCase:
    """One threshold of one setting.

    Attributes:
        kind: interpolation or recovery.
        base: run with every parameter that does not vary.
        theory_problem: problem given to the theory; differs from `base.problem` in a negative control.
    """

    kind: ThresholdKind
    base: Run
    theory_problem: Problem

    @property
    def setting(self) -> str:
        """In words, without what is usual."""
        problem, what = self.base.problem, self.base.problem.parametrisation
        noise = f", Delta {problem.noise:g}" if self.kind is INTERPOLATION else ""
        width = f", width {problem.width:g}" if problem.width != 1 else ""
        direct = f", {what}" if what is not Parametrisation.FACTORISED else ""
        return f"kappa0 {rank_ratio(problem.target):g}, T {problem.tokens}{noise}{width}{direct}"

    def threshold(self) -> Threshold:
        """The proven value that training is judged by."""
        return _proven(self.kind, self.theory_problem)

    def alphas(self, multiples: Sequence[float]) -> Array:
        """Sample ratios at multiples of the threshold, which says where to train and not what to find: the true one."""
        return np.array(multiples) * float(_proven(self.kind, self.base.problem))


@dataclass(frozen=True)
class ThresholdPlan:
    """Settings, and sizes (d, number of runs) of each.

    The theory has `noise_factor` times the noise. descents: whether descents over W and over S are compared, too.
    """

    bases: tuple[Run, ...]
    sizes: tuple[tuple[int, int], ...]
    noise_factor: float = 1.0
    descents: bool = False

    def cases(self) -> Iterator[ThresholdCase]:
        """Yield both thresholds of each setting.

        Direct training of S recovers the target where interpolation ends, and has no separate recovery threshold.
        """
        for base in self.bases:
            noise = base.problem.noise * self.noise_factor
            yield ThresholdCase(INTERPOLATION, base, dataclasses.replace(base.problem, noise=noise))
            if base.problem.parametrisation is Parametrisation.FACTORISED:
                noiseless = base.varied(noise=0.0)
                yield ThresholdCase(RECOVERY, noiseless, noiseless.problem)

    def runs(self, case: ThresholdCase) -> list[NestedRun]:
        """What is trained for one threshold: sample ratios from the largest down on the same samples."""
        all_multiples = case.kind.all_multiples()
        shares, (largest,) = (
            tuple(multiple / all_multiples[0] for multiple in all_multiples),
            case.alphas(all_multiples[:1]).tolist(),
        )
        return [
            NestedRun(case.base.varied(lambda_=DECAY, alpha=largest, dim=dim, index=index), shares)
            for dim, count in self.sizes
            for index in range(count)
        ]

    def run_count(self) -> int:
        """Number of all runs."""
        return sum(1 for _ in self.cases()) * sum(count for _, count in self.sizes)


@dataclass(frozen=True)
class ThresholdEstimate:
    """One threshold as training shows it, beside its proven value."""

    case: ThresholdCase
    proven: Threshold
    points: tuple[SizePoints, ...]
    theory: TheoryCurve
    crossing: Crossing
    beyond: tuple[SizePoints, ...]
    excluded: int

    @property
    def half_width(self) -> float:
        """Half of the interval over the proven value."""
        return self.ratio.half_width

    @property
    def decides(self) -> bool:
        """Whether the interval is narrow enough for its verdict to mean something."""
        return self.half_width < _MAX_HALF_WIDTH

    @property
    def vanishes(self) -> bool:
        """Whether next to nothing of the quantity is left beyond the threshold, at the largest size."""
        nearest = min(self.points[-1].means())
        return bool(self.beyond[-1].means()[0] <= _MAX_RESIDUAL_FRACTION * nearest)

    @property
    def rises(self) -> bool:
        """Whether far from the threshold the root is the theory's: where noise is large the threshold alone hardly depends on it."""
        return 1.0 in self.crossing.level.widened(_ROOT_ALLOWED)

    @property
    def agrees(self) -> bool:
        """Whether it vanishes beyond the threshold, rises as in theory, and the narrow interval at infinite d holds the proven one."""
        return (
            self.decides
            and self.vanishes
            and self.rises
            and float(self.proven) in self.crossing.judged
        )

    @property
    def ratio(self) -> Interval:
        """The crossing over the proven value."""
        return self.crossing.infinite.over(float(self.proven))


@dataclass(frozen=True)
class ThresholdOutcome:
    """Every threshold of a plan, and for each kind seen at several settings the mean ratio of crossing to proven value."""

    plan: ThresholdPlan
    estimates: tuple[ThresholdEstimate, ...]
    pooled: Mapping[str, Interval]
    descents: tuple[Descents, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether all agree, and there are any, and the mean ratios are 1."""
        same = all(one.agrees for one in self.descents)
        return (
            bool(self.estimates)
            and all(one.agrees for one in self.estimates)
            and self.ratios_agree
            and same
        )

    @property
    def ratios_agree(self) -> bool:
        """Whether the intervals of all mean ratios contain 1."""
        return all(1.0 in ratio for ratio in self.pooled.values())


def vanishing_store(folder: Path) -> Store[VanishingResult]:
    """Finished runs of this experiment in `folder`. Raises OSError if it cannot be written."""
    return Store(folder, VanishingResult, "vanishing.jsonl")


def study_thresholds(plan: ThresholdPlan, folder: Path) -> Steps[ThresholdOutcome]:
    """Train what `folder` lacks, locate every threshold.

    Raises NoAnswer if too few runs converged or the theory has no answer.
    """
    store = vanishing_store(folder)
    cases = list(plan.cases())
    results = iter(
        (yield [job for one in cases for job in (_theory_job(one), *_training(plan, one, store))])
    )
    found = [(one, next(results), [next(results) for _ in plan.runs(one)]) for one in cases]
    estimates = tuple(_estimate(one, trained, theory, len(cases)) for one, theory, trained in found)
    kinds = {
        case.kind.name: [one.ratio for one in estimates if one.case.kind is case.kind]
        for case in cases
    }
    several = {name: ratios for name, ratios in kinds.items() if len(ratios) > 1}
    descents = yield [
        Job(compare_descents, (run,), "training", run.cost, f"both descents, {run.label}")
        for run in _compared(plan)
    ]
    pooled = {name: pooled_ratio(several[name], len(several)) for name in several}
    return ThresholdOutcome(plan, estimates, pooled, tuple(descents))


def _compared(plan: ThresholdPlan) -> list[Run]:
    """Runs of the first setting whose data both descents share, where factors without rank limit are trained."""
    first = next(plan.cases())
    if (
        not plan.descents
        or first.base.problem.parametrisation is not Parametrisation.FACTORISED
        or first.base.problem.width < 1
    ):
        return []
    run = first.base.varied(dim=plan.sizes[0][0], lambda_=COMPARISON_DECAY)
    return [run.varied(alpha=alpha) for alpha in first.alphas(_COMPARED).tolist()]


def _proven(kind: ThresholdKind, problem: Problem) -> Threshold:
    law = exact_marchenko_pastur(Fraction(str(rank_ratio(problem.target))))
    width = Fraction(str(problem.width))
    if kind is RECOVERY:
        return recovery(law, problem.tokens, _DIGITS, width)
    if problem.parametrisation is not Parametrisation.FACTORISED:
        law = law.of_model(f"direct_{problem.parametrisation}")
    return interpolation(law, Fraction(str(problem.noise)), problem.tokens, _DIGITS, width)


def _training(plan: ThresholdPlan, case: ThresholdCase, store: Store[VanishingResult]) -> list[Job]:
    return [training_job(run, store, train_at_vanishing_decay) for run in plan.runs(case)]


def _theory_job(case: ThresholdCase) -> Job:
    """The theory at the fitted sample ratios."""
    alphas = tuple(case.alphas(case.kind.multiples).tolist())
    arguments = case.theory_problem, case.kind.quantity, alphas
    return Job(
        theory_roots,
        arguments,
        "theory of thresholds",
        _COST * len(alphas),
        f"theory of {case.setting}",
    )


def theory_roots(problem: Problem, quantity: str, alphas: tuple[float, ...]) -> TheoryCurve:
    """The vanishing root of the theory, with the decay taken to zero exactly as in training.

    Values that the solver calls inaccurate serve, as their error bars widen the interval. Raises NoAnswer where there is none.
    """
    problems = [
        dataclasses.replace(problem, lambda_=multiple * DECAY) for multiple in DECAY_MULTIPLES[-2:]
    ]
    points = list(
        zip(*(learning_curve(one, alphas, accuracy=ACCURACY) for one in problems), strict=True)
    )
    for solution in (solution for pair in points for solution in pair):
        if solution.value(quantity) is None:
            solution.unwrap()
    roots = [vanishing_root(*(getattr(solution, quantity) for solution in pair)) for pair in points]
    # at two decays so close the errors are the same, and so is that of the extrapolated value
    bars = [max(solution.errors.get(quantity, 0.0) for solution in pair) for pair in points]
    errors = [math.sqrt(root**2 + bar) - root for bar, root in zip(bars, roots, strict=True)]
    return TheoryCurve(np.array(alphas), np.array(roots), np.array(errors))


def _estimate(
    case: ThresholdCase, results: Sequence[VanishingResult], theory: TheoryCurve, intervals: int
) -> ThresholdEstimate:
    kind, proven = case.kind, case.threshold()
    converged = [result for result in results if result.status is DescentStatus.CONVERGED]
    dims = sorted({result.run.run.dim for result in results})
    points = tuple(_points(kind, dim, kind.multiples, converged) for dim in dims)
    beyond = tuple(_points(kind, dim, (kind.beyond,), converged) for dim in dims)
    crossing = find_crossing(points, theory, float(proven), case.base.entropy, intervals)
    return ThresholdEstimate(
        case, proven, points, theory, crossing, beyond, len(results) - len(converged)
    )


def _points(
    kind: ThresholdKind, dim: int, multiples: Sequence[float], results: Sequence[VanishingResult]
) -> SizePoints:
    """Roots at some of the multiples all_multiples."""
    group = [result for result in results if result.run.run.dim == dim]
    if len(group) < MINIMUM_RUNS:
        raise NoAnswer(
            f"{kind.name} at dim {dim}: {len(group)} runs converged, an interval needs {MINIMUM_RUNS}; add --runs"
        )
    columns = [kind.all_multiples().index(multiple) for multiple in multiples]
    ratios = np.array(group[0].run.samples)[columns] / dim**2
    return SizePoints(
        dim, ratios, np.array([result.limits(kind.quantity) for result in group])[:, columns]
    )
