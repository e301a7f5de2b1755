"""Solution of a problem: values, status, residual and error estimates."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.laws.law import Target
from numeric.laws.lifted import LiftedTarget
from numeric.maths.domain import finite, require_kind
from numeric.problem.conjugates import AntisymmetricConjugates, Conjugates
from numeric.problem.loss_overflow import overflow_size
from numeric.problem.problem import Problem

#: Suffix of the name of an error bar in tables and Datasets.
ERROR_BAR = "_error_bar"
#: Names of the values of a Solution.
QUANTITIES = (
    *("m", "q", "V", "mh", "qh", "Vh", "delta", "b", "c"),
    *("train_error", "test_error", "estimation_error", "denoising_error", "free_entropy"),
)
#: Name of the test error on new sequences of the same vocabulary, for problems that have one.
VOCABULARY_ERROR = "vocabulary_test_error"
#: Part of the scale of a quantity below which a relative error counts the value as this part. The
#: training error vanishes below interpolation, and the test error where the target is recovered.
NEGLIGIBLE = 1e-6
#: Quantities that a table shows before all others.
READ_FIRST = ("m", "q", "train_error", "test_error")


def quantities_of(problem: Problem) -> tuple[str, ...]:
    """Return the names of the values of a solution of a problem, QUANTITIES first."""
    also = (VOCABULARY_ERROR,) if problem.has_vocabulary else ()
    return (*QUANTITIES, *also, *problem.label_quantities)


class Status(enum.Enum):
    """Status of a solve; the value is advice for the user."""

    CONVERGED = "converged"
    UNLEARNED = (
        "the minimiser is S = 0: nothing is learned at this lambda; decrease lambda or "
        "increase alpha"
    )
    STEP_LIMIT = (
        "maximum iterations reached, no value: continue in alpha from a converged point, "
        "or increase lambda"
    )
    DIVERGED = (
        "the iteration left the domain, no value: continue in alpha from a converged point, "
        "or increase lambda"
    )
    ROUGH = (
        "solved within its error bars; the channel rule is too coarse for a residual of 1e-8 "
        "or for the requested accuracy"
    )
    UNSTABLE = (
        "solved, but replica symmetry is broken (replicon < 0): an approximation; "
        "compare with training"
    )
    INACCURATE = "errors of the channel exceed 1 %, no reliable value: increase lambda"


class NotConverged(NoAnswer):
    """Error raised by `Solution.unwrap` if the solve did not converge."""


class Antisymmetric(NamedTuple):
    """Order parameters of the antisymmetric part of a general matrix; the target has no such part.

    Attributes:
        q: self-overlap.
        V: variance.
        qh: conjugate of q.
        Vh: conjugate of V.
    """

    q: float
    V: float
    qh: float
    Vh: float


class NormOverlap(NamedTuple):
    """Overlap of S with the covariance of the tokens, which matters if norms are not Gaussian.

    Attributes:
        t: overlap tr(C S)/tr(C^2), eigenvalue.
        th: its conjugate, loss/eigenvalue.
        shift: coefficient of the covariance in the matrix that is denoised, eigenvalue.
    """

    t: float
    th: float
    shift: float


@dataclass(frozen=True)
class Solution:
    """Order parameters and errors of one problem.

    Attributes:
        problem: the solved problem.
        status: how the solve ended.
        m: overlap tr(S S0)/d.
        q: self-overlap tr(S^2)/d.
        V: variance.
        mh: conjugate of m.
        qh: conjugate of q.
        Vh: conjugate of V.
        delta: noise of the equivalent denoising problem (standard deviation).
        b: its eigenvalue threshold, NaN for direct training, which has no threshold.
        c: its gain.
        train_error: mean training loss per sample.
        test_error: mean test loss per sample.
        estimation_error: ||S - S0||^2/d.
        denoising_error: ||S/c - S0||^2/d.
        free_entropy: (min L)/d^2.
        quantile: eigenvalue of Y at which the rank limit cuts, None if it has no effect.
        antisymmetric: antisymmetric part of a general matrix.
        replicon: stability eigenvalue, negative if replica symmetry is broken.
        residual: relative change of the conjugates under one further iteration.
        iterations: number of iterations.
        errors: absolute error bound of each quantity.
        strengths: effective eigenvalues of the leading features treated exactly, in their order.
        unlearned_error: test error of S = 0, the scale of losses.
        norms: overlap with the covariance of tokens, None if they have Gaussian norms.
        vocabulary_test_error: mean test loss of new sequences of the same vocabulary, None without
            one; test_error is that of new tokens.
        misclassification: share of new labels that are not predicted, None if labels are no
            classes.
        calibration: mean stated probability of the predicted class minus the share of labels that
            are predicted, None if the loss states no probabilities.
        agreement: share of new labels whose most likely class under the target is predicted.
    """

    problem: Problem
    status: Status
    m: float
    q: float
    V: float
    mh: float
    qh: float
    Vh: float
    delta: float
    b: float
    c: float
    train_error: float
    test_error: float
    estimation_error: float
    denoising_error: float
    free_entropy: float
    quantile: float | None
    antisymmetric: Antisymmetric | None
    replicon: float
    residual: float
    iterations: int
    errors: dict[str, float] = field(default_factory=dict, hash=False)
    strengths: tuple[float, ...] = ()
    unlearned_error: float = 0.0
    norms: NormOverlap | None = None
    vocabulary_test_error: float | None = None
    misclassification: float | None = None
    calibration: float | None = None
    agreement: float | None = None

    def value(self, name: str) -> float | None:
        """Return a quantity, or None if it is not finite."""
        return finite(float(getattr(self, name)))

    @property
    def conjugates(self) -> Conjugates:
        """The conjugates of the order parameters."""
        antisymmetric = self.antisymmetric and AntisymmetricConjugates(
            self.antisymmetric.qh, self.antisymmetric.Vh
        )
        th = self.norms and self.norms.th
        return Conjugates(self.mh, self.qh, self.Vh, antisymmetric, self.strengths, th)

    @property
    def effective_target(self) -> Target:
        """Target law with the strengths in place of the eigenvalues of leading features, and with
        the shift of the norms of tokens.
        """
        if self.norms:
            return LiftedTarget(self.problem.target, self.norms.shift)
        return self.problem.with_strengths(np.array(self.strengths)).target

    @property
    def error_estimate(self) -> float:
        """Largest relative error estimate of all quantities."""
        return self.relative_error(QUANTITIES)

    def relative_error(self, names: tuple[str, ...]) -> float:
        """Return the largest relative error estimate of the named quantities.

        A quantity that can vanish has a scale. If its value is less than `NEGLIGIBLE` of the scale,
        its error is relative to `NEGLIGIBLE` of the scale. An error that is not a number is
        infinite.
        """
        found = 0.0
        for name in names:
            value, error = self.value(name), self.errors.get(name, 0.0)
            if value is not None and (size := max(abs(value), NEGLIGIBLE * self.scale(name))):
                found = max(found, math.inf if math.isnan(error) else error / size)
        return found

    def scale(self, name: str) -> float:
        """Return the scale of a quantity that can vanish, 0 for the others.

        It is the second moment of the target for overlaps and errors of S, its root for the
        parameters of the denoising problem, and the test error of S = 0 for losses.
        """
        if name in ("m", "q", "estimation_error", "denoising_error"):
            return self.problem.q0
        if name in ("delta", "b"):
            return math.sqrt(self.problem.q0)
        losses = {"train_error": 1.0, "test_error": 1.0, "free_entropy": self.problem.alpha}
        return losses.get(name, 0.0) * abs(self.unlearned_error)

    @property
    def trusted(self) -> bool:
        """True if the values may be used."""
        return self.status in (Status.CONVERGED, Status.UNLEARNED, Status.UNSTABLE, Status.ROUGH)

    @property
    def advice(self) -> str:
        """Advice of the status, with further advice for the model."""
        ways = [self.status.value]
        if self.status in (Status.STEP_LIMIT, Status.DIVERGED):
            size = overflow_size(self.problem)
            if size is not None:
                ways = [
                    f"the loss of the model is not finite at an index of {size:.3g}, which this "
                    "target has: write it so that its exponentials do not overflow"
                ]
        if self.status is Status.INACCURATE:
            if self.problem.takes("beta"):
                ways.append("decrease beta or beta0")
            if self.problem.takes("sample_minimum") and not (
                self.problem.follows_label or self.problem.leading
            ):
                ways.append("try --sample-minimum fitted")
        return ", or ".join(ways)

    def record(self) -> dict[str, Any]:
        """Return the solution as JSON values, None for quantities not finite or not trusted.

        The keys are `alpha`, `quantities_of` the problem, `status` (name in lower case),
        `residual`, `error_estimate`, `replicon` ("-inf" if it is minus infinity) and `errors` by
        quantity.
        """
        return {
            "alpha": self.problem.alpha,
            **{n: self.value(n) if self.trusted else None for n in quantities_of(self.problem)},
            **(self.norms._asdict() if self.norms and self.trusted else {}),
            "status": self.status.name.lower(),
            "residual": finite(self.residual),
            "error_estimate": self.error_estimate if self.trusted else None,
            "replicon": "-inf" if self.replicon == -math.inf else finite(self.replicon),
            "errors": {name: error for name, error in self.errors.items() if not math.isnan(error)},
        }

    def row(self) -> dict[str, float | str | None]:
        """Return a row of a table.

        It contains what is read first, the quantities READ_FIRST and the status, then their error
        bars, each other quantity of `record` with its error bar, replicon and residual.
        """
        known = self.record()

        def bar(name: str) -> dict[str, float | None]:
            return {f"{name}{ERROR_BAR}": self.errors.get(name) if self.trusted else None}

        row = {name: known[name] for name in (*READ_FIRST, "status")}
        for name in READ_FIRST:
            row |= bar(name)
        for name in quantities_of(self.problem):
            if name not in READ_FIRST:
                row |= {name: known[name], **bar(name)}
        return {**row, "replicon": self.replicon, "residual": self.residual}

    def __repr__(self) -> str:
        """Return status, problem and the quantities with their error bars, in ten lines."""
        lines = [f"{self.status.name.lower()}: {self.problem.summary}"]
        also = quantities_of(self.problem)[len(QUANTITIES) :]
        shown = (*READ_FIRST, *also, "estimation_error", "free_entropy", "V")
        width = max(16, *map(len, shown))
        for name in shown if self.trusted else ():
            bar = self.errors.get(name, 0.0)
            lines.append(f"  {name:{width}} {getattr(self, name):.10g} +- {bar:.1e}")
        if not self.trusted:
            lines.append(f"  no value: {self.advice}")
        lines.append(f"  replicon {self.replicon:.4g}, residual {self.residual:.1e}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return all fields, for the problem only alpha and lambda; `from_json` is the inverse."""
        point = {"alpha": self.problem.alpha, "lambda": self.problem.lambda_}
        return {**vars(self), **point, "status": self.status.name, "problem": None}

    @classmethod
    def from_json(cls, problem: Problem, numbers: Mapping[str, Any]) -> Self:
        """Return the solution stored by `to_json`.

        Args:
            problem: the solved problem, up to alpha and lambda.
            numbers: result of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: `numbers` is not a result of `to_json`.
        """
        read = dict(numbers)
        read["problem"] = replace(problem, alpha=read.pop("alpha"), lambda_=read.pop("lambda"))
        read["status"], read["strengths"] = Status[read["status"]], tuple(read["strengths"])
        read["antisymmetric"] = read["antisymmetric"] and Antisymmetric(*read["antisymmetric"])
        read["norms"] = read["norms"] and NormOverlap(*read["norms"])
        return cls(**read)

    def reliability(self) -> tuple[bool, bool, float, float]:
        """Return a sort key that is larger for more reliable solutions.

        Solutions without values are ordered by their residual.
        """
        return self.trusted, self.value("m") is not None, -self.error_estimate, -self.residual

    def unwrap(self) -> "Solution":
        """Return the solution itself.

        Raises:
            NotConverged: the values must not be used, by the status.
        """
        if self.trusted:
            return self
        steps = f"residual {self.residual:.2e}, {self.iterations} steps"
        raise NotConverged(f"alpha = {self.problem.alpha:g}: {self.advice} ({steps})")


def failed_solution(
    problem: Problem, status: Status, residual: float = math.inf, iterations: int = 0
) -> Solution:
    """Return a solution whose values are all NaN, for a solve that failed.

    Args:
        problem: the problem.
        status: how the solve ended.
        residual: last residual.
        iterations: number of iterations.
    """
    values: dict[str, Any] = dict.fromkeys((*QUANTITIES, "replicon"), math.nan)
    values |= {"quantile": None, "antisymmetric": None}
    return Solution(problem, status, **values, residual=residual, iterations=iterations)


def physical_first(*solutions: Solution) -> list[Solution]:
    """Return the trusted solutions in order of free entropy; the physical one is first."""
    trusted = (solution for solution in solutions if solution.trusted)
    return sorted(trusted, key=lambda solution: solution.free_entropy)


def require_solution(value: object) -> None:
    """Check that the value is a Solution.

    Raises:
        InvalidParameter: it is not.
    """
    require_kind("solution", value, Solution, "give solve(problem)")
