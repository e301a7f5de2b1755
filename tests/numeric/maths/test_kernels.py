"""Compiled kernels: once on disk, no other process compiles them again; who waits for them long is told."""

import importlib.util
import subprocess
import sys
import time
from collections import namedtuple
from types import ModuleType

import pytest

from attention_erm.commandline.log import set_level
from numeric.maths import kernels

SOLVES = """
import numpy as np
from numeric.channel.softmax import pair_average
from numeric.laws import marchenko_pastur_root
from numeric.laws import residues
from numeric.laws import subordination
from numeric.channel.softmax import sequence_average
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
few = Eigenvalues((0.0, 1.0, 5.0), (0.9, 0.09, 0.01))
few.outliers(0.3), few.density(0.3, np.array([1.0]))
residues.from_gap(0.3, 3.0, *few.arrays, few.sums_over_others, *np.polynomial.legendre.leggauss(subordination.NODES))
solve(Problem(1.0, few, 0.1, 0.5)), solve(Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5, tokens=3))
for module in (pair_average, marchenko_pastur_root, residues, subordination, sequence_average):
    for name, value in vars(module).items():
        if hasattr(value, "stats") and value.stats.cache_path:
            print(*(f"{module.__name__}.{name}" for _ in value.stats.cache_misses))
"""


@pytest.mark.slow
def test_a_second_process_finds_every_kernel_in_the_cache():
    """A kernel that closed over another never was: each process took ten seconds more for any list of eigenvalues."""
    for _ in range(2):
        missed = subprocess.run([sys.executable, "-c", SOLVES], capture_output=True, text=True, check=True).stdout
    assert missed.split() == []


KERNEL = """
from numeric.maths.kernels import entry

@entry
def first(pair):
    return pair[0]
"""


@pytest.fixture
def first(tmp_path):
    """What loads the first of a pair from its file anew, as another process does."""
    path = tmp_path / "first.py"
    path.write_text(KERNEL)

    def load():
        spec = importlib.util.spec_from_file_location("numeric.first", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.first

    return load


def test_a_cache_with_types_that_have_moved_is_an_empty_one(first, monkeypatch):
    """It was a ModuleNotFoundError, until the user deleted the cache."""
    misses = []
    for home in ("old", "new", "new"):
        with monkeypatch.context() as patch:
            module = ModuleType(home)
            patch.setitem(sys.modules, home, module)
            module.Pair = namedtuple("Pair", "one two", module=home)
            kernel = first()
            assert kernel(module.Pair(1.0, 2.0)) == 1.0
            misses.append(len(kernel.stats.cache_misses))
    assert misses == [1, 1, 0]


@pytest.mark.parametrize("patience, lines", [(0.0, 1), (60.0, 0)])
def test_long_compilation_is_told_once_and_a_warm_cache_is_silent(first, monkeypatch, capsys, patience, lines):
    set_level("info")
    monkeypatch.setattr(kernels, "PATIENCE", patience)
    monkeypatch.setattr(kernels, "_waiting", kernels.Waiting())
    for pair in ((1.0, 2.0), (1, 2)):  # each is compiled
        first()(pair)
    told = capsys.readouterr()
    assert told.err.count("\n") == told.err.count("compiling first") == lines
    assert told.out == ""
    monkeypatch.setattr(kernels, "_waiting", kernels.Waiting())
    first()((1.0, 2.0))
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_a_cache_cut_short_is_made_anew(first, tmp_path):
    """Every later command ended in an EOFError before."""
    assert first()((1.0, 2.0)) == 1.0
    files = list(tmp_path.rglob("*.nb?"))
    assert len(files) == 2
    for path in files:
        path.write_bytes(path.read_bytes()[:10])
        assert first()((1.0, 2.0)) == 1.0
