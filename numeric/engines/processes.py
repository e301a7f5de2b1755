"""Processes of this machine, one thread each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from ctypes import c_bool
from heapq import heappop, heappush
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_connection
from types import TracebackType
from typing import Any, NamedTuple, Self

from threadpoolctl import threadpool_limits

from attention_erm.runtime.interrupts import block_sigint, call_on_exit, mark_handled
from attention_erm.runtime.log import current_level, set_level
from numeric.engines.task import EngineFailed, Outcome, Task, run_task

NO_WORKER_STARTED = (
    "no worker process could begin: each imports the script that asks for it; put the call below "
    '`if __name__ == "__main__":`'
)
RETRIES = 2  #: restarts after a worker died: a task that needs too much memory kills every worker


class Processes:
    """Engine of processes on this machine, one per core by default and one alone for the GPU.

    A worker that dies takes its task with it; the task is run again by another worker. Few tasks
    more than there are workers are handed over at a time, so that tasks of high priority that are
    submitted later do not wait for all others.
    """

    _AHEAD = 2  #: tasks handed over per worker: no core waits while the parent is busy

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or cores()
        self._running: dict[str, WorkerProcesses] = {}
        self._waiting: dict[str, list[_Waiting]] = {}  #: a heap for each device
        self._futures: dict[Future[tuple[Any, float]], _Waiting] = {}
        self._submitted = self._deaths = 0

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
        for running in self._running.values():
            running.end(at_once=error is not None)
        self._running.clear()
        self._waiting.clear()
        self._futures.clear()

    def submit(self, tasks: Sequence[Task], priority: int = 0) -> None:
        """Add tasks, see `Engine.submit`."""
        for task in tasks:
            self._submitted += 1
            entry = _Waiting(priority, -task.cost, self._submitted, task)
            heappush(self._waiting.setdefault(task.device, []), entry)

    def finished(self) -> Iterator[Outcome]:
        """Yield outcomes as they come, see `Engine.finished`."""
        while self._futures or any(self._waiting.values()):
            for device in self._waiting:
                self._hand_over(device)
            future = next(iter(wait(self._futures, return_when=FIRST_COMPLETED).done))
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                self._restart(self._futures[future].task.device)
                continue
            result, seconds = (None, 0.0) if error else future.result()
            yield Outcome(self._futures.pop(future).task, result, error, seconds)

    def _hand_over(self, device: str) -> None:
        """Give the first waiting tasks to the workers of a device."""
        waiting = self._waiting[device]
        workers = 1 if device == "cuda" else self._workers
        busy = sum(entry.task.device == device for entry in self._futures.values())
        if waiting and device not in self._running:
            functions = [entry.task.function for entry in waiting]
            self._running[device] = WorkerProcesses(workers, functions)
        for _ in range(min(self._AHEAD * workers - busy, len(waiting))):
            entry = heappop(waiting)
            try:
                future = self._running[device].submit(
                    run_task, entry.task.function, entry.task.arguments
                )
            except BrokenProcessPool as error:  # a worker died after the last outcome
                future = Future()
                future.set_exception(error)
            self._futures[future] = entry

    def _restart(self, device: str) -> None:
        """Replace the workers of a device, one of which died, and queue their tasks again."""
        running = self._running.pop(device)
        if not running.began():
            raise EngineFailed(f"{NO_WORKER_STARTED}, or use ThisProcess")
        cause = running.cause_of_death()
        lost = [
            future
            for future, entry in self._futures.items()
            if entry.task.device == device and isinstance(future.exception(), BrokenProcessPool)
        ]
        self._deaths += 1
        if self._deaths > RETRIES:
            near = self._futures[lost[0]].task
            raise EngineFailed(
                f"worker processes died {self._deaths} times, the last one "
                f"near {near.label or near.key}, {cause}"
            )
        for future in lost:
            heappush(self._waiting[device], self._futures.pop(future))


class _Waiting(NamedTuple):
    """A task with what orders it: priority, cost, order of submission."""

    priority: int
    minus_cost: float
    number: int
    task: Task


class WorkerProcesses:
    """A pool of processes that call `functions`; none outlives the process that started it.

    They are forks of a server that has imported the modules of the functions and has never started
    a thread: a fork of this process could deadlock on the threads of a library, and a new process
    would take seconds to import the same modules.
    """

    def __init__(
        self,
        workers: int,
        functions: Sequence[Callable[..., Any]],
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
            workers, context, _begin, (ended, self._begun, current_level())
        )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a call and return its future."""
        return self._executor.submit(function, *arguments)

    def began(self) -> bool:
        """Return whether any of the processes has come as far as to take work."""
        return bool(self._begun.value)

    def cause_of_death(self) -> str:
        """Describe how the process that broke the pool ended. The executor ends the others by
        SIGTERM.
        """
        processes = list(self._executor._processes.values())
        self._open.close()  # the executor overlooks one that is just beginning
        # which asks them for their exit codes, as two threads may not at the same time
        self._executor.shutdown()
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
    """End a process that comes to ask for workers while it begins as one: it imports a script
    without a main guard.

    In silence, as the process that waits for it says what to do; a traceback of each worker would
    come before that.
    """
    if getattr(
        multiprocessing.current_process(), "_inheriting", False
    ):  # as multiprocessing itself asks, and refuses
        raise SystemExit(1)


def _ended_by(code: int) -> str:
    """Describe how a process with this exit code ended."""
    if code == -signal.SIGKILL:
        return "killed, most likely out of memory: use fewer workers or smaller sizes"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _kill_server() -> None:
    """A server that is still importing would fork workers for whom nobody waits; the next pool
    starts another.
    """
    server: Any = forkserver._forkserver  # which nothing public ends
    if server._forkserver_pid is not None:
        os.kill(server._forkserver_pid, signal.SIGKILL)
        os.waitid(
            os.P_PID, server._forkserver_pid, os.WEXITED | os.WNOWAIT
        )  # or the next pool would take it for alive


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def use_one_thread() -> None:
    """Limit this process to one thread, libraries that are loaded later included.

    Two workers with two threads each run at a third of their speed on two cores.
    """
    threadpool_limits(1)
    os.environ |= {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if torch := sys.modules.get("torch"):  # its threads are not limited by the line above
        torch.set_num_threads(1)


def _begin(ended: Connection, begun: c_bool, level: str) -> None:
    set_level(level)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # an interrupt is the parent's to answer, in one line
    use_one_thread()
    threading.Thread(target=_end_with, args=(ended,), daemon=True).start()
    begun.value = True


def _end_with(ended: Connection) -> None:
    # A parent that was killed closes no queue that its workers wait on, but its end of this pipe:
    # without it they would wait for ever.
    wait_for_connection([ended])
    os._exit(0)
