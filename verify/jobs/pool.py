"""Jobs over the cores, the longest first: never done twice, stored as they finish, failures raised."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from types import TracebackType
from typing import Any, NamedTuple, Self

import torch
from threadpoolctl import threadpool_limits

from commandline.log import level_set, progress, set_level
from numeric.maths.domain import NoAnswer
from verify.jobs.store import AnyResult, Store
from verify.training.cross_validation import DecaySearch
from verify.training.measure import execute
from verify.training.run import Run
from verify.training.vanishing_decay import NestedRun


class WorkerError(RuntimeError):
    """A job raised, or its process died."""


@dataclass(frozen=True)
class Job:
    """A pure function of hashable arguments: jobs of equal task and arguments are one, whatever else is said of them.

    `task` is what a worker calls and must be importable by name. `stage`: what its time counts as. `cost`: about how many seconds it
    takes on one core, for the order of jobs and the time left alone. `store`: where its result is kept, and looked for first.
    """

    task: Callable[..., Any]
    arguments: tuple[Hashable, ...]
    stage: str = field(compare=False)
    cost: float = field(compare=False)
    label: str = field(compare=False)
    device: str = field(default="cpu", compare=False)
    store: Store[Any] | None = field(default=None, compare=False)


def training_job(
    run: Run | DecaySearch | NestedRun, store: Store[AnyResult], task: Callable[[Any], Any] = execute
) -> Job:
    """The job whose result `store` keeps under `run`."""
    return Job(task, (run,), "training", run.cost, f"run {run.label}", run.device, store)


class Pool:
    """Processes of one thread each, one per core by default and one alone for all that runs on a GPU, started when there is work.

    It remembers every result: what several studies ask for can be asked for together first, so that no core waits for the end of
    one of them. Results do not depend on the number of workers. To be used in a `with` statement, which ends the processes.
    """

    def __init__(self, workers: int | None = None, progress: bool = True) -> None:
        self.seconds: dict[str, float] = {}  #: processor time of the workers, by stage
        self._workers, self._progress = workers or _cores(), progress
        self._known: dict[Job, Any] = {}
        self._executors: dict[str, ProcessPoolExecutor] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for executor in self._executors.values():
            executor.shutdown(wait=True, cancel_futures=True)

    def results(self, jobs: Sequence[Job]) -> list[Any]:
        """Return the results of `jobs`, in their order, carrying out those that neither a store nor this pool knows.

        Raises NoAnswer where the theory has none, WorkerError at the first job that fails otherwise; what had finished is kept.
        """
        self._look_up(jobs)
        missing = sorted({job for job in jobs if job not in self._known}, key=lambda job: -job.cost)
        if missing:
            with self._bar(missing) as bar:
                for job, (result, seconds) in self._stream(missing):
                    if job.store:
                        job.store.append(result)
                    self._known[job] = result
                    self.seconds[job.stage] = self.seconds.get(job.stage, 0.0) + seconds
                    bar.update(min(job.cost, bar.total - bar.n))  # a sum in another order rounds otherwise
        return [self._known[job] for job in jobs]

    def _look_up(self, jobs: Sequence[Job]) -> None:
        """Take what stores hold."""
        for store in {job.store for job in jobs if job.store and job not in self._known}:
            done = store.load()
            kept = (job for job in jobs if job.store is store and job.arguments[0] in done)
            self._known |= {job: done[job.arguments[0]] for job in kept}

    def _bar(self, jobs: Sequence[Job]) -> Any:
        stages = {job.stage for job in jobs}
        return progress(
            total=sum(job.cost for job in jobs),
            disable=not self._progress,
            desc=stages.pop() if len(stages) == 1 else "jobs",
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} left",
            mininterval=0.2 if sys.stderr.isatty() else 30,  # a log file gets a line now and then, not a bar that moves
            smoothing=0,  # the rate so far: that of the last jobs jumps
        )

    def _stream(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, _Timed]]:
        """Yield results as they finish, the longest jobs started first so that none is left alone at the end."""
        futures: dict[Future[_Timed], Job] = {
            self._executor(job.device, jobs).submit(_timed, job.task, job.arguments): job for job in jobs
        }
        try:
            for future in as_completed(futures):
                yield futures[future], _unwrap(future, futures[future])
        finally:
            for future in futures:
                future.cancel()

    def _executor(self, device: str, jobs: Sequence[Job]) -> ProcessPoolExecutor:
        if device not in self._executors:
            count = 1 if device == "cuda" else self._workers
            self._executors[device] = ProcessPoolExecutor(
                count, mp_context=_context(jobs), initializer=_prepare_worker, initargs=(level_set(),)
            )
        return self._executors[device]


def execute_all(
    runs: Sequence[Run] | Sequence[DecaySearch],
    store: Store[AnyResult],
    *,
    workers: int | None = None,
    progress: bool = True,
    task: Callable[[Any], Any] = execute,
) -> list[AnyResult]:
    """Return the results of `runs`, in their order, executing those that `store` does not hold.

    `task` is what a worker does and must be importable. Raises WorkerError at the first run that fails; what had finished is stored.
    """
    with Pool(workers, progress) as pool:
        return pool.results([training_job(run, store, task) for run in runs])


class _Timed(NamedTuple):
    result: Any
    seconds: float


def _timed(task: Callable[..., Any], arguments: tuple[Hashable, ...]) -> _Timed:
    started = time.process_time()
    return _Timed(task(*arguments), time.process_time() - started)


def _unwrap(future: Future[_Timed], job: Job) -> _Timed:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, NoAnswer):
        raise error
    if isinstance(error, BrokenProcessPool):
        raise WorkerError(
            f"a worker process died near {job.label}: most likely out of memory; "
            "use fewer workers or a smaller --dim, finished runs are kept"
        ) from error
    raise WorkerError(f"{job.label} failed: {error}") from error


def _context(jobs: Sequence[Job]) -> BaseContext:
    """Workers are forks of a server that has imported what they need once and has never used a thread of torch's.

    A fork of this process could deadlock on these; processes of their own would each take seconds to import the same.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(sorted({job.task.__module__ for job in jobs}))
    return context


def use_one_thread() -> None:
    """Limit this process to one thread, as every worker is: SciPy's L-BFGS-B brings a BLAS of its own beside torch's.

    Two workers with two threads each run at a third of their speed.
    """
    torch.set_num_threads(1)
    threadpool_limits(1)
    os.environ["NUMBA_NUM_THREADS"] = "1"


def _prepare_worker(level: str) -> None:
    """One thread per process, what it says of this level, and no process that outlives the job."""
    use_one_thread()
    set_level(level)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    # A killed parent closes no queue that its workers wait on: without this they would wait for ever.
    wait([sentinel])
    os._exit(1)


def _cores() -> int:
    return len(os.sched_getaffinity(0))
