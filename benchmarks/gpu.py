"""Training on a GPU: time of every part, on the device that is there.

Run: python -m benchmarks.gpu
    # at most 5 minutes; prints one table with the name of the card

python -m benchmarks.gpu --device cpu
    # the same code on a CPU, at small sizes

Descents are timed on data that are already on the device, in three ways: one by one with SciPy's
L-BFGS on the host, one by one with torch.optim.LBFGS on the device, and together in one batch.
Whole runs include the drawing of data and of test samples.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import torch

from numeric.engines.processes import use_one_thread
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.batches.descent import minimise_batch
from verify.batches.execute import execute_batch
from verify.batches.memory import budget_of, plan_batch
from verify.batches.risk import StackedRisk
from verify.batches.shape import BatchShape
from verify.batches.stack import Stack
from verify.core.draw import TrainingData, draw, empirical_risk
from verify.core.measure import execute
from verify.core.minimise import Lbfgs
from verify.core.risk import Risk
from verify.core.run import Run
from verify.studies.exponents.measure import train_student
from verify.studies.exponents.plan import PATHS, ExponentPlan

BASE = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=100)
ALPHAS = (0.3, 2.0)
SIZES = {"cpu": ((24, 8), (48, 8)), "cuda": ((60, 32), (100, 32), (400, 2))}  # (d, runs)
STUDENT_DIMS = {"cpu": 200, "cuda": 1600}  # narrow students on the path of little decay
GAMMA = Fraction(3, 4)  # exponent of their target
EVALUATIONS = 3000  # at most, of torch.optim.LBFGS


def timed(work: Callable[[], object], device: str) -> float:
    """Return the seconds until the device has finished.

    Args:
        work: what is timed.
        device: cpu or cuda.
    """
    started = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def torch_descent(risk: Risk, start: torch.Tensor, tolerance: float) -> None:
    """Minimise with torch.optim.LBFGS to a relative gradient.

    Args:
        risk: empirical risk.
        start: starting weights, shape (d, m).
        tolerance: relative gradient at the end.
    """
    weights = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [weights], history_size=8, max_iter=20, line_search_fn="strong_wolfe",
        tolerance_grad=0.0, tolerance_change=0.0,
    )  # fmt: skip
    taken = 0

    def closure() -> torch.Tensor:
        nonlocal taken
        taken += 1
        value, weights.grad = risk.value_and_gradient(weights.detach())
        return value

    while taken < EVALUATIONS:
        value = optimizer.step(closure)  # 20 steps between two looks of the host at the gradient
        assert weights.grad is not None
        if weights.grad.norm() * weights.norm() <= tolerance * value:
            return


def stacked(runs: Sequence[Run], drawn: Sequence[TrainingData]) -> tuple[StackedRisk, torch.Tensor]:
    """Return the risk of a batch and its starting weights.

    Args:
        runs: runs of one shape.
        drawn: their data.
    """
    shape = BatchShape.of(runs[0])
    plan = plan_batch(shape, len(runs), budget_of(shape.device))
    stack = Stack(shape, len(runs), plan.samples)
    for place, one in enumerate(drawn):
        stack.put(place, one.inputs, one.labels)
    return StackedRisk.of(runs, stack), torch.stack([one.start for one in drawn])


def descents(runs: Sequence[Run]) -> tuple[float, float, float]:
    """Return the seconds of all descents: by SciPy, by torch.optim, and in one batch.

    Args:
        runs: runs of one shape, whose data fit into memory twice.
    """
    device, lbfgs, drawn = runs[0].device, Lbfgs(), [draw(run) for run in runs]
    starts = [one.start for one in drawn]
    risks = [empirical_risk(run, one) for run, one in zip(runs, drawn, strict=True)]
    batch, start = stacked(runs, drawn)

    def one_by_one(minimise: Callable[[Risk, torch.Tensor], object]) -> float:
        return timed(lambda: list(map(minimise, risks, starts)), device)

    return (
        one_by_one(lbfgs.minimise),
        one_by_one(lambda risk, start: torch_descent(risk, start, lbfgs.tolerance)),
        timed(lambda: minimise_batch(batch, start, lbfgs), device),
    )


def compare(runs: Sequence[Run]) -> None:
    """Print one row of the table.

    Args:
        runs: runs of one shape.
    """
    run = runs[0]
    row = (
        timed(lambda: [draw(run) for run in runs], run.device),
        *descents(runs),
        timed(lambda: [execute(run) for run in runs], run.device),
        timed(lambda: execute_batch(runs), run.device),
    )
    seconds = " | ".join(f"{part:.2f}" for part in row)
    print(f"| {run.dim} | {run.problem.alpha:g} | {len(runs)} | {seconds} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Times of training on a GPU.")
    default = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=tuple(SIZES), default=default)
    device = parser.parse_args().device
    use_one_thread()
    execute_batch([BASE.varied(dim=8, device=device, index=index) for index in range(2)])  # loads
    print(torch.cuda.get_device_name() if device == "cuda" else "CPU, one thread")
    heads = (
        *("d", "alpha", "runs", "drawing, s", "descents: SciPy, s", "torch.optim, s"),
        *("batch, s", "whole runs: one by one, s", "batch, s"),
    )
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for dim, count in SIZES[device]:
        for alpha in ALPHAS:
            run = BASE.varied(dim=dim, alpha=alpha, device=device)
            compare([run.varied(index=index) for index in range(count)])
    dim = STUDENT_DIMS[device]
    plan = ExponentPlan((("decay", GAMMA, dim, 1),), device=device)
    (student,) = plan.runs(PATHS["decay"], GAMMA, dim)
    seconds = timed(lambda: train_student(student), device)
    print(f"\nnarrow student, d = {dim}, {student.samples[-1]} sequences: {seconds:.1f} s")


if __name__ == "__main__":
    main()
