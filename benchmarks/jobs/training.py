"""Training against what it cannot do without: one evaluation against its bare matrix products,
L-BFGS against Adam.

Run: python -m benchmarks.jobs.training        (prints two tables; a quarter of an hour)

The bare products of an evaluation at n sequences of T tokens are X S and X^T (G X), X of shape (n
T, d): 4 n T d^2 floating-point operations, on all of X at once or in blocks, whichever is faster.
Adam's step falls along half a cosine; first step and number of steps are those that suit it best
among those tried, which only who knows the least loss can choose; beside it stands Adam as `python
-m verify --minimiser adam` has it. All descents start from the same weights, on one thread, as in
training.
"""

import dataclasses
import math
import time

import numpy as np
import torch

from benchmarks.timing import Case, report, seconds
from numeric.engines.processes import use_one_thread
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.core.data import Sequences, row_softmax
from verify.core.draw import draw
from verify.core.minimise import Adam, Lbfgs, Minimiser
from verify.core.parametrisation import WEIGHTS
from verify.core.risk import Risk, RiskPoint
from verify.core.run import Run

DIM, SAMPLES, TOKENS = 200, 40_000, 2
RATIO = 1.5  #: largest time of an evaluation over that of its bare products
ADAM = [
    Adam(tolerance=0.0, max_steps=steps, step=step)
    for step in (0.05, 0.1, 0.2)
    for steps in (400, 1600, 6400)
]
#: Relative distances from the least loss to which both are timed, before the loss at which L-BFGS
#: ends: a tenth of the scatter between runs, and one that no measurement would see.
DISTANCES = (1e-3, 1e-6)
ROUNDING = 1e-13  #: relative, of a loss
ROWS = 1024  #: of a block of X
FIGURE_ONE = Run(Problem(1.0, MarchenkoPastur(0.5), 0.01, 0.5), dim=60)


def evaluation_cases() -> list[Case]:
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.standard_normal((SAMPLES, TOKENS, DIM)))
    labels = row_softmax(1.0, torch.as_tensor(rng.standard_normal((SAMPLES, TOKENS, TOKENS))))
    weights = torch.as_tensor(rng.standard_normal((DIM, DIM)))
    flat, gx = x.reshape(-1, DIM), torch.as_tensor(rng.standard_normal((SAMPLES * TOKENS, DIM)))
    pairs = list(zip(flat.split(ROWS), gx.split(ROWS), strict=True))
    whole = seconds(lambda: (flat @ weights, flat.T @ gx), 5)
    bare = min(whole, seconds(lambda: [(x @ weights, x.T @ gx) for x, gx in pairs], 5))
    rate = 4 * SAMPLES * TOKENS * DIM**2 / bare / 1e9
    print(
        f"bare products: {bare:.3f} s, {rate:.0f} Gflop/s on {torch.get_num_threads()} threads; "
        f"target {RATIO} times that"
    )
    risks = {
        what: Risk(Sequences(x), labels, 0.01, 1.0, weights) for what, weights in WEIGHTS.items()
    }
    return [
        Case(
            f"evaluation, d = {DIM}, n = {SAMPLES}, {what}",
            lambda risk=risk: risk.value_and_gradient(weights),
            5,
            RATIO * bare,
        )
        for what, risk in risks.items()
    ]


class TimedRisk(Risk):
    """A risk that notes when each loss was seen."""

    def at(self, weights: torch.Tensor) -> RiskPoint:
        """Return the risk at the weights and record its loss and the time."""
        point = super().at(weights)
        self.__dict__.setdefault("seen", []).append((time.perf_counter(), float(point.loss)))
        return point


def times_to(
    losses: list[float], minimiser: Minimiser, risk: Risk, start: torch.Tensor
) -> list[float]:
    """Seconds until each loss is first seen, infinite if it never is."""
    timed_risk, started = (
        TimedRisk(*(getattr(risk, field.name) for field in dataclasses.fields(risk))),
        time.perf_counter(),
    )
    minimiser.minimise(timed_risk, start)
    seen = timed_risk.__dict__["seen"]
    return [
        min((when - started for when, value in seen if value <= loss), default=math.inf)
        for loss in losses
    ]


def race(run: Run) -> None:
    drawn = draw(run)
    risk = Risk(drawn.inputs, drawn.labels, run.problem.lambda_, run.problem.beta)
    least, end = (
        Lbfgs(tolerance=small).minimise(risk, drawn.start).loss for small in (1e-9, Lbfgs.tolerance)
    )
    distances = [*DISTANCES, end / least - 1 + ROUNDING]
    losses = [(1 + distance) * least for distance in distances]
    ours = times_to(losses, Lbfgs(), risk, drawn.start)
    default = times_to(losses, Adam(tolerance=0.0), risk, drawn.start)
    tuned = map(
        min, zip(*(times_to(losses, adam, risk, drawn.start) for adam in ADAM), strict=True)
    )
    for distance, mine, best, usual in zip(distances, ours, tuned, default, strict=True):
        print(
            f"alpha {run.problem.alpha:3g}, {distance:.0e} above the least loss: L-BFGS {mine:.3f} "
            f"s; Adam at its best {best:.3f} s, "
            f"ratio {best / mine:.1f}; Adam by default {usual:.3f} s, ratio {usual / mine:.1f}; "
            "target 10",
            flush=True,
        )


if __name__ == "__main__":
    report(evaluation_cases())
    print()
    use_one_thread()
    for alpha in (0.5, 2.0):
        race(FIGURE_ONE.varied(alpha=alpha))
