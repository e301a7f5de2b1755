"""Shared by the benchmarks: median times, printed beside their targets."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Case(NamedTuple):
    """Work, how often it is repeated, and the seconds it should take at most."""

    name: str
    work: Callable[[], object]
    repeats: int
    target: float


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Median time of several runs, the first one (compilation, caches) not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def command(*arguments: str) -> None:
    """A whole process, from start to exit."""
    subprocess.run([sys.executable, "-m", "numeric", *arguments], check=True, capture_output=True)


def report(cases: Iterable[Case]) -> None:
    """Print one line per case."""
    print(f"{'case':58} {'seconds':>9} {'target':>7} {'ratio':>6}")
    for case in cases:
        took = seconds(case.work, case.repeats)
        print(
            f"{case.name:58} {took:9.4f} {case.target:7.3f} {took / case.target:6.3f}", flush=True
        )
