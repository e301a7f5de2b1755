"""Timings of thresholds and learning curves against their targets, as ratios in one run.

Run: python -m benchmarks.curve        (prints a table; needs nothing but the package)
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from numeric.channel import COARSE, average
from numeric.curve import learning_curve
from numeric.problem import Problem
from numeric.saddle import solve
from numeric.thresholds import interpolation

FIGURE_ONE = Problem(alpha=1.0, kappa0=0.5, lambda_=0.01, noise=0.5)


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


THRESHOLD = ("threshold", "interpolation", "--kappa0", "1/2", "--noise", "1", "--digits")
CASES: tuple[tuple[str, Callable[[], object], int, float], ...] = (
    ("threshold, 50 digits, start to exit", lambda: command(*THRESHOLD, "50"), 9, 0.5),
    ("threshold, 1000 digits, start to exit", lambda: command(*THRESHOLD, "1000"), 9, 2.0),
    ("threshold, 1000 digits, after import", lambda: interpolation(Fraction(1, 2), Fraction(1), 2, 1000), 9, 2.0),
    ("channel average, coarse", lambda: average(1.2, 1.3, 0.5, 1.75, 1.0, 1.0, COARSE), 9, 0.05),
    ("one point, cold start", lambda: solve(FIGURE_ONE), 5, 1.0),
    ("curve of 30 points", lambda: learning_curve(FIGURE_ONE, list(np.geomspace(0.05, 4, 30))), 1, 30.0),
)


def main() -> None:
    """Print one line per case."""
    print(f"{'case':40} {'seconds':>9} {'target':>7} {'ratio':>6}")
    for name, work, repeats, target in CASES:
        took = seconds(work, repeats)
        print(f"{name:40} {took:9.4f} {target:7.2f} {took / target:6.3f}")


if __name__ == "__main__":
    main()
