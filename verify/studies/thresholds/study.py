"""Thresholds located in training, where the training loss starts to rise and the estimation error
vanishes; proven values.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np

from numeric.engines.task import Task
from numeric.laws.law import Array
from numeric.problem.problem import Parametrisation, Problem
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.saddle.curve import learning_curve
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery
from numeric.thresholds.setting import Threshold
from verify.core.intervals import Interval
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.scores import require_converged
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
#: largest half-width of an interval over the proven value; a wider one is undecided
_MAX_HALF_WIDTH = 0.15
#: Maximum root beyond the threshold at the largest size, over the root at the nearest fitted point.
#: The extrapolated loss is below its rounding there; the scatter between runs reaches it at six
#: deviations.
_MAX_RESIDUAL_FRACTION = 0.1
#: Relative difference of roots far from the threshold that the model a + c/d neglects, of order
#: 1/d^2.
_ROOT_ALLOWED = 0.05
_COST = 3.0  #: seconds of the theory at one sample ratio
#: Smallest weight decay; the error of extrapolating from it and its double is subtracted by the
#: theory.
DECAY = 2e-4
COMPARISON_DECAY = 0.01  #: weight decay at which descents over W and over S are compared
_COMPARED = (0.8, 2.0)  #: sample ratios of that comparison over the first interpolation threshold


@dataclass(frozen=True)
class ThresholdKind:
    """Interpolation or recovery.

    Crossings scatter least if one fitted point is near the threshold, at a distance above the
    scatter 2/d of the thresholds of single runs.

    Attributes:
        name: name in output.
        quantity: field of a Solution that vanishes.
        label: name of the quantity in text.
        multiples: fitted sample ratios over the threshold.
        beyond: sample ratio over the threshold at which the quantity must vanish.
    """

    name: str
    quantity: str
    label: str
    multiples: tuple[float, ...]
    beyond: float

    def all_multiples(self) -> tuple[float, ...]:
        """Return `multiples` and `beyond`, decreasing."""
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
        theory_problem: problem given to the theory; differs from `base.problem` in a negative
            control.
    """

    kind: ThresholdKind
    base: Run
    theory_problem: Problem

    @property
    def setting(self) -> str:
        """Return the parameters that differ from their defaults as text."""
        problem, what = self.base.problem, self.base.problem.parametrisation
        noise = f", Delta {problem.noise:g}" if self.kind is INTERPOLATION else ""
        width = f", width {problem.width:g}" if problem.width != 1 else ""
        direct = f", {what}" if what is not Parametrisation.FACTORISED else ""
        kappa0, tokens = rank_ratio(problem.target), problem.tokens
        size = f", vocabulary {problem.vocabulary:g}" if problem.has_vocabulary else ""
        return f"kappa0 {kappa0:g}, T {tokens}{size}{noise}{width}{direct}"

    def threshold(self) -> Threshold:
        """Return the proven value for the problem given to the theory."""
        return _proven(self.kind, self.theory_problem)

    def of_new_tokens(self) -> Threshold | None:
        """Return the proven value for new tokens in every sample; None without a vocabulary."""
        problem = self.theory_problem
        return _proven(self.kind, problem.of_new_tokens) if problem.has_vocabulary else None

    def alphas(self, multiples: Sequence[float]) -> Array:
        """Return sample ratios at multiples of the threshold of `base`, also in a negative
        control.
        """
        return np.array(multiples) * float(_proven(self.kind, self.base.problem))


@dataclass(frozen=True)
class ThresholdPlan:
    """Settings to train.

    Attributes:
        bases: one run for each setting.
        sizes: (d, number of runs).
        noise_factor: noise given to the theory over the noise of the runs.
        descents: whether descents over W and over S are compared, too.
    """

    bases: tuple[Run, ...]
    sizes: tuple[tuple[int, int], ...]
    noise_factor: float = 1.0
    descents: bool = False

    def cases(self) -> Iterator[ThresholdCase]:
        """Yield both thresholds of each setting.

        Direct training of S recovers the target where interpolation ends, and has no separate
        recovery threshold. With a vocabulary only recovery is derived.
        """
        for base in self.bases:
            noise = base.problem.noise * self.noise_factor
            told = dataclasses.replace(base.problem, noise=noise)
            if not base.problem.has_vocabulary:
                yield ThresholdCase(INTERPOLATION, base, told)
            if base.problem.parametrisation is Parametrisation.FACTORISED:
                noiseless = base.varied(noise=0.0)
                yield ThresholdCase(RECOVERY, noiseless, noiseless.problem)

    def runs(self, case: ThresholdCase) -> list[NestedRun]:
        """Return the runs of one threshold; each follows the sample ratio down on the same
        samples.
        """
        multiples = case.kind.all_multiples()
        shares = tuple(multiple / multiples[0] for multiple in multiples)
        (largest,) = case.alphas(multiples[:1]).tolist()
        return [
            NestedRun(case.base.varied(lambda_=DECAY, alpha=largest, dim=dim, index=i), shares)
            for dim, count in self.sizes
            for i in range(count)
        ]

    def run_count(self) -> int:
        """Return the number of all runs."""
        return sum(count for _ in self.cases() for _, count in self.sizes)


@dataclass(frozen=True)
class ThresholdEstimate:
    """One threshold located in training, with its proven value.

    Attributes:
        case: kind and setting.
        proven: proven value.
        of_new_tokens: proven value for new tokens in every sample; None without a vocabulary.
        points: roots at the fitted sample ratios, by size.
        theory: roots of the theory there.
        crossing: located threshold.
        beyond: roots on the other side of the threshold, by size.
        excluded: number of runs that did not converge.
    """

    case: ThresholdCase
    proven: Threshold
    of_new_tokens: Threshold | None
    points: tuple[SizePoints, ...]
    theory: TheoryCurve
    crossing: Crossing
    beyond: tuple[SizePoints, ...]
    excluded: int

    @property
    def ratio(self) -> Interval:
        """Return the crossing over the proven value."""
        return self.crossing.infinite.over(float(self.proven))

    @property
    def half_width(self) -> float:
        """Return half of the interval over the proven value."""
        return self.ratio.half_width

    @property
    def decides(self) -> bool:
        """Return whether the interval is narrow enough for a verdict."""
        return self.half_width < _MAX_HALF_WIDTH

    @property
    def vanishes(self) -> bool:
        """Return whether the quantity vanishes beyond the threshold at the largest size."""
        nearest = min(self.points[-1].means())
        return bool(self.beyond[-1].means()[0] <= _MAX_RESIDUAL_FRACTION * nearest)

    @property
    def rises(self) -> bool:
        """Return whether the root agrees with the theory far from the threshold.

        The threshold alone hardly depends on large noise.
        """
        return 1.0 in self.crossing.level.widened(_ROOT_ALLOWED)

    @property
    def excludes_new_tokens(self) -> bool:
        """Return whether the interval excludes the proven value for new tokens."""
        other = self.of_new_tokens
        return other is not None and float(other) not in self.crossing.judged

    @property
    def agrees(self) -> bool:
        """Return whether all of these hold and the interval at infinite d contains the proven
        value.
        """
        located = float(self.proven) in self.crossing.judged
        return self.decides and self.vanishes and self.rises and located


@dataclass(frozen=True)
class ThresholdOutcome:
    """Every threshold of a plan.

    Attributes:
        plan: the plan.
        estimates: located thresholds.
        pooled: mean ratio of crossing to proven value, for each kind with several settings.
        descents: comparison of descents over W and over S.
    """

    plan: ThresholdPlan
    estimates: tuple[ThresholdEstimate, ...]
    pooled: Mapping[str, Interval]
    descents: tuple[Descents, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return whether there are estimates, all parts agree, and the mean ratios are 1."""
        parts = [part.agrees for part in self.estimates] + [part.agrees for part in self.descents]
        return bool(self.estimates) and all(parts) and self.ratios_agree

    @property
    def ratios_agree(self) -> bool:
        """Return whether the intervals of all mean ratios contain 1."""
        return all(1.0 in ratio for ratio in self.pooled.values())


def vanishing_store(folder: Path) -> Store[VanishingResult]:
    """Return the store of finished runs in `folder`. Raises OSError if it cannot be written."""
    return Store(folder, VanishingResult, "vanishing.jsonl")


def study_thresholds(plan: ThresholdPlan, folder: Path) -> Steps[ThresholdOutcome]:
    """Locate every threshold of a plan in training.

    Args:
        plan: settings and sizes.
        folder: folder of finished runs; missing ones are trained.

    Raises:
        NoAnswer: too few runs converged, or the theory has no answer.
    """
    store, cases = vanishing_store(folder), list(plan.cases())
    jobs = [
        [
            _theory_task(case),
            *(training_task(run, store, train_at_vanishing_decay) for run in plan.runs(case)),
        ]
        for case in cases
    ]
    found = iter((yield [job for group in jobs for job in group]))
    results = [[next(found) for _ in group] for group in jobs]
    estimates = tuple(
        _estimate(case, trained, theory, len(cases))
        for case, (theory, *trained) in zip(cases, results, strict=True)
    )
    ratios: dict[str, list[Interval]] = {}
    for one in estimates:
        ratios.setdefault(one.case.kind.name, []).append(one.ratio)
    several = {name: values for name, values in ratios.items() if len(values) > 1}
    pooled = {name: pooled_ratio(values, len(several)) for name, values in several.items()}
    both = Store(folder, Descents, "descents.jsonl")
    descents = yield [training_task(run, both, compare_descents) for run in _compared(plan)]
    return ThresholdOutcome(plan, estimates, pooled, tuple(descents))


def _compared(plan: ThresholdPlan) -> list[Run]:
    """Return runs of the first setting for both descents; only factors at full width are
    compared.
    """
    first = next(plan.cases())
    problem = first.base.problem
    factors = problem.parametrisation is Parametrisation.FACTORISED and problem.width >= 1
    if not (plan.descents and factors and first.kind is INTERPOLATION):
        return []
    run = first.base.varied(dim=plan.sizes[0][0], lambda_=COMPARISON_DECAY)
    return [run.varied(alpha=alpha) for alpha in first.alphas(_COMPARED).tolist()]


def _proven(kind: ThresholdKind, problem: Problem) -> Threshold:
    law = exact_marchenko_pastur(Fraction(str(rank_ratio(problem.target))))
    width = Fraction(str(problem.width))
    if kind is RECOVERY:
        size = Fraction(str(problem.vocabulary)) if problem.has_vocabulary else None
        return recovery(law, problem.tokens, _DIGITS, width, vocabulary=size)
    if problem.parametrisation is not Parametrisation.FACTORISED:
        law = law.of_model(f"direct_{problem.parametrisation}")
    return interpolation(law, Fraction(str(problem.noise)), problem.tokens, _DIGITS, width)


def _theory_task(case: ThresholdCase) -> Task:
    alphas = tuple(case.alphas(case.kind.multiples).tolist())
    arguments = case.theory_problem, case.kind.quantity, alphas
    cost, label = _COST * len(alphas), f"theory of {case.setting}"
    return Task(theory_roots, arguments, cost, label, "theory of thresholds")


def theory_roots(problem: Problem, quantity: str, alphas: tuple[float, ...]) -> TheoryCurve:
    """Return the vanishing root of the theory, extrapolated to decay 0 as in training.

    Values of status inaccurate are used, because their error bars widen the interval.

    Args:
        problem: parameters other than alpha and lambda.
        quantity: field of a Solution.
        alphas: sample ratios.

    Raises:
        NoAnswer: the theory has no value.
    """
    problems = [
        dataclasses.replace(problem, lambda_=multiple * DECAY) for multiple in DECAY_MULTIPLES[-2:]
    ]
    points = list(
        zip(*(learning_curve(one, alphas, accuracy=ACCURACY) for one in problems), strict=True)
    )
    for solution in chain.from_iterable(points):
        if solution.value(quantity) is None:
            solution.unwrap()
    roots = [vanishing_root(*(getattr(solution, quantity) for solution in pair)) for pair in points]
    # the decays are close, so the errors are equal and so is that of the extrapolated value
    bars = [max(solution.errors.get(quantity, 0.0) for solution in pair) for pair in points]
    errors = [math.sqrt(root**2 + bar) - root for bar, root in zip(bars, roots, strict=True)]
    return TheoryCurve(np.array(alphas), np.array(roots), np.array(errors))


def _estimate(
    case: ThresholdCase, results: Sequence[VanishingResult], theory: TheoryCurve, intervals: int
) -> ThresholdEstimate:
    kind, proven, groups = case.kind, case.threshold(), defaultdict(list)
    for result in results:
        groups[result.run.run.dim].append(result)
    converged = {dim: require_converged(groups[dim]) for dim in sorted(groups)}
    points, beyond = (
        tuple(_points(kind, dim, multiples, group) for dim, group in converged.items())
        for multiples in (kind.multiples, (kind.beyond,))
    )
    crossing = find_crossing(points, theory, float(proven), case.base.entropy, intervals)
    excluded = len(results) - sum(map(len, converged.values()))
    other = case.of_new_tokens()
    return ThresholdEstimate(case, proven, other, points, theory, crossing, beyond, excluded)


def _points(
    kind: ThresholdKind, dim: int, multiples: Sequence[float], group: Sequence[VanishingResult]
) -> SizePoints:
    columns = [kind.all_multiples().index(multiple) for multiple in multiples]
    ratios = np.array(group[0].run.samples)[columns] / dim**2
    roots = np.array([result.limits(kind.quantity) for result in group])
    return SizePoints(dim, ratios, roots[:, columns])
