"""The outcome of a solve: values, status, residual and error estimates; never a plausible number without them."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.laws.law import Target
from numeric.maths.domain import finite, require_kind
from numeric.problem.conjugates import AntisymmetricConjugates, Conjugates
from numeric.problem.problem import Problem

ERROR_BAR = (
    "_error_bar"  #: after the name of a quantity, names its error bar in tables and Datasets
)
QUANTITIES = (
    *("m", "q", "V", "mh", "qh", "Vh", "delta", "b", "c"),
    *("train_error", "test_error", "estimation_error", "denoising_error", "free_entropy"),
)  #: names of the values that a Solution carries


class Status(enum.Enum):
    """How a solve ended; the text is advice."""

    CONVERGED = "converged"
    UNLEARNED = (
        "the minimiser is S = 0: nothing is learned at this lambda; lower lambda or raise alpha"
    )
    STEP_LIMIT = (
        "step limit reached, no value: lead here along alpha from a solved point, or raise lambda"
    )
    DIVERGED = "the iteration left the domain, no value: lead here along alpha from a solved point, or raise lambda"
    ROUGH = "solved within its error bars; the channel rule is too rough for a residual of 1e-8 or the errors asked for"
    UNSTABLE = "solved, but replica symmetry is broken here (replicon < 0): an approximation; compare with training"
    INACCURATE = "errors of the channel exceed 1 %, no value to rely on: raise lambda"


class NotConverged(NoAnswer):
    """`Solution.unwrap` of a solve that did not converge."""


class Antisymmetric(NamedTuple):
    """Self-overlap, variance and their conjugates of the antisymmetric part of a general matrix, which meets no target."""

    q: float
    V: float
    qh: float
    Vh: float


@dataclass(frozen=True)
class Solution:
    """Order parameters and errors at one point.

    m = tr(S S0)/d, q = tr S^2/d, V, their conjugates, delta, b, c of the equivalent denoising problem (`b` eigenvalue
    threshold); train_error and test_error: mean square loss per sample; estimation_error = ||S - S0||^2/d,
    denoising_error the same of S/c;
    free_entropy = (min L)/d^2; b is not a number for direct training, which has no threshold; antisymmetric: that
    part of a general matrix; replicon: eigenvalue of stability, negative where replica symmetry is broken;
    quantile: the eigenvalue of Y above which the rank limit cuts, None if it does not act.
    strengths: eigenvalues that the estimator sees in place of leading features kept exactly, in the order of these.
    `errors` bounds each quantity (absolute), `residual` is the relative change of the conjugates under one more step.
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

    def value(self, name: str) -> float | None:
        """A quantity, None where it is not a finite number."""
        return finite(float(getattr(self, name)))

    @property
    def conjugates(self) -> Conjugates:
        """The conjugates of the order parameters."""
        antisymmetric = self.antisymmetric and AntisymmetricConjugates(
            self.antisymmetric.qh, self.antisymmetric.Vh
        )
        return Conjugates(self.mh, self.qh, self.Vh, antisymmetric, self.strengths)

    @property
    def effective_target(self) -> Target:
        """The law of the target as the estimator sees it: with the strengths of leading features."""
        return self.problem.with_strengths(np.array(self.strengths)).target

    @property
    def error_estimate(self) -> float:
        """Largest relative error estimate among all quantities."""
        return self.relative_error(QUANTITIES)

    def relative_error(self, names: tuple[str, ...]) -> float:
        """Largest relative error estimate among the quantities of these names."""
        pairs = ((self.errors.get(name, 0.0), self.value(name)) for name in names)
        return max((error / abs(value) for error, value in pairs if value), default=0.0)

    @property
    def trusted(self) -> bool:
        """Whether the values may be used."""
        return self.status in (Status.CONVERGED, Status.UNLEARNED, Status.UNSTABLE, Status.ROUGH)

    @property
    def advice(self) -> str:
        """What the status says, and whatever else helps in this model."""
        ways = [self.status.value]
        if self.status is Status.INACCURATE:
            if self.problem.takes("beta"):
                ways.append("lower beta or beta0")
            if self.problem.takes("sample_minimum") and not (
                self.problem.follows_label or self.problem.leading
            ):
                ways.append("try --sample-minimum fitted")
        return ", or ".join(ways)

    def record(self) -> dict[str, Any]:
        """Return the solution as JSON values: quantities that are not finite or not to be trusted are None.

        Keys: `alpha`, QUANTITIES, `status` (its name in lower case), `residual`, `error_estimate`, `replicon` ("-inf" where it is
        minus infinity) and `errors` by quantity.
        """
        return {
            "alpha": self.problem.alpha,
            **{name: self.value(name) if self.trusted else None for name in QUANTITIES},
            "status": self.status.name.lower(),
            "residual": finite(self.residual),
            "error_estimate": self.error_estimate if self.trusted else None,
            "replicon": "-inf" if self.replicon == -math.inf else finite(self.replicon),
            "errors": {name: error for name, error in self.errors.items() if not math.isnan(error)},
        }

    def row(self) -> dict[str, float | str | None]:
        """Return a row of a table: each quantity of `record` followed by its error bar, then replicon, residual and status."""
        known, row = self.record(), {}
        for name in QUANTITIES:
            row[name] = known[name]
            row[f"{name}{ERROR_BAR}"] = self.errors.get(name) if self.trusted else None
        return {
            **row,
            "replicon": self.replicon,
            "residual": self.residual,
            "status": known["status"],
        }

    def to_json(self) -> dict[str, Any]:
        """Return every field as it is, of the problem only alpha and lambda; `from_json` is the inverse."""
        own = {
            "alpha": self.problem.alpha,
            "lambda_": self.problem.lambda_,
            "status": self.status.name,
        }
        return {**vars(self), **own, "problem": None}

    @classmethod
    def from_json(cls, problem: Problem, numbers: Mapping[str, Any]) -> Self:
        """Return the solution of a problem that differs from `problem` in alpha and lambda.

        Raises:
            KeyError, TypeError, ValueError: `numbers` is no result of `to_json`.
        """
        read = dict(numbers)
        read["problem"] = replace(problem, alpha=read.pop("alpha"), lambda_=read.pop("lambda_"))
        read["status"], read["strengths"] = Status[read["status"]], tuple(read["strengths"])
        read["antisymmetric"] = read["antisymmetric"] and Antisymmetric(*read["antisymmetric"])
        return cls(**read)

    def reliability(self) -> tuple[bool, bool, float, float]:
        """Greater for the solution whose values can be trusted more; among those without values, for the smaller residual."""
        return self.trusted, self.value("m") is not None, -self.error_estimate, -self.residual

    def unwrap(self) -> "Solution":
        """The solution itself.

        Raises:
            NotConverged: its status says that it is none.
        """
        if self.trusted:
            return self
        raise NotConverged(
            f"alpha = {self.problem.alpha:g}: {self.advice} (residual {self.residual:.2e}, {self.iterations} steps)"
        )


def failed_solution(
    problem: Problem, status: Status, residual: float = math.inf, iterations: int = 0
) -> Solution:
    """A solve without a solution: every value is not a number."""
    nothing: dict[str, Any] = dict.fromkeys(QUANTITIES, math.nan)
    return Solution(
        problem,
        status,
        **nothing,
        quantile=None,
        antisymmetric=None,
        replicon=math.nan,
        residual=residual,
        iterations=iterations,
    )


def require_solution(value: object) -> None:
    """Raises InvalidParameter for what is no Solution, such as its problem."""
    require_kind("solution", value, Solution, "give solve(problem)")
