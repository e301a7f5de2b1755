"""Heads trained on the sequences that they put out, Y = softmax(beta h) X, beside the same heads trained on labels.

The loss of a sequence is ||(y - softmax(beta h)) X||_F^2/d = tr r (X X^T/d) r^T, r the residual of the label. As X X^T/d =
1 + e/sqrt(d), e the index of the identity, both have one limit. The difference starts at order d^-1/2 with E tr r e r^T, which vanishes
by parity for two tokens: there it is of order 1/d.   (theory note, section 11)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from numeric.prediction.prediction import prediction_of
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from verify.jobs.pool import Pool, training_job
from verify.jobs.store import Store
from verify.judging.realised import COMPARED_QUANTITIES
from verify.judging.scores import BAND, Comparison, compare_with_theory
from verify.judging.theory import curve_job, pooled_predictions
from verify.training.data import Output
from verify.training.measure import RunResult
from verify.training.minimise import DescentStatus
from verify.training.run import Run

#: What two outputs are compared in: what training with labels is judged by, and the error of the best multiple of S0.
PAIRED = (*COMPARED_QUANTITIES, "best_error")
_BATCHES, _BATCH = 40, 50_000  #: of Gaussian samples: their error is a tenth of that of the runs' term


@dataclass(frozen=True)
class Term:
    """Coefficient of a power of 1/d, with its standard error."""

    value: float
    error: float

    def minus(self, other: Term) -> float:
        """The difference in standard errors."""
        return (self.value - other.value) / math.hypot(self.error, other.error)


@dataclass(frozen=True)
class OutputDifference:
    """What training on sequences changes in one quantity at one point, on equal data: means over runs with standard errors, by size.

    `root` and `inverse`: terms of order d^-1/2 and 1/d, fitted together; `slope`: of the logarithm by that of d, None where a mean
    is within two standard errors of zero. `expected_root`: the theory of the first, where there is one.
    """

    problem: Problem
    quantity: str
    dims: tuple[int, ...]
    means: tuple[float, ...]
    errors: tuple[float, ...]
    labels: float
    root: Term
    inverse: Term
    slope: Term | None
    expected_root: Term | None

    @property
    def z(self) -> float:
        """The term of order d^-1/2 against the theory, in standard errors; not a number where it has none."""
        return self.root.minus(self.expected_root) if self.expected_root else math.nan


@dataclass(frozen=True)
class OutputOutcome:
    """Theory along alpha, heads of either output judged by it, and the differences between the two outputs."""

    line: tuple[Solution, ...]
    comparisons: Mapping[Output, Comparison]
    differences: tuple[OutputDifference, ...]

    @property
    def agrees(self) -> bool:
        """Whether either output agrees with the theory, and their difference falls as it says."""
        judged = [difference.z for difference in self.differences if difference.expected_root]
        return all(item.agrees for item in self.comparisons.values()) and all(abs(z) < BAND for z in judged)


def study_outputs(
    base: Run,
    alphas: Sequence[float],
    more_tokens: int,
    sizes: Sequence[tuple[int, int]],
    line: Sequence[float],
    store: Store[RunResult],
    pool: Pool,
) -> OutputOutcome:
    """Train heads on either output, on the same data: at each of `alphas`, and at the problem of `base` with `more_tokens`.

    Args:
        base: how to train, and the problem of two tokens.
        sizes: pairs (d, number of runs), two sizes or more.
        line: sample ratios of the theory as it is drawn.

    Raises:
        NoAnswer: the theory has no answer.
        WorkerError: a run failed.
    """
    points = [base.varied(alpha=alpha) for alpha in alphas]
    points.append(base.varied(tokens=more_tokens))
    jobs = {
        (point, output): [
            training_job(point.varied(dim=dim, index=index, output=output), store)
            for dim, count in sizes
            for index in range(count)
        ]
        for point, output in product(points, Output)
    }
    along = curve_job(base.problem, line, "theory")
    pool.results([along, *(job for some in jobs.values() for job in some)])
    results = {key: pool.results(some) for key, some in jobs.items()}
    comparisons = {
        output: compare_with_theory(
            [result for point in points[:-1] for result in results[point, output]], pooled_predictions(pool)
        )
        for output in Output
    }
    differences = tuple(
        difference
        for point in points
        for difference in _differences(results[point, Output.LABELS], results[point, Output.SEQUENCES])
    )
    (solved,) = pool.results([along])
    return OutputOutcome(tuple(solved.values()), comparisons, differences)


def _differences(labels: Sequence[RunResult], sequences: Sequence[RunResult]) -> Iterator[OutputDifference]:
    pairs = [(a, b) for a, b in zip(labels, sequences, strict=True) if a.status is b.status is DescentStatus.CONVERGED]
    problem = pairs[0][0].run.problem
    dims = tuple(sorted({a.run.dim for a, _ in pairs}))
    for quantity in PAIRED:
        by_size = [[(getattr(a, quantity), getattr(b, quantity)) for a, b in pairs if a.run.dim == dim] for dim in dims]
        values = [np.array([b - a for a, b in some]) for some in by_size]
        means = np.array([value.mean() for value in values])
        errors = np.array([value.std(ddof=1) / math.sqrt(len(value)) for value in values])
        root, inverse = _fitted(np.stack([np.power(dims, -0.5), np.power(dims, -1.0)]), means, errors)
        yield OutputDifference(
            problem, quantity, dims, tuple(means.tolist()), tuple(errors.tolist()),
            float(np.mean([a for a, _ in by_size[-1]])), root, inverse,
            _slope(np.array(dims), means, errors), expected_root(problem, quantity),
        )  # fmt: skip


def _fitted(terms: np.ndarray, values: np.ndarray, errors: np.ndarray) -> list[Term]:
    """Weighted least squares: the coefficient of each row of `terms`."""
    design = (terms / errors).T
    covariance = np.linalg.inv(design.T @ design)
    coefficients = covariance @ design.T @ (values / errors)
    return [Term(float(c), float(v) ** 0.5) for c, v in zip(coefficients, np.diag(covariance), strict=True)]


def _slope(dims: np.ndarray, means: np.ndarray, errors: np.ndarray) -> Term | None:
    if np.any(np.abs(means) < 2 * errors):
        return None
    logs = np.log(dims)
    return _fitted(np.stack([logs, np.ones_like(logs)]), np.log(np.abs(means)), errors / np.abs(means))[0]


def expected_root(problem: Problem, quantity: str) -> Term | None:
    """The theory's term of order d^-1/2 in what the output of sequences changes in a quantity.

    Zero for two tokens: under (h, h0, noise, e) -> - of these residuals keep their squares, and tr r e r^T changes its sign. For more
    tokens known of the best multiple c* S0: its error is stationary in c, so that the term is E tr r e r^T at c*, where e is t0/q0 h0
    and an independent rest.
    """
    if problem.tokens == 2:
        return Term(0.0, 0.0)
    if quantity != "best_error":
        return None
    c, target = prediction_of(problem).best_multiple().c, problem.target
    rng = np.random.default_rng(problem.tokens)
    means = [_residual_term(problem, c, math.sqrt(target.q0), rng) for _ in range(_BATCHES)]
    share = target.t0 / target.q0
    return Term(share * float(np.mean(means)), share * float(np.std(means, ddof=1)) / math.sqrt(_BATCHES))


def _residual_term(problem: Problem, c: float, spread: float, rng: np.random.Generator) -> float:
    """Mean of tr r h0 r^T over drawn h0 and noise, r the residual of c h0."""
    shape = (_BATCH, problem.tokens, problem.tokens)
    g, xi = (x + x.swapaxes(1, 2) for x in rng.standard_normal((2, *shape)))
    h0 = spread * g / math.sqrt(2)
    r = _softmax(problem.beta0 * (h0 + math.sqrt(problem.noise) * xi / 2)) - _softmax(problem.beta * c * h0)
    return float(((r @ h0) * r).sum((1, 2)).mean())


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))
