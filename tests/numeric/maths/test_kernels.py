"""Compiled kernels: once on disk, no other process compiles them again; who waits for them long is
told.
"""

import errno
import importlib.util
import multiprocessing
import subprocess
import sys
import time
from collections import namedtuple
from threading import Timer
from types import ModuleType

import pytest
from filelock import FileLock

from attention_erm.runtime.log import set_level
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
rule = np.polynomial.legendre.leggauss(subordination.NODES)
residues.from_gap(0.3, 3.0, *few.arrays, few.sums_over_others, *rule)
solve(Problem(1.0, few, 0.1, 0.5)), solve(Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5, tokens=3))
for module in (pair_average, marchenko_pastur_root, residues, subordination, sequence_average):
    for name, value in vars(module).items():
        if hasattr(value, "stats") and value.stats.cache_path:
            print(*(f"{module.__name__}.{name}" for _ in value.stats.cache_misses))
"""


@pytest.mark.slow
def test_a_second_process_finds_every_kernel_in_the_cache():
    """A kernel that closed over another never was: each process took ten seconds more for any list
    of eigenvalues.
    """
    for _ in range(2):
        missed = subprocess.run(
            [sys.executable, "-c", SOLVES], capture_output=True, text=True, check=True
        ).stdout
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


def test_kernels_are_counted_where_their_index_can_be_read(first):
    kernel = first()
    assert kernel((1.0, 2.0)) == 1.0 and kernel._cache.compiled() == 1
    for index in kernel._cache.folder.glob("*.nbi"):
        index.write_bytes(index.read_bytes()[:-9])
    assert kernel._cache.compiled() == 0


@pytest.mark.parametrize("patience, lines", [(0.0, 1), (60.0, 0)])
def test_long_compilation_is_told_once_and_a_warm_cache_is_silent(
    first, monkeypatch, capsys, patience, lines
):
    set_level("info")
    monkeypatch.setattr(kernels, "PATIENCE", patience)
    monkeypatch.setattr(kernels, "_notice", kernels.CompilationNotice())
    for pair in ((1.0, 2.0), (1, 2)):  # each is compiled
        first()(pair)
    told = capsys.readouterr()
    assert told.err.count("\n") == told.err.count("compiling first") == lines
    assert told.out == ""
    monkeypatch.setattr(kernels, "_notice", kernels.CompilationNotice())
    first()((1.0, 2.0))
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.fixture
def unkept(monkeypatch):
    """Nothing was said so far of kernels that are not kept, which is said once."""
    monkeypatch.setattr(kernels, "_notice", kernels.CompilationNotice())


def test_where_no_folder_can_be_written_to_a_kernel_works_and_a_line_says_so(
    first, unkept, monkeypatch, caplog
):
    """A read-only installation of somebody without a home folder: it was a traceback of numba's."""
    monkeypatch.setattr(kernels.FunctionCache._impl_class, "_locator_classes", [])
    for _ in range(2):
        kernel = first()
        assert kernel((3, 4)) == 3 and kernel._cache.compiled() == 0
    said = [message for message in caplog.messages if "kernels are not cached" in message]
    assert len(said) == 1 and "set NUMBA_CACHE_DIR" in said[0]


def test_a_full_disk_keeps_no_kernel_and_ends_no_command(first, unkept, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(kernels.FunctionCache, "_save_overload", full)
        assert first()((3, 4)) == 3
    assert "No space left on device" in caplog.text
    kernel = first()
    assert kernel((3, 4)) == 3 and kernel.stats.cache_misses


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_kernel_cut_at_any_byte_is_compiled_again(first, tmp_path, suffix):
    """Every later command ended in an EOFError before."""
    assert first()((3, 4)) == 3
    (path,) = tmp_path.rglob(f"*.{suffix}")
    whole = path.read_bytes()
    for length in range(0, len(whole), len(whole) // 8):
        path.write_bytes(whole[:length])
        assert first()((3, 4)) == 3
    kernel = first()
    assert kernel((3, 4)) == 3 and kernel.stats.cache_hits


def test_what_another_process_compiles_is_awaited(first, tmp_path):
    """Each worker of a sweep in a fresh checkout compiled every kernel for itself."""
    assert first()((3, 4)) == 3
    kernel, compiled = first(), {path: path.read_bytes() for path in tmp_path.rglob("*.nb[ci]")}
    for path in compiled:
        path.unlink()
    other = FileLock(kernel._cache.folder / ".first.first.lock", thread_local=False)
    other.acquire()
    finished = [Timer(0.1, path.write_bytes, (content,)) for path, content in compiled.items()]
    for timer in [*finished, Timer(0.3, other.release)]:
        timer.start()
    assert kernel((3, 4)) == 3 and kernel.stats.cache_hits and not kernel.stats.cache_misses
    assert kernel._cache._lock is None


def test_another_process_that_was_stopped_is_not_awaited_for_ever(first, monkeypatch):
    monkeypatch.setattr(kernels, "LONGEST", 0.1)
    kernel = first()
    with FileLock(kernel._cache.folder / ".first.first.lock"):
        assert kernel((3, 4)) == 3 and kernel.stats.cache_misses


def test_a_kernel_that_is_compiled_is_left_to_others(first):
    kernel = first()
    assert kernel((3, 4)) == 3 and kernel((3.0, 4.0)) == 3
    assert kernel.stats.cache_misses and kernel._cache._lock is None
    with FileLock(kernel._cache.folder / ".first.first.lock", timeout=0):
        pass


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("before", [(), ((3, 4),)], ids=["loaded", "called"])
def test_a_fork_compiles_too(first, before):
    """Workers are forks of what has loaded their kernels: the main job ended in a line in a fresh
    checkout.
    """
    kernel = first()
    for pair in before:
        kernel(pair)
    child = multiprocessing.get_context("fork").Process(target=kernel, args=((3.0, 4.0),))
    child.start()
    child.join()
    assert child.exitcode == 0


def halved(x):
    return x / 2


def test_functions_of_its_module_that_a_kernel_calls_are_kernels():
    """As the elementary functions are that generated code defines; from Python it is the function
    itself all the same.
    """
    twice = kernels.inner(lambda x: halved(x) + halved(x))
    assert kernels.entry(lambda x: twice(x))(3.0) == 3.0
    assert twice.py_func.__globals__ is globals() and twice(3.0) == 3.0


def test_kernels_that_python_calls_let_other_threads_run():
    """Else the threads of `over_blocks` would take turns."""
    assert kernels.entry(lambda x: x).targetoptions["nogil"]


@pytest.mark.parametrize(
    ("threads", "blocks"), [(1, 5), (1, 0), (3, 2), (3, 100), (2, 16), (2, 17)]
)
def test_every_block_is_worked_on_once_in_shares_that_balance(threads, blocks, monkeypatch):
    """One thread takes all at once; several take the next few when they are done, so that none
    waits long.
    """
    monkeypatch.setattr(kernels, "cores", lambda: threads)
    done = []
    kernels.over_blocks(lambda first, last: done.append(range(first, last)), blocks)
    assert sorted(block for part in done for block in part) == list(range(blocks))
    if threads == 1:
        assert len(done) == 1
    else:
        largest = max(map(len, done))
        assert len(done) >= min(blocks, 4 * threads) and largest - min(map(len, done)) <= 1


def test_an_error_of_a_block_ends_the_others():
    done = []

    def failing(first, _):
        done.append(first)
        raise ValueError("no such block")

    with pytest.raises(ValueError, match="no such block"):
        kernels.over_blocks(failing, 1000)
    assert len(done) <= kernels.cores()


def test_cores_are_as_many_as_one_says_or_may_use(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert kernels.cores() == 3
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    monkeypatch.setattr(
        kernels.os, "sched_getaffinity", lambda process: {0, 1} if process == 0 else set()
    )
    assert kernels.cores() == 2


def test_patience_is_that_of_all_compilations_together(monkeypatch, caplog):
    """Three of .9 s each in two seconds of patience: the third is told once .2 s of it have
    passed.
    """
    now, waits = [0.0], []
    monkeypatch.setattr(kernels.time, "monotonic", lambda: now[0])

    def timer(seconds, tell, told):
        waits.append(seconds)
        return type("Timer", (), {"start": lambda _: None, "cancel": lambda _: None})()

    monkeypatch.setattr(kernels, "Timer", timer)
    waiting = kernels.CompilationNotice()
    for _ in range(4):
        waiting.begin("numeric.laws.some")
        now[0] += 0.9
        waiting.end()
    assert waits == pytest.approx([2.0, 1.1, 0.2, 0.0])
    for _ in range(2):
        waiting.report("laws.some")
        waiting.warn_not_cached("the disk is full")
    assert [record.message.split(",")[0] for record in caplog.records] == [
        "numeric: compiling laws.some and its dependencies",
        "numeric: compiled kernels are not cached",
    ]


def test_a_digest_is_of_all_sources():
    modules = [kernels, pytest]
    assert kernels.digest(kernels) != kernels.digest(*modules) != kernels.digest(pytest)
