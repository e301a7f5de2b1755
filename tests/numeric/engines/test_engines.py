"""Engines give the same outcomes, errors included; digests of code see code and not words."""

import multiprocessing
import os
import signal
from types import SimpleNamespace

import pytest

from attention_erm.code import _modules, code_digest
from numeric.engines.dask_workers import local_workers
from numeric.engines.processes import RETRIES, Processes
from numeric.engines.task import EngineFailed, Task
from numeric.engines.this_process import ThisProcess


def inverse(x):
    return 1 / x


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def process(_):
    return os.getpid()


@pytest.mark.parametrize("make", [ThisProcess, Processes, local_workers])
def test_an_error_is_an_outcome(make):
    """And a worker is a process of its own, whatever starts it: as a thread it would wait for all others."""
    tasks = [Task(f"inverse-{x}", inverse, (x,), float(x)) for x in range(5)]
    with make() as engine:
        found = {
            outcome.task.key: outcome for outcome in engine.outcomes([*tasks, Task("process", process, (0,), 5.0)])
        }
    assert (found["process"].result == os.getpid()) == (make is ThisProcess)
    assert [found[f"inverse-{x}"].result for x in range(1, 5)] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert isinstance(found["inverse-0"].error, ZeroDivisionError)


def test_a_task_that_kills_every_worker_ends_in_a_line():
    with pytest.raises(EngineFailed, match=f"died {1 + RETRIES} times"), Processes(1) as engine:
        list(engine.outcomes([Task("die", die, (0,), 0.0)]))


@pytest.mark.parametrize("engine", [Processes(1), local_workers(1)], ids=["processes", "dask"])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt()])
def test_an_engine_that_an_interrupt_ends_has_answered_it(engine, error, monkeypatch):
    """Else it is raised again, in the middle of the ending; one that comes while nothing ends is left to whom it concerns."""
    answers = []
    monkeypatch.setattr(f"{type(engine).__module__}.answered", lambda: answers.append(True))
    engine.__exit__(error and KeyboardInterrupt, error, None)
    assert bool(answers) == (error is not None)


def test_no_worker_is_left():
    with Processes(2) as engine:
        list(engine.outcomes([Task("one", inverse, (1,), 0.0)]))
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()


def test_the_header_of_a_generated_module_does_not_change_a_digest(tmp_path, monkeypatch):
    """It has the digest of the generator, comments too: each voided all stored lines of the theory and every sweep."""
    monkeypatch.setattr("attention_erm.code.OWN", ("generated",))
    monkeypatch.setattr(
        "attention_erm.code.find_spec", lambda name: SimpleNamespace(submodule_search_locations=[tmp_path])
    )
    (tmp_path / "model").mkdir()

    def digest(text):
        (tmp_path / "model" / "float64.py").write_text(text)
        code_digest.cache_clear()
        _modules.cache_clear()
        return code_digest("generated")

    first = digest("# generator: 1\n\ndef f(x):\n    # a bound\n    return x\n")
    assert digest("# generator: 2\n\ndef f(x):\n    # the same bound\n    return x\n") == first
    assert digest("# generator: 1\n\ndef f(x):\n    # a bound\n    return 2*x\n") != first
    code_digest.cache_clear()
    _modules.cache_clear()


def test_words_do_not_change_a_digest(tmp_path, monkeypatch):
    monkeypatch.setattr("attention_erm.code.OWN", ("some_package",))
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "other.py").write_text("y = 1\n")
    (package / "apart.py").write_text("z = 1\n")

    def digest(file, text):
        (package / file).write_text(text)
        code_digest.cache_clear()
        _modules.cache_clear()
        return code_digest("some_package.own")

    own = "def f():\n    from some_package import other\n    return 1\n"
    first = digest("own.py", own)
    assert digest("own.py", f'"""Words."""\n\n{own}  # words\n') == first
    assert digest("own.py", own.replace("1", "2")) != first
    assert digest("own.py", own) == first
    assert digest("apart.py", "z = 2\n") == first
    assert digest("other.py", "y = 2\n") != first  # what it imports, inside a function too
