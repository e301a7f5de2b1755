"""Heads trained on sequences of real token vectors, compared with four theories: that of their
covariance, norms and number, that without their number, that of their covariance alone, and that of
isotropic tokens.

Drawn tokens with the same covariance are controls: as many vectors of the same norms, which differ
from the real ones in higher moments only; new vectors of the same norms in every sample; and
Gaussian ones.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy
import torch

from attention_erm.runtime.errors import NoAnswer
from numeric.engines.task import Task
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.norms import GAUSSIAN_NORMS
from numeric.problem.problem import Problem
from numeric.problem.solution import VOCABULARY_ERROR, Solution
from numeric.real.tokens import TokenFile
from verify.core.data import DataKind, draw_inputs
from verify.core.draw import draw_target, require_memory, token_law
from verify.core.intervals import INTERVAL_PROBABILITY, Interval, mean_with_error, student_errors
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.realised_problem import (
    COMPARED_QUANTITIES,
    TheoryValues,
    expected_values,
    realised_problem,
)
from verify.core.run import Run
from verify.core.scores import require_converged
from verify.core.spectra import TrainedSpectrum, spectrum_task
from verify.core.store import Store
from verify.core.streams import stream
from verify.core.theory import curve_task, predictions_of, with_gaussian_norms, without_covariance
from verify.core.vocabulary import Vocabulary

SEQUENCES = 30_000  #: sequences whose scores give the moments of a draw of the target
MOMENT_SECONDS = 0.5
POINTS_ALONG = 12  #: points of a theory line
GRAPH_POINTS = 5  #: of one with a vocabulary, which takes a hundred times as long


class Tokens(enum.StrEnum):
    """Kind of tokens: of the file, or drawn with the same covariance."""

    REAL = "real"
    AS_MANY = "as many, same covariance and norms"
    SAME_NORMS = "same covariance and norms"
    GAUSSIAN = "same covariance, Gaussian"


def gaussian(problem: Problem) -> Problem:
    """Return the problem of new Gaussian tokens with the same covariance in every sample."""
    return with_gaussian_norms(problem.of_new_tokens)


def isotropic(problem: Problem) -> Problem:
    """Return the problem of new isotropic Gaussian tokens with the same second moment of the
    target.
    """
    return without_covariance(gaussian(problem))


#: Theories by name, with the problem that each solves.
THEORIES: dict[str, Callable[[Problem], Problem]] = {
    "covariance, norms and number": lambda problem: problem,
    "covariance and norms": lambda problem: problem.of_new_tokens,
    "covariance": gaussian,
    "isotropic": isotropic,
}
FULL, NEW_TOKENS, COVARIANCE_ALONE, ISOTROPIC = THEORIES
#: Theories next to which each kind of tokens is trained; drawn ones have that of their own.
JUDGED_BY = {
    Tokens.REAL: tuple(THEORIES),
    Tokens.AS_MANY: (FULL, NEW_TOKENS),
    Tokens.SAME_NORMS: (NEW_TOKENS,),
    Tokens.GAUSSIAN: (COVARIANCE_ALONE,),
}


@dataclass(frozen=True)
class TokensPlan:
    """Runs on the tokens of a file and on the controls.

    Attributes:
        file: the token vectors; `dim` is set to each size.
        base: run whose settings all others have.
        sizes: (d, number of runs) of each size.
        alphas: sample ratios.
    """

    file: TokenFile
    base: Run
    sizes: tuple[tuple[int, int], ...]
    alphas: tuple[float, ...]

    def file_at(self, dim: int) -> TokenFile:
        """Return the vectors projected on `dim` directions."""
        return replace(self.file, dim=dim)

    def run(self, tokens: Tokens, dim: int, alpha: float, index: int) -> Run:
        """Return one run.

        Args:
            tokens: kind of the tokens.
            dim: dimension d.
            alpha: sample ratio.
            index: number of the run.
        """
        file, problem = self.file_at(dim), self.base.problem
        law = problem.target
        assert isinstance(law, MarchenkoPastur)
        norms = GAUSSIAN_NORMS if tokens is Tokens.GAUSSIAN else file.table.norms
        size = file.table.ratio if tokens in (Tokens.REAL, Tokens.AS_MANY) else math.inf
        target = IndependentCovariance(law, file.table.covariance.tolist())
        return replace(
            self.base,
            problem=replace(problem, target=target, norms=norms, alpha=alpha, vocabulary=size),
            dim=dim,
            index=index,
            drawn_from=Vocabulary(file) if tokens is Tokens.REAL else None,
        )

    def runs(self, tokens: Tokens) -> list[Run]:
        """Return all runs on tokens of one kind."""
        return [
            self.run(tokens, dim, alpha, index)
            for dim, count in self.sizes
            for alpha, index in product(self.alphas, range(count))
        ]


class Ratio(NamedTuple):
    """Mean of trained over theory at one point, or over points, with an interval of 95 %.

    Attributes:
        dim: dimension d.
        alpha: sample ratio; None for the mean over all.
        tokens: kind of the tokens.
        theory: name of the theory.
        quantity: compared quantity; the test error is that of new sequences of the same tokens,
            if the number of tokens is finite.
        ratio: trained over theory.
    """

    dim: int
    alpha: float | None
    tokens: Tokens
    theory: str
    quantity: str
    ratio: Interval


class ScoreMoments(NamedTuple):
    """Third and fourth moments of the scores of the target, means over draws of it.

    Attributes:
        skewness: third moment in units of the standard deviation.
        kurtosis: fourth moment in units of the variance, minus 3.
    """

    skewness: float
    kurtosis: float


class TokenMoments(NamedTuple):
    """Moments of scores of a token with itself, h_aa, and of a pair, h_ab.

    Attributes:
        dim: dimension d.
        tokens: kind of the tokens.
        own: moments of h_aa.
        pair: moments of h_ab.
    """

    dim: int
    tokens: Tokens
    own: ScoreMoments
    pair: ScoreMoments


class SolvedTheory(NamedTuple):
    """Solutions of one theory along the sample ratio at the largest size."""

    theory: str
    solutions: tuple[Solution, ...]


@dataclass(frozen=True)
class TokensOutcome:
    """Ratios at each point, moments of the scores, lines and the spectrum of the figure.

    Attributes:
        plan: the plan.
        results: trained heads by kind of the tokens.
        ratios: trained over theory at each point, and their means over the sample ratios.
        moments: moments of the scores of the target.
        curves: theories along the sample ratio at the largest size.
        spectrum: eigenvalues learned from real tokens at the middle sample ratio.
    """

    plan: TokensPlan
    results: dict[Tokens, tuple[RunResult, ...]]
    ratios: tuple[Ratio, ...]
    moments: tuple[TokenMoments, ...]
    curves: tuple[SolvedTheory, ...]
    spectrum: TrainedSpectrum

    def mean(self, dim: int, tokens: Tokens, theory: str, quantity: str = "test_error") -> Interval:
        """Return the mean ratio over the sample ratios.

        Args:
            dim: dimension d.
            tokens: kind of the tokens.
            theory: name of the theory.
            quantity: compared quantity.
        """
        asked = (dim, None, tokens, theory, quantity)
        return next(one.ratio for one in self.ratios if one[:-1] == asked)

    def is_nearer(self, dim: int) -> bool:
        """Return whether training is nearer to the theory with covariance and norms than to the
        isotropic one, in the test error.
        """
        full, plain = (
            abs(math.log(self.mean(dim, Tokens.REAL, name).value)) for name in (FULL, ISOTROPIC)
        )
        return full < plain

    @property
    def agrees(self) -> bool:
        """Return whether this holds at every size."""
        return all(self.is_nearer(dim) for dim, _ in self.plan.sizes)


def study_tokens(plan: TokensPlan, folder: Path) -> Steps[TokensOutcome]:
    """Train what `folder` lacks and compare with the theories.

    Args:
        plan: the plan.
        folder: folder of finished runs.

    Raises:
        NoAnswer: the theory has no answer, or too few runs converged.
        InvalidParameter: the data of a run do not fit into memory.
    """
    store = Store(folder, RunResult)
    runs = {tokens: plan.runs(tokens) for tokens in Tokens}
    require_memory(run for those in runs.values() for run in those)
    trained = iter((yield [training_task(run, store) for those in runs.values() for run in those]))
    results = {tokens: tuple(next(trained) for _ in those) for tokens, those in runs.items()}
    ratios = []
    for tokens, names in JUDGED_BY.items():
        converged = [one for one in results[tokens] if one.status is DescentStatus.CONVERGED]
        for name in names:
            stage = f"theory: {name}"
            predictor = yield from predictions_of(results[tokens], THEORIES[name], stage)
            expected = expected_values(converged, predictor)
            ratios += _ratios(plan, tokens, name, results[tokens], expected)
    curves = yield from _curves(plan, results[Tokens.REAL])
    first = plan.alphas[0]
    found = yield [
        moments_task(tokens, [plan.run(tokens, dim, first, index) for index in range(count)])
        for dim, count in plan.sizes
        for tokens in Tokens
    ]
    dim, middle = plan.sizes[-1][0], plan.alphas[len(plan.alphas) // 2]
    (spectrum,) = yield [spectrum_task(_at(results[Tokens.REAL], dim, middle))]
    return TokensOutcome(plan, results, tuple(ratios), tuple(found), curves, spectrum)


def _at(results: Sequence[RunResult], dim: int, alpha: float) -> list[RunResult]:
    """Return the converged results at one size and sample ratio.

    Raises:
        NoAnswer: there are too few for an interval.
    """
    return require_converged(
        [one for one in results if one.run.dim == dim and one.run.problem.alpha == alpha]
    )


def _ratios(
    plan: TokensPlan,
    tokens: Tokens,
    theory: str,
    results: Sequence[RunResult],
    expected: dict[Run, TheoryValues],
) -> list[Ratio]:
    found = []
    for (dim, _), quantity in product(plan.sizes, COMPARED_QUANTITIES):
        means, errors = [], []
        for alpha in plan.alphas:
            judged = _at(results, dim, alpha)
            values = [
                value_of(one, quantity) / value_of(expected[one.run], quantity) for one in judged
            ]
            mean, error = mean_with_error(values)
            if not math.isfinite(mean):
                raise NoAnswer(f"the theory ({theory}) has no {quantity} at d = {dim}, {alpha:g}")
            width = error * student_errors(len(values), INTERVAL_PROBABILITY)
            ratio = Interval(mean, mean - width, mean + width)
            found.append(Ratio(dim, alpha, tokens, theory, quantity, ratio))
            means.append(mean)
            errors.append(width)
        mean, width = float(np.mean(means)), math.hypot(*errors) / len(errors)
        overall = Interval(mean, mean - width, mean + width)
        found.append(Ratio(dim, None, tokens, theory, quantity, overall))
    return found


def value_of(one: RunResult | Solution | TheoryValues, quantity: str) -> float:
    """Return a quantity; the test error is that of new sequences of the same tokens.

    Args:
        one: trained head, or values of the theory.
        quantity: compared quantity.
    """
    values = one.values if isinstance(one, TheoryValues) else vars(one)
    of_same_tokens = quantity == "test_error" and values.get(VOCABULARY_ERROR) is not None
    return float(values[VOCABULARY_ERROR if of_same_tokens else quantity])


def _curves(plan: TokensPlan, results: Sequence[RunResult]) -> Steps[tuple[SolvedTheory, ...]]:
    """Solve the theories along the sample ratio, at the realised target of the first run of the
    largest size.
    """
    dim = plan.sizes[-1][0]
    first = next(one for one in results if one.run.dim == dim)
    problem = realised_problem(first.run, first.q0)
    low, high = min(plan.alphas), max(plan.alphas)
    jobs = []
    for name, changed in THEORIES.items():
        points = GRAPH_POINTS if name == FULL else POINTS_ALONG
        alphas = np.geomspace(0.8 * low, 1.25 * high, points).tolist()
        jobs.append(curve_task(changed(problem), alphas, f"line: {name}"))
    solved = yield jobs
    return tuple(
        SolvedTheory(name, tuple(along[alpha] for alpha in sorted(along)))
        for name, along in zip(THEORIES, solved, strict=True)
    )


def moments_task(tokens: Tokens, runs: Sequence[Run]) -> Task:
    """Return `score_moments` as a task.

    Args:
        tokens: kind of the tokens.
        runs: runs of one size, each with its own target.
    """
    label = f"moments of the scores, d = {runs[0].dim}"
    return Task(score_moments, (tokens, tuple(runs)), MOMENT_SECONDS * len(runs), label, "moments")


def score_moments(tokens: Tokens, runs: Sequence[Run]) -> TokenMoments:
    """Return the mean moments of the scores of the targets of `runs`.

    Args:
        tokens: kind of the tokens.
        runs: runs of one size, each with its own target.
    """
    found = []
    for run in runs:
        seeds = run.seeds()
        source = stream(seeds["test"], "cpu")
        s0 = draw_target(run, np.random.default_rng(seeds["target"]))
        inputs = draw_inputs(DataKind.SEQUENCES, SEQUENCES, 2, run.dim, source, token_law(run))
        scores = inputs.indices(torch.as_tensor(s0)).numpy()
        own = scores[:, [0, 1], [0, 1]].ravel()
        found.append(
            [
                (scipy.stats.skew(part), scipy.stats.kurtosis(part))
                for part in (own, scores[:, 0, 1])
            ]
        )
    own_mean, pair_mean = np.mean(found, axis=0).tolist()
    return TokenMoments(runs[0].dim, tokens, ScoreMoments(*own_mean), ScoreMoments(*pair_mean))
