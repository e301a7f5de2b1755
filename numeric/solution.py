"""The outcome of a solve: values, status, residual and error estimates; never a plausible number without them."""

import enum
from dataclasses import dataclass, field

from numeric.problem import Problem

QUANTITIES = (
    *("m", "q", "V", "mh", "qh", "Vh", "delta", "b", "c"),
    *("train_error", "test_error", "estimation_error", "free_entropy"),
)  #: names of the values that a Solution carries


class Status(enum.Enum):
    """How a solve ended; the text is advice."""

    CONVERGED = "converged"
    UNLEARNED = "the minimiser is S = 0: nothing is learned at this lambda; lower lambda or raise alpha"
    STEP_LIMIT = "step limit reached: continue from the solution at a nearby alpha"
    DIVERGED = "the iteration left the domain: continue from the solution at a nearby alpha"
    INACCURATE = "solved, but two channel resolutions differ by more than one per cent: no value is reliable here"


class NotConverged(ArithmeticError):
    """`Solution.unwrap` of a solve that did not converge."""


@dataclass(frozen=True)
class Solution:
    """Order parameters and errors at one point.

    m = tr(S S0)/d, q = tr S^2/d, V, their conjugates, delta, b, c of the equivalent denoising problem (`b` eigenvalue
    threshold); train_error and test_error: mean square loss per sample; estimation_error = ||S - S0||^2/d;
    free_entropy = (min L)/d^2; quantile: the eigenvalue of Y above which the rank limit cuts, None if it does not act.
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
    free_entropy: float
    quantile: float | None
    residual: float
    iterations: int
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def error_estimate(self) -> float:
        """Largest relative error estimate among the order parameters and the errors."""
        return max(
            (error / abs(getattr(self, name)) for name, error in self.errors.items() if getattr(self, name)),
            default=0.0,
        )

    @property
    def trusted(self) -> bool:
        """Whether the values may be used."""
        return self.status in (Status.CONVERGED, Status.UNLEARNED)

    def unwrap(self) -> "Solution":
        """The solution itself.

        Raises:
            NotConverged: its status says that it is none.
        """
        if self.trusted:
            return self
        raise NotConverged(
            f"alpha = {self.problem.alpha:g}: {self.status.value} (residual {self.residual:.2e}, {self.iterations} steps)"
        )
