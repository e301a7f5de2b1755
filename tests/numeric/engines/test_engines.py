"""Engines give the same outcomes, errors included; digests of code see code and not words."""

import ast
import ctypes
import multiprocessing
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_info

from attention_erm.runtime import progress
from attention_erm.runtime.digests import _cached_source, _canonical_text, _modules, code_digest
from numeric.engines import dask_workers, processes
from numeric.engines.dask_workers import local_workers
from numeric.engines.processes import RETRIES, Processes
from numeric.engines.task import EngineFailed, Task
from numeric.engines.this_process import ThisProcess
from numeric.maths import kernels


def inverse(x):
    return 1 / x


def die(number):
    os.kill(os.getpid(), number)


def append(path, line):
    with path.open("a") as file:
        file.write(f"{line}\n")


def process(_):
    return os.getpid()


def threads(_):
    """Of kernels, and the most of any library's pool."""
    return kernels.cores(), max((pool["num_threads"] for pool in threadpool_info()), default=1)


@pytest.mark.parametrize("make", [ThisProcess, Processes, local_workers])
def test_an_error_is_an_outcome(make):
    """And a worker is a process of its own, whatever starts it: as a thread it would wait for all
    others.
    """
    tasks = [Task(inverse, (x,), float(x), key=f"inverse-{x}") for x in range(5)]
    with make() as engine:
        engine.submit(tasks)
        engine.submit([Task(process, (0,), 5.0, key="process")], priority=1)
        outcomes = [next(engine.finished())]
        engine.submit([Task(threads, (0,), 5.0, key="threads")])
        outcomes += engine.finished()
        assert not list(engine.finished())
    found = {outcome.task.key: outcome for outcome in outcomes}
    assert len(found) == len(outcomes) == 7
    assert found["threads"].result == (1, 1) or make is ThisProcess  # which takes what it may
    assert (found["process"].result == os.getpid()) == (make is ThisProcess)
    assert [found[f"inverse-{x}"].result for x in range(1, 5)] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert isinstance(found["inverse-0"].error, ZeroDivisionError)


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (signal.SIGKILL, "killed, most likely out of memory: use fewer workers"),
        (signal.SIGTERM, "ended by SIGTERM"),
    ],
)
def test_a_task_that_kills_every_worker_ends_in_a_line(number, cause):
    """Whom nobody killed had memory."""
    message = f"worker processes died {1 + RETRIES} times, the last one near .*, {cause}"
    with pytest.raises(EngineFailed, match=message), Processes(2) as engine:
        engine.submit([Task(die, (number,), 0.0), Task(time.sleep, (9,), 0.0)])
        list(engine.finished())


def test_whether_a_worker_began_is_asked_of_no_lock():
    """A worker that was killed while it held that of an Event kept its parent waiting for ever, one
    time in many.
    """
    workers = processes.WorkerProcesses(1, [time.sleep])
    try:
        assert not workers.began()
        workers.submit(time.sleep, 0).result()
        assert workers.began() and isinstance(workers._begun, ctypes.c_bool)
    finally:
        workers.end(at_once=True)


def test_a_worker_that_ended_of_itself_has_an_exit_code():
    assert [processes._ended_by(code) for code in (0, 3)] == [
        "ended with exit code 0",
        "ended with exit code 3",
    ]


def test_who_ends_at_once_ends_what_workers_are_forks_of():
    processes.forkserver.ensure_running()
    server = processes.forkserver._forkserver._forkserver_pid
    processes._kill_server()
    assert (
        os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT | os.WNOHANG).si_status
        == signal.SIGKILL
    )


def touch(path):
    time.sleep(0.3)
    Path(path).touch()


def test_what_has_not_begun_is_not_done(tmp_path):
    """A worker has one task more in hand than it works on, and the executor one for each worker."""
    running = processes.WorkerProcesses(1, [touch])
    for k in range(9):
        running.submit(touch, str(tmp_path / str(k)))
    running.end(at_once=False)
    assert len(list(tmp_path.iterdir())) <= 3


def test_a_bar_over_seconds_counts_in_shares(monkeypatch):
    asked = []
    monkeypatch.setattr(progress, "progress", lambda **options: asked.append(options))
    progress.time_bar("training", 80.0)
    progress.time_bar("training", 80.0, shown=False)
    assert [(one["total"], one["percent"], one["disable"]) for one in asked] == [
        (80.0, True, False),
        (80.0, True, True),
    ]


def test_no_worker_is_left():
    with Processes(2) as engine:
        engine.submit([Task(inverse, (1,), 0.0)])
        list(engine.finished())
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()


class Ended:
    """What takes the place of running workers and says how they were ended."""

    def end(self, at_once):
        self.at_once = at_once


@pytest.mark.parametrize("module", [processes, dask_workers], ids=["processes", "dask"])
def test_an_error_is_answered_for_and_ends_workers_at_once(module, monkeypatch):
    """An interrupt that became the error of a task is answered for, so that the interpreter does
    not end on it once more.
    """
    answers, running = [], Ended()
    monkeypatch.setattr(module, "mark_handled", lambda: answers.append(True))

    def engine():
        if module is dask_workers:
            return dask_workers.DaskWorkers(lambda: "tcp://nowhere")
        made = Processes(1)
        made._running = {"cpu": running}
        return made

    engine().__exit__(None, None, None)
    assert answers == [] and getattr(running, "at_once", False) is False
    engine().__exit__(ValueError, ValueError("lost"), None)
    assert answers == [True] and getattr(running, "at_once", True) is True


def test_the_header_of_a_generated_module_does_not_change_a_digest(tmp_path, monkeypatch):
    """It has the digest of the generator, comments too: each voided all stored lines of the theory
    and every sweep.
    """
    monkeypatch.setattr("attention_erm.runtime.digests.PACKAGES", ("generated",))
    monkeypatch.setattr(
        "attention_erm.runtime.digests.find_spec",
        lambda name: SimpleNamespace(submodule_search_locations=[tmp_path]),
    )
    (tmp_path / "model").mkdir()

    def digest(text):
        (tmp_path / "model" / "float64.py").write_text(text)
        code_digest.cache_clear()
        _modules.cache_clear()
        _cached_source.cache_clear()
        return code_digest("generated")

    first = digest("# generator: 1\n\ndef f(x):\n    # a bound\n    return x\n")
    assert digest("# generator: 2\n\ndef f(x):\n    # the same bound\n    return x\n") == first
    assert digest("# generator: 1\n\ndef f(x):\n    # a bound\n    return 2*x\n") != first
    code_digest.cache_clear()
    _modules.cache_clear()
    _cached_source.cache_clear()


def test_what_newer_versions_of_python_add_to_a_syntax_tree_does_not_change_a_digest():
    """An empty list of type parameters, for one: manifests of models hold digests that another
    version has to find again.
    """
    tree = ast.parse("def f(x):\n    return x\n")
    text = _canonical_text(tree)
    function = tree.body[0]
    function._fields = (*function._fields, "added", "added_list")
    function.added, function.added_list = None, []
    assert _canonical_text(tree) == text and "=[]" not in text and "None" not in text


def test_words_do_not_change_a_digest(tmp_path, monkeypatch):
    monkeypatch.setattr("attention_erm.runtime.digests.PACKAGES", ("some_package",))
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "other.py").write_text("y = 1\n")
    (package / "apart.py").write_text("z = 1\n")

    def digest(file, text):
        (package / file).write_text(text)
        code_digest.cache_clear()
        _modules.cache_clear()
        _cached_source.cache_clear()
        return code_digest("some_package.own")

    own = "def f():\n    from some_package import other\n    return 1\n"
    first = digest("own.py", own)
    assert digest("own.py", f'"""Words."""\n\n{own}  # words\n') == first
    assert digest("own.py", own.replace("1", "2")) != first
    assert digest("own.py", own) == first
    assert digest("apart.py", "z = 2\n") == first
    assert digest("other.py", "y = 2\n") != first  # what it imports, inside a function too


def test_cores_are_those_of_this_process(monkeypatch):
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda process: {0, 1, 2} if process == 0 else set()
    )
    assert processes.cores() == 3


@pytest.mark.parametrize("make", [ThisProcess, lambda: Processes(1)])
def test_tasks_of_low_priority_begin_first_then_the_longest(make, tmp_path):
    costs = [2.0, 5.0, 0.1, 3.0]
    with make() as engine:
        for priority in (1, 0):
            tasks = [Task(append, (tmp_path / "log", f"{priority} {c}"), c) for c in costs]
            engine.submit(tasks, priority)
        list(engine.finished())
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == [f"{p} {cost}" for p in (0, 1) for cost in sorted(costs, reverse=True)]


def die_once(path):
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def test_a_task_whose_worker_was_killed_is_run_again(tmp_path):
    with Processes(2) as engine:
        engine.submit([Task(die_once, (tmp_path / "mark",), 1.0)])
        engine.submit([Task(inverse, (x,), 0.0) for x in range(1, 9)])
        results = [outcome.result for outcome in engine.finished()]
    assert sorted(map(str, results)) == sorted(
        map(str, ["survived", *(1 / x for x in range(1, 9))])
    )


def test_workers_of_dask_are_processes_of_one_thread_one_for_each_core(monkeypatch):
    made = []
    monkeypatch.setattr(dask_workers, "LocalCluster", lambda **options: made.append(options))
    monkeypatch.setattr(dask_workers, "cores", lambda: 5)
    for workers in (3, None):
        local_workers(workers)._connect()
    assert [one["n_workers"] for one in made] == [3, 5]
    assert {(one["threads_per_worker"], one["processes"]) for one in made} == {(1, True)}


def test_jobs_of_a_cluster_are_as_many_as_stated(monkeypatch):
    jobs = []
    cluster = SimpleNamespace(scale=lambda jobs: scaled.append(jobs))
    monkeypatch.setattr(
        dask_workers, "slurm_cluster", lambda settings: jobs.append(settings) or cluster
    )
    scaled = []
    for settings in ({"cores": 8, "jobs": 4}, {"cores": 8}):
        assert dask_workers.slurm_workers(settings)._connect() is cluster
    assert scaled == [4, 1]
