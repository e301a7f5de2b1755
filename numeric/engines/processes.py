"""Processes of this machine, one thread each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from ctypes import c_bool
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Self

from threadpoolctl import threadpool_limits

from attention_erm.runtime.interrupts import block_sigint, call_on_exit, mark_handled
from attention_erm.runtime.log import current_level, set_level
from numeric.engines.task import EngineFailed, Outcome, Task

#: Said where none of the processes of a pool began to take work.
NO_WORKER_STARTED = (
    "no worker process could begin: each imports the script that asks for it; put the call below "
    '`if __name__ == "__main__":`'
)
RETRIES = 2  #: of tasks whose worker died: one that asks for too much memory kills each worker that takes it


class Processes:
    """One worker per core by default. A worker that dies takes its task with it, which others carry out."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or cores()
        self._running: WorkerProcesses | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            mark_handled()
        if self._running is not None:
            self._running.end(at_once=error is not None)

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """As `Engine.outcomes`."""
        left, cause = {task.key: task for task in sorted(tasks, key=lambda task: -task.cost)}, ""
        for _ in range(1 + RETRIES):
            try:
                for outcome in self._pass(list(left.values())):
                    del left[outcome.task.key]
                    yield outcome
            except BrokenProcessPool:
                assert self._running is not None  # it broke
                if not self._running.began():
                    raise EngineFailed(
                        f"{NO_WORKER_STARTED}, or use the engine ThisProcess"
                    ) from None
                cause, self._running = self._running.cause_of_death(), None
            if not left:
                return
        raise EngineFailed(f"worker processes died {1 + RETRIES} times, the last one {cause}")

    def _pass(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Outcomes until all tasks are done or a worker dies, which raises BrokenProcessPool."""
        if self._running is None:
            self._running = WorkerProcesses(self._workers, [task.function for task in tasks])
        submit = self._running.submit
        futures: dict[Future[Any], Task] = {
            submit(task.function, *task.arguments): task for task in tasks
        }
        for future in as_completed(futures):
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                raise error
            yield Outcome(futures[future], None if error else future.result(), error)


class WorkerProcesses:
    """A pool of processes that call `functions`, each process after `prepare`; none outlives the process that started it.

    They are forks of a server that has imported what they need once and has never used a thread. A fork of this process could deadlock
    on those of a library; processes of their own would each take seconds to import the same.
    """

    def __init__(
        self,
        workers: int,
        functions: Sequence[Callable[..., Any]],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(sorted({function.__module__ for function in functions}))
        with block_sigint():
            forkserver.ensure_running()
        ended, self._open = context.Pipe(duplex=False)  # closing our end tells every worker
        self._begun = context.RawValue(
            c_bool, False
        )  # without a lock, which a worker that is killed may hold
        call_on_exit(_kill_server)
        self._executor = ProcessPoolExecutor(
            workers, context, _begin, (ended, self._begun, current_level(), prepare)
        )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """As an executor does."""
        return self._executor.submit(function, *arguments)

    def began(self) -> bool:
        """Whether any of the processes has come as far as to take work."""
        return bool(self._begun.value)

    def cause_of_death(self) -> str:
        """What ended the process that broke the pool, in words; the executor ends the others by SIGTERM."""
        processes = list(self._executor._processes.values())
        self._open.close()  # the executor overlooks one that is just beginning
        self._executor.shutdown()  # which asks them for their exit codes, as two threads may not at the same time
        codes = {code for process in processes if (code := process.exitcode)}
        return _ended_by(min(codes - {-signal.SIGTERM}, default=-signal.SIGTERM))

    def end(self, at_once: bool) -> None:
        """Wait for what has begun, or end it `at_once`; what has not begun is not done."""
        if at_once:
            _kill_server()
            self._open.close()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._open.close()


def exit_if_imported_by_worker() -> None:
    """End a process that comes to ask for workers while it begins as one: it imports a script without a main guard.

    In silence, as the process that waits for it says what to do; a traceback of each worker would come before that.
    """
    if getattr(
        multiprocessing.current_process(), "_inheriting", False
    ):  # as multiprocessing itself asks, and refuses
        raise SystemExit(1)


def _ended_by(code: int) -> str:
    """In words, after the process that had this exit code."""
    if code == -signal.SIGKILL:
        return "killed, most likely out of memory: use fewer workers or smaller sizes"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _kill_server() -> None:
    """A server that is still importing would fork workers for whom nobody waits; the next pool starts another."""
    server: Any = forkserver._forkserver  # which nothing public ends
    if server._forkserver_pid is not None:
        os.kill(server._forkserver_pid, signal.SIGKILL)
        os.waitid(
            os.P_PID, server._forkserver_pid, os.WEXITED | os.WNOWAIT
        )  # or the next pool would take it for alive


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0))


def use_one_thread() -> None:
    """Limit this process to one thread: two workers with two threads each run at a third of their speed."""
    threadpool_limits(1)
    os.environ["NUMBA_NUM_THREADS"] = "1"


def _begin(
    ended: Connection, begun: c_bool, level: str, prepare: Callable[[], None] | None
) -> None:
    set_level(level)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # an interrupt is the parent's to answer, in one line
    use_one_thread()
    if prepare is not None:
        prepare()
    threading.Thread(target=_end_with, args=(ended,), daemon=True).start()
    begun.value = True


def _end_with(ended: Connection) -> None:
    # A parent that was killed closes no queue that its workers wait on, but its end of this pipe: without it they would wait for ever.
    wait([ended])
    os._exit(0)
