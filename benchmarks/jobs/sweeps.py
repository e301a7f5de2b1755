"""Sweeps: how long a point takes by its kind, what an engine costs per task, two workers beside
one, and dask beside processes.

Run: python -m benchmarks.jobs.sweeps [costs | engines | points | training]
    # all: some twenty minutes
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import numpy as np

from numeric.engines.dask_workers import local_workers
from numeric.engines.processes import Processes
from numeric.engines.task import Engine, Outcome, Task
from numeric.laws.eigenvalue_list import singular_values
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem, SampleMinimum
from numeric.saddle.curve import learning_curve
from numeric.sweeps.axes import axes_of
from numeric.sweeps.costs import seconds_of_point
from numeric.sweeps.sweep import sweep
from numeric.sweeps.theory import problems_over
from verify.sweeps.training import TrainingSettings, training_plan

FIGURE_ONE = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
ALPHAS = np.geomspace(0.2, 4, 6).tolist()
KINDS = {
    "two tokens": FIGURE_ONE,
    "two tokens, lambda 1e-3": replace(FIGURE_ONE, lambda_=1e-3),
    "two tokens, narrow": replace(FIGURE_ONE, width=0.5),
    "fitted branch": replace(FIGURE_ONE, lambda_=1e-3, sample_minimum=SampleMinimum.FITTED),
    "three tokens": replace(FIGURE_ONE, tokens=3),
    "three tokens, lambda 1e-3": replace(FIGURE_ONE, lambda_=1e-3, tokens=3),
    "general matrix": replace(FIGURE_ONE, parametrisation=Parametrisation.GENERAL),
    "quadratic network": replace(FIGURE_ONE, model="quadratic_network"),
    "cross attention": replace(
        FIGURE_ONE,
        model="cross_attention",
        target=singular_values((2.0, 1.0, 0.5), (0.25, 0.25, 0.5)),
    ),
}
ENGINES: dict[str, Callable[[], Engine]] = {"processes": Processes, "dask": local_workers}
ROUNDS = 4


def costs() -> None:
    print(f"{'kind':26} {'s a point':>9} {'model':>7} {'ratio':>6}")
    for name, problem in KINDS.items():
        learning_curve(problem, ALPHAS[:1])
        started = time.perf_counter()
        learning_curve(problem, ALPHAS)
        took = (time.perf_counter() - started) / len(ALPHAS)
        print(
            f"{name:26} {took:9.3f} {seconds_of_point(problem):7.2f} "
            f"{took / seconds_of_point(problem):6.2f}",
            flush=True,
        )


def nothing(_: int) -> int:
    return 0


def run_all(engine: Engine, tasks: list[Task]) -> list[Outcome]:
    engine.submit(tasks)
    return list(engine.finished())


def engines() -> None:
    tasks = [Task(nothing, (k,), 0.0, key=f"nothing-{k}") for k in range(500)]
    print(f"{'engine':12} {'ms a task':>9} {'target':>7} {'ratio':>6}")
    for name, make in ENGINES.items():
        with make() as engine:
            run_all(engine, [Task(nothing, (0,), 0.0, key="first")])
            started = time.perf_counter()
            assert len(run_all(engine, tasks)) == len(tasks)
            took = (time.perf_counter() - started) / len(tasks) * 1e3
        print(f"{name:12} {took:9.2f} {20:7.1f} {took / 20:6.3f}", flush=True)


def points() -> None:
    varied = {
        "alpha": np.geomspace(0.1, 4, 25),
        "lambda_": np.geomspace(0.01, 0.3, 8),
        "noise": np.linspace(0.2, 1, 5),
    }
    took = {}
    for workers in (1, 2):
        started = time.perf_counter()
        sweep(FIGURE_ONE, varied, engine=Processes(workers), progress=False)
        took[workers] = time.perf_counter() - started
        print(
            f"1000 points, {workers} workers: {took[workers]:.0f} s ({took[workers] / 240:.2f} of "
            "the target)",
            flush=True,
        )
    print(f"one worker over two: {took[1] / took[2]:.2f} (target 1.9)")


def training() -> None:
    decays = np.geomspace(0.02, 0.3, 12).tolist()
    axes = axes_of({"lambda_": decays})
    plan = training_plan(
        problems_over(FIGURE_ONE, axes),
        axes,
        TrainingSettings(dims=(60,), runs=8, theory=False),
        {},
    )
    took: dict[str, list[float]] = {"processes": [], "dask": []}
    for turn in range(ROUNDS):
        for name, make in ENGINES.items() if turn % 2 else reversed(ENGINES.items()):
            with make() as engine:
                run_all(engine, [Task(nothing, (0,), 0.0, key="first")])
                started = time.perf_counter()
                assert all(
                    outcome.error is None
                    for outcome in run_all(engine, [block.task for block in plan.blocks])
                )
                took[name].append(time.perf_counter() - started)
    pairs = [one / other for one, other in zip(took["processes"], took["dask"], strict=True)]
    seconds = ", ".join(f"{name} {min(values):.1f} s" for name, values in took.items())
    print(
        f"{plan.points} heads of d = 60: {seconds}; throughput of dask over that of processes, "
        f"median of {ROUNDS}: "
        f"{median(pairs):.3f} (target .95)",
        flush=True,
    )


if __name__ == "__main__":
    for part in (costs, engines, points, training):
        if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
            part()
