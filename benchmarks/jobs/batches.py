"""Runs trained together against one by one, on one device.

Run: python -m benchmarks.jobs.batches --device cuda
    # prints a table; --device cpu: two minutes of a core

Descents alone, on data drawn beforehand, and whole runs with what a CPU draws for them, training
and test samples. One by one
on a GPU is as `execute` has it: SciPy's L-BFGS on the host, each evaluation on the device. Ratios
above 1: the batch is faster. On a CPU, where one thread works, seconds are of the processor: others
on the machine do not count.
"""

import argparse
import time
from collections.abc import Callable

import torch

from numeric.engines.processes import use_one_thread
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.batches.descent import minimise_batch
from verify.batches.execute import execute_batch
from verify.batches.memory import budget_of, plan_batch
from verify.batches.risk import StackedRisk
from verify.batches.shape import BatchShape, Precision
from verify.batches.stack import Stack
from verify.core.draw import TrainingData, draw, empirical_risk
from verify.core.measure import execute
from verify.core.minimise import Lbfgs
from verify.core.run import Run

BASE = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=100)
KINDS = ("sequences", "gaussian-equivalent")
#: Sizes at which a device is asked: a CPU at those of the quick figures, a GPU at those of the
#: paper's.
SIZES = {"cpu": (24, 48), "cuda": (60, 100, 200)}
ALPHAS = (0.3, 2.0)
RUNS = {"cpu": 8, "cuda": 32}
WAYS = {
    "float64": (Precision.DOUBLE, Lbfgs()),
    "refined": (Precision.REFINED, Lbfgs()),
    "no prox.": (Precision.DOUBLE, Lbfgs(proximal_steps=0)),
}
LARGEST = 60  #: d of Gaussian-equivalent data: one sample takes T(T + 1)/2 d(d + 1)/2 numbers


def timed(work: Callable[[], object], device: str) -> float:
    """Seconds until the device has done it."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return clock() - started


def descents_together(
    runs: list[Run], drawn: list[TrainingData], precision: Precision, how: Lbfgs
) -> float:
    """Seconds of the descents of a batch; what it is put together from does not count."""
    shape = BatchShape.of(runs[0])
    plan = plan_batch(shape, len(runs), precision, budget_of(shape.device))
    if plan.runs < len(runs):
        raise MemoryError(f"{len(runs)} runs of {shape} do not fit at once: lower --runs")
    stack = Stack(shape, len(runs), plan.samples)
    for place, one in enumerate(drawn):
        stack.put(place, one.inputs, one.labels)
    risk, start = StackedRisk.of(runs, stack), torch.stack([one.start for one in drawn])
    return timed(lambda: minimise_batch(risk, start, how, precision), shape.device)


def descents(runs: list[Run]) -> tuple[float, list[float]]:
    """Seconds of all descents one by one, and of each way to have them together."""
    run, drawn = runs[0], [draw(run) for run in runs]
    risks = [empirical_risk(run, one) for run, one in zip(runs, drawn, strict=True)]
    alone = timed(
        lambda: [Lbfgs().minimise(risk, one.start) for risk, one in zip(risks, drawn, strict=True)],
        run.device,
    )
    return alone, [
        descents_together(runs, drawn, precision, how) for precision, how in WAYS.values()
    ]


def compare(runs: list[Run]) -> None:
    """Print one line."""
    run, (alone, together) = runs[0], descents(runs)
    whole = timed(lambda: [execute(run) for run in runs], run.device)
    whole_together = timed(lambda: execute_batch(runs), run.device)
    ratios = "".join(f"{alone / seconds:10.2f}" for seconds in together)
    print(
        f"{run.data:20}{run.dim:5}{run.problem.alpha:6g}{len(runs):6}{alone:10.2f}{ratios}"
        f"{whole:10.2f}{whole / whole_together:10.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Batches of runs against one by one.")
    parser.add_argument("--device", choices=tuple(SIZES), default="cpu")
    parser.add_argument("--runs", type=int, help="in a batch")
    arguments = parser.parse_args()
    use_one_thread()
    count = arguments.runs or RUNS[arguments.device]
    execute_batch(
        [BASE.varied(dim=8, device=arguments.device, index=index) for index in range(2)]
    )  # loads libraries
    if arguments.device == "cuda":
        print(torch.cuda.get_device_name())
    names = (*WAYS, "whole, s", "float64")
    print(
        f"{'data':20}{'d':>5}{'alpha':>6}{'runs':>6}{'alone, s':>10}"
        + "".join(f"{name:>10}" for name in names)
    )
    for data in KINDS:
        for dim in SIZES[arguments.device]:
            for alpha in ALPHAS:
                if data == "sequences" or dim <= LARGEST:
                    run = BASE.varied(data=data, dim=dim, alpha=alpha, device=arguments.device)
                    compare([run.varied(index=index) for index in range(count)])


if __name__ == "__main__":
    main()
