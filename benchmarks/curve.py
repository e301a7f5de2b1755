"""Timings of learning curves against their targets, as ratios in one run.

Run: python -m benchmarks.curve        (prints a table; needs nothing but the package)
"""

import numpy as np

from benchmarks.timing import Case, report
from numeric.channel import COARSE, average
from numeric.curve import learning_curve
from numeric.marchenko_pastur import MarchenkoPastur
from numeric.problem import Problem
from numeric.saddle import solve

FIGURE_ONE = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)

CASES = (
    Case("channel average, coarse", lambda: average(1.2, 1.3, 0.5, 1.75, 1.0, 1.0, COARSE), 9, 0.05),
    Case("one point, cold start", lambda: solve(FIGURE_ONE), 5, 1.0),
    Case("curve of 30 points", lambda: learning_curve(FIGURE_ONE, list(np.geomspace(0.05, 4, 30))), 1, 30.0),
)

if __name__ == "__main__":
    report(CASES)
