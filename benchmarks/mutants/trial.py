"""One mutation tried: whether one of the tests that run its line fails."""

from __future__ import annotations

import enum
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

MEMORY = 12 * 2**30  #: bytes of address space; a loop that never ends may take more and more
CHECK = 600.0  #: seconds that this may take: some ten times what it takes
PATIENCE = 20.0  #: seconds on top of ten times what the tests take: kernels are compiled again


class Verdict(enum.StrEnum):
    """What became of a mutation."""

    KILLED = "killed"  #: a test failed, or the module could not be imported
    STUCK = "stuck"  #: tests took ten times as long, which somebody would notice
    SURVIVED = "survived"
    NOTICED_SINCE = "noticed since"  #: it survived the survey, and a test written since fails


def tried(tree: Path, file: str, mutated: bytes, tests: Sequence[str], seconds: float) -> Verdict:
    """Run `tests` of `tree` with one file `mutated`; they take about `seconds` otherwise.

    In a fork of this process, which has imported the libraries and nothing of the tree.
    """
    with _replaced(tree / file, mutated):
        child = os.fork()
        if child == 0:
            _run(tree, tests)
        return _awaited(child, time.monotonic() + 10 * seconds + PATIENCE)


def proven(tree: Path, file: str, mutated: bytes) -> bool:
    """Whether generated code is still what `derive` generates and proves with one file `mutated`, as `derive check` asks."""
    with _replaced(tree / file, mutated):
        check = [sys.executable, str(Path(__file__).with_name("regenerated.py"))]
        environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(check, cwd=tree, env=environment, capture_output=True, timeout=CHECK, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


@contextmanager
def _replaced(path: Path, content: bytes) -> Iterator[None]:
    """Another content of a file; its compiled form, told apart by time and size alone, is removed."""
    kept, stamp = path.read_bytes(), path.stat()
    compiled = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
    compiled.unlink(missing_ok=True)
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(kept)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def _run(tree: Path, tests: Sequence[str]) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(tree)
    os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(tree), str(tree / "tests")]
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    code = 1
    try:
        code = int(
            pytest.main(
                ["-x", "-n0", "-pno:cacheprovider", "-pno:cov", "-o", "addopts=--import-mode=importlib", *tests]
            )
        )
    finally:
        os._exit(code)


def _awaited(child: int, until: float) -> Verdict:
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end(child)
            return Verdict.SURVIVED if status == 0 else Verdict.KILLED
        time.sleep(0.02)
    _end(child)
    os.waitpid(child, 0)
    return Verdict.STUCK


def _end(group: int) -> None:
    """Kill whatever tests have started and left."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
