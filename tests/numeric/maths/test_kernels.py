"""Compiled kernels: once on disk, no other process compiles them again."""

import subprocess
import sys

SOLVES = """
import numpy as np
from numeric.channel import pair_average
from numeric.laws import marchenko_pastur_root
from numeric.laws import residues
from numeric.laws import subordination
from numeric.channel import sequence_average
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
few = Eigenvalues((0.0, 1.0, 5.0), (0.9, 0.09, 0.01))
few.outliers(0.3), few.density(0.3, np.array([1.0]))
residues.from_gap(0.3, 3.0, *few.arrays, few.sums_over_others, *np.polynomial.legendre.leggauss(subordination.NODES))
solve(Problem(1.0, few, 0.1, 0.5)), solve(Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5, tokens=3))
for module in (quadrature, cubic, residues, subordination, sampling):
    for name, value in vars(module).items():
        if hasattr(value, "stats") and value.stats.cache_path:
            print(*(f"{module.__name__}.{name}" for _ in value.stats.cache_misses))
"""


def test_a_second_process_finds_every_kernel_in_the_cache():
    """A kernel that closed over another never was: each process took ten seconds more for any list of eigenvalues."""
    for _ in range(2):
        missed = subprocess.run([sys.executable, "-c", SOLVES], capture_output=True, text=True, check=True).stdout
    assert missed.split() == []
