"""Jobs over the cores, the longest first: never done twice, stored as they finish, failures raised."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import torch
from filelock import FileLock

from attention_erm.runtime.errors import NoAnswer
from attention_erm.runtime.interrupts import mark_handled
from attention_erm.runtime.progress import time_bar
from numeric.engines.processes import (
    NO_WORKER_STARTED,
    WorkerProcesses,
    cores,
    exit_if_imported_by_worker,
    use_one_thread,
)
from verify.core.batching import MAX_BATCH_RUNS, batch_shape, train_together
from verify.core.measure import execute
from verify.core.model_check import require_default_model
from verify.core.run import Run
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


_Outcome = TypeVar("_Outcome")
#: A study at work: yields the jobs that it needs next, receives their results in the same order, returns its outcome.
Steps = Generator[Sequence[Job], list[Any], _Outcome]


def training_job(
    run: Trainable, store: Store[AnyResult], task: Callable[[Any], Any] = execute
) -> Job:
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

    def __init__(
        self,
        workers: int | None = None,
        progress: bool = True,
        batched: Collection[str] = ("cuda",),
    ) -> None:
        self.seconds: dict[str, float] = {}  #: processor time of the workers, by stage
        self._batched = batched
        self._workers, self._progress = workers or cores(), progress
        self._known: dict[Job, Any] = {}
        self._processes: dict[str, WorkerProcesses] = {}
        self._locks: dict[Path, FileLock] = {}

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
        return (
            f"{runs}, the same command goes on from there{again}"
            if count
            else "no run had finished"
        )

    def results(self, jobs: Sequence[Job]) -> list[Any]:
        """Return the results of `jobs`, in their order, carrying out those that neither a store nor this pool has.

        Raises:
            InvalidParameter: another process writes a store that has to be written, or heads would be trained on other data than
                the model file states.
            NoAnswer: the theory has no answer.
            WorkerError: a job failed otherwise. Finished jobs are kept.
        """
        return self.run(_one_step(jobs))

    def run(self, steps: Steps[_Outcome]) -> _Outcome:
        """Return the outcome of one study. Raises what `results` raises."""
        ((_, outcome),) = self.run_together({"": steps})
        return outcome

    def run_together(
        self, studies: Mapping[str, Steps[Any]], title: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """Yield name and outcome of each study as soon as it is finished.

        Jobs of the first study are carried out before those of the second, so that studies finish one after the other while all cores
        are busy; a job that two studies share is carried out once. `title` is that of the progress bar, by default the kind of jobs.
        Raises what `results` raises.
        """
        running = [
            _Running(name, steps, priority)
            for priority, (name, steps) in enumerate(studies.items())
        ]
        queue = _Queue(self._workers)
        with _Progress(self._progress, title) as progress:
            for study in running:
                self._start(study, None, queue, progress)
            while running:
                if finished := next((study for study in running if not study.missing), None):
                    if finished.ended:
                        running.remove(finished)
                        yield finished.name, finished.outcome
                    else:
                        self._start(
                            finished, [self._known[job] for job in finished.jobs], queue, progress
                        )
                    continue
                for job in self._wait(queue, progress):
                    for study in running:
                        study.missing.discard(job)

    def _start(
        self, study: _Running, results: list[Any] | None, queue: _Queue, progress: _Progress
    ) -> None:
        """Go on with a study to its next jobs, or to its end."""
        study.go_on(results)
        self._look_up(study.jobs)
        study.missing = {job for job in study.jobs if job not in self._known}
        if study.missing:
            exit_if_imported_by_worker()  # before it finds a store in use
            if any(job.store and job.stage == "training" for job in study.missing):
                require_default_model()
            self._lock(study.jobs)
            new = queue.add(study.missing, study.priority)
            progress.add(new)

    def _wait(self, queue: _Queue, progress: _Progress) -> list[Job]:
        """Submit jobs, wait until some are finished, store their results and return them."""
        for device, group in queue.next_groups(self._batched_shape):
            queue.futures[self._submit(device, group, queue.tasks)] = group
        finished: list[Job] = []
        for future in wait(queue.futures, return_when=FIRST_COMPLETED).done:
            group = queue.futures.pop(future)
            for job, (result, seconds) in zip(
                group, _unwrap(future, group, self._processes[group[0].device]), strict=True
            ):
                if job.store:
                    job.store.append(result)
                self._known[job] = result
                self.seconds[job.stage] = self.seconds.get(job.stage, 0.0) + seconds
                progress.done(job)
                finished.append(job)
        return finished

    def _lock(self, jobs: Sequence[Job]) -> None:
        """Keep other processes from the same work until this pool ends."""
        for job in jobs:
            if job.store and job.store.path not in self._locks:
                self._locks[job.store.path] = job.store.lock()

    def _look_up(self, jobs: Sequence[Job]) -> None:
        """Take finished runs from the stores."""
        for store in {job.store for job in jobs if job.store and job not in self._known}:
            asked = {job: job.arguments[0] for job in jobs if job.store is store}
            done = store.load(set(asked.values()))
            if done:
                count = len(set(asked.values()))
                rest = "nothing is made" if len(done) == count else "the others are made"
                _LOG.info("%s: %d of %d runs found, %s", store.path, len(done), count, rest)
            self._known |= {job: done[run] for job, run in asked.items() if run in done}

    def _submit(
        self, device: str, group: Sequence[Job], tasks: Sequence[Callable[..., Any]]
    ) -> Future[list[_Timed]]:
        if device not in self._processes:
            count = 1 if device == "cuda" else self._workers
            self._processes[device] = WorkerProcesses(count, tasks, limit_threads)
        if self._batched_shape(group[0]) is not None:
            return self._processes[device].submit(_timed_batch, [job.arguments[0] for job in group])
        return self._processes[device].submit(_timed, group[0].task, group[0].arguments)

    def _batched_shape(self, job: Job) -> Hashable | None:
        """The shape of a run that is trained together with others, None for any other job."""
        if job.task is not execute or job.device not in self._batched:
            return None
        (run,) = job.arguments
        return batch_shape(run) if isinstance(run, Run) else None


class _Running:
    """A study under way: its current jobs, and which of them have no result yet."""

    def __init__(self, name: str, steps: Steps[Any], priority: int) -> None:
        self.name, self.priority = name, priority
        self.jobs: Sequence[Job] = ()
        self.missing: set[Job] = set()
        self.ended, self.outcome = False, None
        self._steps = steps

    def go_on(self, results: Any) -> None:
        """Hand over the results of the current jobs and take the next ones."""
        try:
            self.jobs = self._steps.send(results)
        except StopIteration as end:
            self.jobs, self.ended, self.outcome = (), True, end.value


class _Queue:
    """Jobs that wait, by priority of their study, the longest first; and the futures of those that were submitted.

    Few jobs more than workers are submitted at a time, so that a later job of an earlier study need not wait for all others.
    """

    _AHEAD = 2  #: jobs submitted per worker: no core waits while this process draws or writes

    def __init__(self, workers: int) -> None:
        self.futures: dict[Future[list[_Timed]], list[Job]] = {}
        self._limits = {"cpu": self._AHEAD * workers}
        self._waiting: dict[Job, tuple[int, float]] = {}
        self._submitted: set[Job] = set()

    @property
    def tasks(self) -> list[Callable[..., Any]]:
        """What workers will call."""
        return [job.task for job in (*self._waiting, *self._submitted)]

    def add(self, jobs: Collection[Job], priority: int) -> list[Job]:
        """Add jobs, and return those that are new."""
        new = [job for job in jobs if job not in self._waiting and job not in self._submitted]
        self._waiting |= {job: (priority, -job.cost) for job in new}
        return new

    def next_groups(
        self, shape: Callable[[Job], Hashable | None]
    ) -> Iterator[tuple[str, list[Job]]]:
        """Yield the jobs to submit now with their device: one alone, or all of one shape that can be trained together."""
        for job in sorted(self._waiting, key=self._waiting.__getitem__):
            busy = sum(group[0].device == job.device for group in self.futures.values())
            if job in self._waiting and busy < self._limits.get(job.device, self._AHEAD):
                of_shape = shape(job)
                same = (
                    [other for other in self._waiting if shape(other) == of_shape]
                    if of_shape is not None
                    else [job]
                )
                group = same[:MAX_BATCH_RUNS]
                for member in group:
                    del self._waiting[member]
                self._submitted.update(group)
                yield job.device, group


class _Progress:
    """Progress bar over the estimated seconds of all jobs, shown from the first job on."""

    def __init__(self, shown: bool, title: str) -> None:
        self._shown, self._title = shown, title
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)

    def add(self, jobs: Sequence[Job]) -> None:
        """More is to be done."""
        seconds = sum(job.cost for job in jobs)
        if self._bar is None and jobs:
            stages = {job.stage for job in jobs}
            title = self._title or (stages.pop() if len(stages) == 1 else "jobs")
            self._bar = time_bar(title, seconds, self._shown).__enter__()
        elif self._bar is not None:
            self._bar.total += seconds

    def done(self, job: Job) -> None:
        """One job is finished."""
        if self._bar is not None:
            self._bar.update(
                min(job.cost, self._bar.total - self._bar.n)
            )  # a sum in another order rounds otherwise


def _one_step(jobs: Sequence[Job]) -> Steps[list[Any]]:
    return (yield jobs)


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
    results = train_together(runs)
    return [_Timed(result, (time.process_time() - started) / len(runs)) for result in results]


def _unwrap(
    future: Future[list[_Timed]], group: Sequence[Job], workers: WorkerProcesses
) -> list[_Timed]:
    error, label = future.exception(), group[0].label
    if len(group) > 1:
        label += f" or one of the {len(group) - 1} trained with it"
    if error is None:
        return future.result()
    if isinstance(error, NoAnswer):
        raise error
    if isinstance(error, BrokenProcessPool) and not workers.began():
        raise WorkerError(NO_WORKER_STARTED) from None
    if isinstance(error, BrokenProcessPool):
        cause = workers.cause_of_death()
        raise WorkerError(
            f"a worker process died near {label}, {cause}; finished runs are kept"
        ) from error
    raise WorkerError(f"{label} failed: {error}") from error


def limit_threads() -> None:
    """One thread for torch too, in this process: SciPy's L-BFGS-B brings a BLAS of its own beside torch's."""
    use_one_thread()
    torch.set_num_threads(1)
