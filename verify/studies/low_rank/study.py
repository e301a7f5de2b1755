"""Rank of the learned S along the sample ratio, and the splitting of its spectrum into two bulks.

Weight decay on factors is a trace penalty on S: eigenvalues of the noisy target below the
threshold b are set to zero, so that S has lower rank than the factors allow. At small delta the
rest splits into an upper bulk, which contains the share kappa0 of features of the target, and a
lower bulk of noise. Source: theory note, sections 2 and 4; arXiv 2509.24914, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np

from numeric.engines.task import Task
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import learning_curve
from numeric.saddle.solve import solve
from numeric.studies.spectrum import SpectrumSplit, learned_rank, learned_spectrum, spectrum_split
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.realised_problem import TheoryValues
from verify.core.run import Run
from verify.core.scores import Score, Verdict, score_at, verdict_of
from verify.core.store import Store
from verify.core.theory import POINT_SECONDS

#: Singular values below this share of the largest count as zeros. A descent ends with zeros below
#: 3e-5 and other values above 5e-4 (d = 60, alpha 0.05 to 10).
NO_RANK = 1e-4


@dataclass(frozen=True)
class RankedRun:
    """Shares of the singular values of one trained S: non-zero ones, and those of the upper bulk (0
    if there is one bulk).
    """

    run: Run
    q0: float
    rank: float
    upper: float


@dataclass(frozen=True)
class RankLine:
    """Theory of one target along alpha: rank of S, intervals of its eigenvalues above 0, and the
    alpha at which they split.
    """

    alphas: tuple[float, ...]
    ranks: tuple[float, ...]
    bulks: tuple[tuple[tuple[float, float], ...], ...]
    split: SpectrumSplit


@dataclass(frozen=True)
class RankCurve:
    """Theory of one target and scores of heads trained on it: the rank, and the share of the upper
    bulk beyond the split.

    `spectra` holds the singular values of one head of the largest size, by sample ratio.
    """

    kappa0: float
    theory: RankLine
    ranks: tuple[Score, ...]
    uppers: tuple[Score, ...]
    spectra: Mapping[float, tuple[float, ...]]

    @property
    def verdict(self) -> Verdict:
        """Verdict on the rank."""
        return verdict_of("rank", self.ranks)

    @property
    def agrees(self) -> bool:
        """Return whether training agrees with the theory.

        Where the bulks are well apart, the number of eigenvalues in the upper one is exact.
        """
        return self.verdict.agrees and all(score.agrees for score in self.uppers)


@dataclass(frozen=True)
class RankPlan:
    """Heads to train.

    Attributes:
        base: how to train, and the problem apart from target and sample ratio.
        alphas: sample ratios to train at, by kappa0 of the target.
        sizes: pairs (d, number of runs).
        line: increasing sample ratios of the theory, from one bulk to two.
    """

    base: Run
    alphas: Mapping[float, Sequence[float]]
    sizes: Sequence[tuple[int, int]]
    line: tuple[float, ...]


def study_ranks(plan: RankPlan, folder: Path) -> Steps[list[RankCurve]]:
    """Train the heads that `folder` lacks, and compare their ranks with the theory.

    Raises:
        NoAnswer: the theory does not converge, or its spectrum does not split along the line.
        WorkerError: a run failed.
    """
    store = Store(folder, RunResult)
    targets = {kappa0: plan.base.varied(target=MarchenkoPastur(kappa0)) for kappa0 in plan.alphas}
    lines = [_line_task(target.problem, plan.line) for target in targets.values()]
    runs = [
        [targets[kappa0].varied(alpha=alpha, dim=dim, index=index)
         for alpha, (dim, count) in product(alphas, plan.sizes) for index in range(count)]
        for kappa0, alphas in plan.alphas.items()
    ]  # fmt: skip
    results = yield [*lines, *(training_task(run, store) for group in runs for run in group)]
    theory, trained = results[: len(lines)], iter(results[len(lines) :])
    return [
        _judged(kappa0, found, list(islice(trained, len(group))))
        for kappa0, found, group in zip(plan.alphas, theory, runs, strict=True)
    ]


def rank_line(problem: Problem, alphas: tuple[float, ...]) -> RankLine:
    """Return the theory at each alpha, increasing, and on both sides of the split of the spectrum.

    Args:
        problem: all other parameters.
        alphas: sample ratios.

    Raises:
        NoAnswer: a point does not converge, or the spectrum does not split between two neighbours.
    """
    solutions = [solution.unwrap() for solution in learning_curve(problem, alphas)]
    after = next((k for k, s in enumerate(solutions) if len(learned_spectrum(s, 2).bulks) > 1), 0)
    split = spectrum_split(solutions[after - 1], solutions[after])
    solutions[after:after] = [split.before, split.after]
    return RankLine(
        tuple(solution.problem.alpha for solution in solutions),
        tuple(learned_rank(solution)[0] for solution in solutions),
        tuple(learned_spectrum(solution).bulks for solution in solutions),
        split,
    )


def _line_task(problem: Problem, alphas: Sequence[float]) -> Task:
    cost = POINT_SECONDS * len(alphas)
    return Task(
        rank_line, (problem, tuple(alphas)), cost, f"ranks of the target {problem.target}", "theory"
    )


def _judged(kappa0: float, theory: RankLine, results: Sequence[RunResult]) -> RankCurve:
    points: dict[float, list[RunResult]] = {}
    for result in results:
        points.setdefault(result.run.problem.alpha, []).append(result)
    ranks, uppers, spectra = [], [], {}
    for alpha, found in points.items():
        solution = solve(found[0].run.problem).unwrap()
        gap = gap_of(solution)
        rank, error = learned_rank(solution)
        expected = TheoryValues({"rank": rank, "upper": kappa0}, {"rank": error, "upper": 0.0})
        converged = [result for result in found if result.status is DescentStatus.CONVERGED]
        judged = [(ranked(result, gap), expected) for result in converged]
        ranks.append(score_at("rank", solution.problem, judged))
        if gap:
            uppers.append(score_at("upper", solution.problem, judged))
        if converged:
            spectra[alpha] = max(converged, key=lambda result: result.run.dim).singular_values
    return RankCurve(kappa0, theory, tuple(ranks), tuple(uppers), spectra)


def gap_of(solution: Solution) -> float | None:
    """Return the middle of the gap between the two bulks of S; None if there is one bulk."""
    bulks = learned_spectrum(solution).bulks
    return (bulks[-2][1] + bulks[-1][0]) / 2 if len(bulks) > 1 else None


def ranked(result: RunResult, gap: float | None) -> RankedRun:
    """Return the shares of the singular values that are not zero, and that lie above the `gap`.

    Args:
        result: result of a run.
        gap: boundary between the bulks; None if there is one.
    """
    values = np.array(result.singular_values)
    upper = 0.0 if gap is None else float(np.mean(values > gap))
    return RankedRun(result.run, result.q0, float(np.mean(values > NO_RANK * values.max())), upper)
