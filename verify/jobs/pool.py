"""Many runs over the cores: stored as they finish, never done twice, failures raised."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, Protocol

import torch
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from verify.jobs.store import AnyResult, Store
from verify.training.measure import execute


class WorkerError(RuntimeError):
    """A run raised, or its process died."""


class Job(Hashable, Protocol):
    """What can be executed: a Run, or what trains on the data of one."""

    @property
    def label(self) -> str:
        """Which it is among those of a job, in words."""

    @property
    def device(self) -> str:
        """Where it trains."""

    @property
    def cost(self) -> float:
        """Multiplications, roughly."""


def execute_all(
    runs: Sequence[Job],
    store: Store[AnyResult],
    *,
    workers: int | None = None,
    progress: bool = True,
    task: Callable[[Any], Any] = execute,
) -> list[AnyResult]:
    """Return the results of `runs`, in their order, executing those that `store` does not hold.

    `workers` is the number of processes, by default one per core, each with one thread; runs on a GPU share one
    process. `task` is what a worker does and must be importable. Raises WorkerError at the first run that fails;
    what had finished is stored.
    """
    done = store.load()
    missing = sorted({run for run in runs if run not in done}, key=lambda run: -run.cost)
    if missing:
        count = 1 if any(run.device == "cuda" for run in missing) else workers or _cores()
        with tqdm(
            total=sum(run.cost for run in missing),
            disable=not progress,
            desc="training",
            bar_format=_BAR,
            mininterval=0.2 if sys.stderr.isatty() else 30,  # a log file gets a line now and then, not a bar that moves
        ) as bar:
            for result in _stream(missing, min(count, len(missing)), task):
                store.append(result)
                done[result.run] = result
                bar.update(result.run.cost)
    return [done[run] for run in runs]


_BAR = "{desc}: {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} left"


def _stream(runs: Sequence[Job], workers: int, task: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield results as they finish, the longest runs started first so that none is left alone at the end."""
    # spawn, not fork: a forked child of a process that has used torch's threads can deadlock
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker)
    try:
        futures: dict[Future[Any], Job] = {pool.submit(task, run): run for run in runs}
        for future in as_completed(futures):
            yield _unwrap(future, futures[future])
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _unwrap(future: Future[Any], run: Job) -> Any:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, BrokenProcessPool):
        raise WorkerError(
            f"a worker process died near {run.label}: most likely out of memory; "
            "use fewer workers or a smaller --dim, finished runs are kept"
        ) from error
    raise WorkerError(f"run {run.label} failed: {error}") from error


def use_one_thread() -> None:
    """Limit this process to one thread, as every worker is: SciPy's L-BFGS-B brings a BLAS of its own beside torch's.

    Two workers with two threads each run at a third of their speed.
    """
    torch.set_num_threads(1)
    threadpool_limits(1)


def _prepare_worker() -> None:
    """One thread per process, and no process that outlives the job."""
    use_one_thread()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    # A killed parent closes no queue that its workers wait on: without this they would wait for ever.
    wait([sentinel])
    os._exit(1)


def _cores() -> int:
    return len(os.sched_getaffinity(0))
