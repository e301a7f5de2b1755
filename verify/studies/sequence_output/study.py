"""Heads trained on output sequences Y = softmax(beta h) X, compared with the same heads trained on
labels.

The loss of a sequence is ||(y - softmax(beta h)) X||_F^2/d = tr r (X X^T/d) r^T with r the residual
of the label. X X^T/d = 1 + e/sqrt(d), where e is the index of the identity, so both losses have one
limit. The difference starts at order d^-1/2 with E tr r e r^T. This is 0 by parity for two tokens,
where the difference is of order 1/d (theory note, section 11).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np
from scipy.special import softmax

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.laws.law import Array
from numeric.prediction.prediction import prediction_of
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from verify.core.data import Output
from verify.core.intervals import quotient
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task
from verify.core.realised_problem import COMPARED_QUANTITIES
from verify.core.run import Run
from verify.core.scores import BAND, MINIMUM_RUNS, Comparison, compare_with_theory, normal_score
from verify.core.store import Store
from verify.core.theory import curve_task, predictions_of

#: Quantities in which the outputs are compared: those of training on labels, and the error of the
#: best multiple of S0.
PAIRED = (*COMPARED_QUANTITIES, "best_error")
_BATCHES, _BATCH = (
    40,
    50_000,
)  #: number of Gaussian samples: their error is a tenth of that of the term of the runs


@dataclass(frozen=True)
class Term:
    """Coefficient with its standard error. `degrees_of_freedom` are those of the error, infinite if
    it is known exactly.
    """

    value: float
    error: float
    degrees_of_freedom: float = math.inf

    def against(self, expected: Term) -> float:
        """Return the score of the difference from an exactly known value."""
        ratio = quotient(self.value - expected.value, math.hypot(self.error, expected.error))
        return normal_score(ratio, self.degrees_of_freedom)


@dataclass(frozen=True)
class OutputDifference:
    """Change of one quantity at one point when training on sequences, on equal data: means over
    runs with standard errors, by size.

    Attributes:
        root: term of order d^-1/2, fitted together with `inverse`.
        inverse: term of order 1/d.
        slope: slope of its logarithm along log d; None if a mean is within two standard errors of
            zero.
        expected_root: theory of `root`, if there is one.
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
        """Return the term of order d^-1/2 minus the theory, in standard errors; NaN if the theory
        has none.
        """
        return self.root.against(self.expected_root) if self.expected_root else math.nan


@dataclass(frozen=True)
class OutputOutcome:
    """Theory along alpha, scores of heads of either output, and the differences between the
    outputs.
    """

    line: tuple[Solution, ...]
    comparisons: Mapping[Output, Comparison]
    differences: tuple[OutputDifference, ...]

    @property
    def agrees(self) -> bool:
        """Return whether either output agrees with the theory, and their difference falls as
        predicted.
        """
        judged = [difference.z for difference in self.differences if difference.expected_root]
        return all(item.agrees for item in self.comparisons.values()) and all(
            abs(z) < BAND for z in judged
        )


@dataclass(frozen=True)
class OutputPlan:
    """Heads to train on either output.

    Attributes:
        base: how to train, and the problem of two tokens.
        alphas: sample ratios at two tokens.
        more_tokens: number of tokens of one further point, at the sample ratio of `base`.
        sizes: pairs (d, number of runs), two sizes or more.
        line: sample ratios of the theory in the figure.
    """

    base: Run
    alphas: Sequence[float]
    more_tokens: int
    sizes: Sequence[tuple[int, int]]
    line: Sequence[float]


def study_outputs(plan: OutputPlan, folder: Path) -> Steps[OutputOutcome]:
    """Train heads on either output, on equal data, and compare them with the theory and each other.

    Raises:
        InvalidParameter: one size only.
        NoAnswer: the theory has no answer, or fewer than two pairs of a size converged.
        WorkerError: a run failed.
    """
    if len(plan.sizes) < 2:
        raise InvalidParameter(
            "dim",
            plan.sizes[0][0],
            "is one size, and a difference falls from one to another",
            "name two",
        )
    store = Store(folder, RunResult)
    points = [plan.base.varied(alpha=alpha) for alpha in plan.alphas]
    points.append(plan.base.varied(tokens=plan.more_tokens))
    groups = {
        (point, output): [
            point.varied(dim=dim, index=index, output=output)
            for dim, count in plan.sizes
            for index in range(count)
        ]
        for point, output in product(points, Output)
    }
    training = [training_task(run, store) for group in groups.values() for run in group]
    solved, *trained = yield [curve_task(plan.base.problem, plan.line, "theory"), *training]
    in_order = iter(trained)
    results = {key: list(islice(in_order, len(group))) for key, group in groups.items()}
    comparisons = {}
    for output in Output:
        judged = [result for point in points[:-1] for result in results[point, output]]
        comparisons[output] = compare_with_theory(judged, (yield from predictions_of(judged)))
    differences = tuple(
        difference
        for point in points
        for difference in differences_of(
            results[point, Output.LABELS], results[point, Output.SEQUENCES]
        )
    )
    return OutputOutcome(tuple(solved.values()), comparisons, differences)


def differences_of(
    labels: Sequence[RunResult], sequences: Sequence[RunResult]
) -> Iterator[OutputDifference]:
    """Return the differences between runs trained on either output, for each quantity.

    Args:
        labels: runs trained on labels.
        sequences: runs trained on output sequences, in the same order.

    Raises NoAnswer if fewer than MINIMUM_RUNS pairs of a size converged.
    """
    pairs = [
        (a, b)
        for a, b in zip(labels, sequences, strict=True)
        if a.status is b.status is DescentStatus.CONVERGED
    ]
    problem, dims = labels[0].run.problem, tuple(sorted({a.run.dim for a in labels}))
    for dim in dims:
        if sum(a.run.dim == dim for a, _ in pairs) < MINIMUM_RUNS:
            raise NoAnswer(
                f"alpha {problem.alpha:g}, dim {dim}: fewer than {MINIMUM_RUNS} pairs of runs "
                "converged"
            )
    for quantity in PAIRED:
        by_size = [
            [(getattr(a, quantity), getattr(b, quantity)) for a, b in pairs if a.run.dim == dim]
            for dim in dims
        ]
        values = [np.array([b - a for a, b in some]) for some in by_size]
        means = np.array([value.mean() for value in values])
        errors = np.array([value.std(ddof=1) / math.sqrt(len(value)) for value in values])
        runs = np.array([len(value) for value in values])
        root, inverse = fitted_terms(np.array(dims), (-0.5, -1.0), means, errors, runs)
        yield OutputDifference(
            problem,
            quantity,
            dims,
            tuple(means.tolist()),
            tuple(errors.tolist()),
            float(np.mean([a for a, _ in by_size[-1]])),
            root,
            inverse,
            _slope(np.array(dims), means, errors, runs),
            expected_root(problem, quantity),
        )


def fitted_terms(
    dims: Array, powers: Sequence[float], values: Array, errors: Array, runs: Array
) -> list[Term]:
    """Fit coefficients of powers of d by least squares.

    The weight of a mean is runs * d^3, because the difference of two runs on equal data scatters
    like d^-3/2. The measured scatter of few runs would correlate weights and values.

    Args:
        dims: sizes d.
        powers: powers of d.
        values: means at each size.
        errors: standard errors of the means.
        runs: number of runs of each size.
    """
    return _fitted(np.power.outer(dims, np.array(powers)), values, errors, runs, runs * dims**3.0)


def _slope(dims: Array, means: Array, errors: Array, runs: Array) -> Term | None:
    if np.any(np.abs(means) < 2 * errors):
        return None
    logs = np.log(dims)
    design = np.stack(
        [logs, np.ones_like(logs)], axis=1
    )  # relative scatter grows with d^1/2: a mean falls faster than its scatter
    return _fitted(design, np.log(np.abs(means)), errors / np.abs(means), runs, runs * dims)[0]


def _fitted(
    design: Array, values: Array, errors: Array, runs: Array, importance: Array
) -> list[Term]:
    """Return the coefficients of the columns of `design`, with degrees of freedom by Welch and
    Satterthwaite.
    """
    shares = np.linalg.solve((design.T * importance) @ design, design.T * importance)
    variances = (shares * errors) ** 2
    total = variances.sum(1)
    degrees = total**2 / (variances**2 / (runs - 1)).sum(1)
    return [
        Term(*map(float, row)) for row in zip(shares @ values, np.sqrt(total), degrees, strict=True)
    ]


def expected_root(problem: Problem, quantity: str) -> Term | None:
    """Return the term of order d^-1/2 in the difference of a quantity according to the theory.

    It is zero for two tokens: when (h, h0, noise, e) change sign, squares of residuals are
    unchanged and tr r e r^T changes sign. For more tokens it is known for the best multiple c* S0,
    whose error is stationary in c: the term is E tr r e r^T at c*, where e is t0/q0 h0 plus an
    independent part.

    Args:
        problem: the problem.
        quantity: name of the quantity.
    """
    if problem.tokens == 2:
        return Term(0.0, 0.0)
    if quantity != "best_error":
        return None
    c, target = prediction_of(problem).best_multiple().c, problem.target
    rng = np.random.default_rng(problem.tokens)
    means = [_residual_term(problem, c, math.sqrt(target.q0), rng) for _ in range(_BATCHES)]
    share = target.t0 / target.q0
    return Term(
        share * float(np.mean(means)), share * float(np.std(means, ddof=1)) / math.sqrt(_BATCHES)
    )


def _residual_term(problem: Problem, c: float, spread: float, rng: np.random.Generator) -> float:
    """Return the mean of tr r h0 r^T over drawn h0 and noise, with r the residual of c h0."""
    shape = (_BATCH, problem.tokens, problem.tokens)
    g, xi = (x + x.swapaxes(1, 2) for x in rng.standard_normal((2, *shape)))
    h0 = spread * g / math.sqrt(2)
    r = softmax(problem.beta0 * (h0 + math.sqrt(problem.noise) * xi / 2), -1) - softmax(
        problem.beta * c * h0, -1
    )
    return float(((r @ h0) * r).sum((1, 2)).mean())
