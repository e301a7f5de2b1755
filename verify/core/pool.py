"""Jobs over the cores, the longest first: never done twice, stored as they finish, failures raised."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import torch
from filelock import FileLock

from attention_erm.commandline.interrupts import answered
from numeric.engines.processes import NONE_BEGAN, WorkerProcesses, cores, end_where_a_worker_imports, use_one_thread
from numeric.engines.progress import seconds_bar
from numeric.maths.domain import NoAnswer
from verify.core.batches.execute import execute_batch
from verify.core.batches.memory import MOST_RUNS
from verify.core.batches.shape import BatchShape, can_be_batched
from verify.core.measure import execute
from verify.core.run import Run
from verify.core.stated_model import require_stated_heads
from verify.core.store import AnyResult, Store

_LOG = logging.getLogger(__name__)


class Trainable(Hashable, Protocol):
    """One training: a run, a search over weight decays, or a run at vanishing weight decay."""

    @property
    def cost(self) -> float:
        """Estimated seconds on one core."""

    @property
    def label(self) -> str:
        """Name in messages."""

    @property
    def device(self) -> str:
        """Device that trains: cpu or cuda."""


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


def training_job(run: Trainable, store: Store[AnyResult], task: Callable[[Any], Any] = execute) -> Job:
    """The job whose result `store` keeps under `run`."""
    return Job(task, (run,), "training", run.cost, f"run {run.label}", run.device, store)


class Pool:
    """Processes of one thread each, one per core by default and one alone for all that runs on a GPU, started when there is work.

    It remembers every result: what several studies ask for can be asked for together first, so that no core waits for the end of
    one of them. Results do not depend on the number of workers. Runs of one shape are trained together on the devices `batched`.
    To be used in a `with` statement, which ends the processes; an interrupt leaves it as a KeyboardInterrupt that says what is kept,
    and what an interrupt leaves that comes later stands in `left`.
    """

    left: ClassVar[str] = ""

    def __init__(self, workers: int | None = None, progress: bool = True, batched: Collection[str] = ("cuda",)) -> None:
        self.seconds: dict[str, float] = {}  #: processor time of the workers, by stage
        self._batched = batched
        self._workers, self._progress = workers or cores(), progress
        self._known: dict[Job, Any] = {}
        self._processes: dict[str, WorkerProcesses] = {}
        self._locks: dict[Path, FileLock] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            answered()
        for processes in self._processes.values():
            processes.end(at_once=error is not None)
        for lock in self._locks.values():
            lock.release()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(self._kept()) from None
        Pool.left = self._kept()

    def _kept(self) -> str:
        """What an interrupt leaves."""
        count = sum(job.store is not None for job in self._known)
        again = " and solves the theory again" if count < len(self._known) else ""
        runs = f"{count} finished {'runs are' if count > 1 else 'run is'} kept"
        return f"{runs}, the same command goes on from there{again}" if count else "no run had finished"

    def results(self, jobs: Sequence[Job]) -> list[Any]:
        """Return the results of `jobs`, in their order, carrying out those that neither a store nor this pool knows.

        Raises InvalidParameter if another process writes a store that has to be written, or heads would be trained on other data than
        the model file states, NoAnswer where the theory has none, WorkerError at the first job that fails otherwise; what had finished
        is kept.
        """
        self._look_up(jobs)
        missing = sorted({job for job in jobs if job not in self._known}, key=lambda job: -job.cost)
        if missing:
            end_where_a_worker_imports()  # before it finds a store in use
            if any(job.store and job.stage == "training" for job in missing):
                require_stated_heads()
            self._lock(jobs)
            with seconds_bar(_title(missing), sum(job.cost for job in missing), self._progress) as bar:
                for job, (result, seconds) in self._stream(missing):
                    if job.store:
                        job.store.append(result)
                    self._known[job] = result
                    self.seconds[job.stage] = self.seconds.get(job.stage, 0.0) + seconds
                    bar.update(min(job.cost, bar.total - bar.n))  # a sum in another order rounds otherwise
        return [self._known[job] for job in jobs]

    def _lock(self, jobs: Sequence[Job]) -> None:
        """Keep other processes from the same work, until this pool ends."""
        for job in jobs:
            if job.store and job.store.path not in self._locks:
                self._locks[job.store.path] = job.store.lock()

    def _look_up(self, jobs: Sequence[Job]) -> None:
        """Take what stores hold."""
        for store in {job.store for job in jobs if job.store and job not in self._known}:
            asked = {job: job.arguments[0] for job in jobs if job.store is store}
            done = store.load(set(asked.values()))
            if done:
                count = len(set(asked.values()))
                rest = "nothing is made" if len(done) == count else "the others are made"
                _LOG.info("%s: %d of %d runs found, %s", store.path, len(done), count, rest)
            self._known |= {job: done[run] for job, run in asked.items() if run in done}

    def _stream(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, _Timed]]:
        """Yield results as they finish, the longest jobs started first so that none is left alone at the end."""
        futures = {self._submit(group, jobs): group for group in self._grouped(jobs)}
        for future in as_completed(futures):
            workers = self._workers_of(futures[future][0].device, jobs)
            yield from zip(futures[future], _unwrap(future, futures[future], workers), strict=True)

    def _grouped(self, jobs: Sequence[Job]) -> list[list[Job]]:
        """Jobs that are done together: runs of one shape on a device of batches, and each other one alone."""
        groups: dict[Hashable, list[list[Job]]] = {}
        for job in jobs:
            run = self._batched_run(job)
            parts = groups.setdefault(BatchShape.of(run) if run else job, [[]])
            if len(parts[-1]) == MOST_RUNS:
                parts.append([])
            parts[-1].append(job)
        return [part for parts in groups.values() for part in parts]

    def _submit(self, group: Sequence[Job], jobs: Sequence[Job]) -> Future[list[_Timed]]:
        workers = self._workers_of(group[0].device, jobs)
        if runs := [run for job in group if (run := self._batched_run(job))]:
            return workers.submit(_timed_batch, runs)
        return workers.submit(_timed, group[0].task, group[0].arguments)

    def _batched_run(self, job: Job) -> Run | None:
        """The run of a job that is trained with others of its shape, or alone if there are none."""
        if job.task is not execute or job.device not in self._batched:
            return None
        (run,) = job.arguments
        return run if isinstance(run, Run) and can_be_batched(run) else None

    def _workers_of(self, device: str, jobs: Sequence[Job]) -> WorkerProcesses:
        if device not in self._processes:
            count = 1 if device == "cuda" else self._workers
            self._processes[device] = WorkerProcesses(count, [job.task for job in jobs], limit_threads)
        return self._processes[device]


def execute_all(
    runs: Sequence[Trainable],
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


def _timed(task: Callable[..., Any], arguments: tuple[Hashable, ...]) -> list[_Timed]:
    started = time.process_time()
    return [_Timed(task(*arguments), time.process_time() - started)]


def _timed_batch(runs: Sequence[Run]) -> list[_Timed]:
    """Of each run its result and its share of the time."""
    started = time.process_time()
    results = execute_batch(runs)
    return [_Timed(result, (time.process_time() - started) / len(runs)) for result in results]


def _unwrap(future: Future[list[_Timed]], group: Sequence[Job], workers: WorkerProcesses) -> list[_Timed]:
    error, label = future.exception(), group[0].label
    if len(group) > 1:
        label += f" or one of the {len(group) - 1} trained with it"
    if error is None:
        return future.result()
    if isinstance(error, NoAnswer):
        raise error
    if isinstance(error, BrokenProcessPool) and not workers.began():
        raise WorkerError(NONE_BEGAN) from None
    if isinstance(error, BrokenProcessPool):
        cause = workers.cause_of_death()
        raise WorkerError(f"a worker process died near {label}, {cause}; finished runs are kept") from error
    raise WorkerError(f"{label} failed: {error}") from error


def _title(jobs: Sequence[Job]) -> str:
    stages = {job.stage for job in jobs}
    return stages.pop() if len(stages) == 1 else "jobs"


def limit_threads() -> None:
    """One thread for torch too, in this process: SciPy's L-BFGS-B brings a BLAS of its own beside torch's."""
    use_one_thread()
    torch.set_num_threads(1)
