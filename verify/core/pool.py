"""Run the tasks of studies on all cores: at most once each, with results stored as they come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from attention_erm.runtime.errors import NoAnswer
from attention_erm.runtime.progress import time_bar
from numeric.engines.processes import Processes, exit_if_imported_by_worker
from numeric.engines.task import EngineFailed, Outcome, Task
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
    """A task raised an error, or its processes died."""


_Outcome = TypeVar("_Outcome")
#: A study under way: yields the tasks it needs next, receives their results in the same order,
#: returns its outcome.
Steps = Generator[Sequence[Task], list[Any], _Outcome]


def training_task(
    run: Trainable, store: Store[AnyResult], function: Callable[[Any], Any] = execute
) -> Task:
    """Return the task that trains `run`, whose result is kept in `store`."""
    return Task(function, (run,), run.cost, f"run {run.label}", "training", run.device, store)


class Pool:
    """Run the tasks of studies, at most once each, on all cores.

    Results are remembered and do not depend on the number of workers. Runs of one shape are trained
    together on the devices `batched`. Use it in a `with` statement, which ends the workers. An
    interrupt leaves that statement as a KeyboardInterrupt whose text says what is kept.

    Attributes:
        seconds: processor time of the workers in seconds, by stage.
        left: text for an interrupt that arrives after the pool has ended.
    """

    left: ClassVar[str] = ""

    def __init__(
        self,
        workers: int | None = None,
        progress: bool = True,
        batched: Collection[str] = ("cuda",),
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._batched = batched
        self._progress = progress
        self._engine = Processes(workers)
        self._known: dict[Task, Any] = {}
        self._submitted: set[Task] = set()
        self._members: dict[Task, Sequence[Task]] = {}  #: tasks of each batch
        self._locks: dict[Path, Any] = {}

    def __enter__(self) -> Self:
        self._engine.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._engine.__exit__(kind, error, trace)
        for lock in self._locks.values():
            lock.release()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(self._kept()) from None
        Pool.left = self._kept()

    def _kept(self) -> str:
        """Return what an interrupt leaves, as text."""
        count = sum(task.store is not None for task in self._known)
        again = " (the theory is solved again)" if count < len(self._known) else ""
        runs = f"{count} finished {'runs are' if count > 1 else 'run is'} stored"
        return (
            f"{runs}; run the same command again to continue{again}"
            if count
            else "no run had finished"
        )

    def results(self, tasks: Sequence[Task]) -> list[Any]:
        """Return the results of `tasks`, in their order.

        Raises:
            InvalidParameter: another process writes a store that has to be written, or heads would
                be trained on other data than the model file states.
            NoAnswer: the theory has no answer.
            WorkerError: a task failed otherwise. Finished tasks are kept.
        """
        return self.run(_one_step(tasks))

    def run(self, steps: Steps[_Outcome]) -> _Outcome:
        """Return the outcome of one study. Raises what `results` raises."""
        ((_, outcome),) = self.run_together({"": steps})
        return outcome

    def run_together(
        self, studies: Mapping[str, Steps[Any]], title: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """Yield name and outcome of each study as soon as it is finished.

        Tasks of the first study begin before those of the second, so that studies finish one after
        the other while all cores are busy. A task that two studies share is run once.

        Args:
            studies: steps of each study, by name.
            title: title of the progress bar; default: the stage of the tasks.

        Raises: see `results`.
        """
        running = [
            _Running(name, steps, priority)
            for priority, (name, steps) in enumerate(studies.items())
        ]
        with _Progress(self._progress, title) as progress:
            for study in running:
                self._advance(study, None, progress)
            while running:
                if finished := next((study for study in running if not study.missing), None):
                    if finished.ended:
                        running.remove(finished)
                        yield finished.name, finished.outcome
                    else:
                        results = [self._known[task] for task in finished.tasks]
                        self._advance(finished, results, progress)
                    continue
                for task in self._wait(progress):
                    for study in running:
                        study.missing.discard(task)

    def _advance(self, study: _Running, results: list[Any] | None, progress: _Progress) -> None:
        """Bring a study to its next tasks, or to its end."""
        study.advance(results)
        self._look_up(study.tasks)
        study.missing = {task for task in study.tasks if task not in self._known}
        if study.missing:
            exit_if_imported_by_worker()  # before it finds a store in use
            if any(task.store and task.stage == "training" for task in study.missing):
                require_default_model()
            self._lock(study.tasks)
            new = [task for task in study.missing if task not in self._submitted]
            self._submitted.update(new)
            self._engine.submit(self._in_batches(new), study.priority)
            progress.add(new)

    def _wait(self, progress: _Progress) -> Sequence[Task]:
        """Wait for one task or batch, store the results and return the finished tasks."""
        task, result, error, seconds = self._next_outcome()
        if isinstance(error, NoAnswer):
            raise error
        if error is not None:
            raise WorkerError(f"{task.label} failed: {error}") from error
        members = self._members.pop(task, None)
        results = result if members else [result]
        for member, one in zip(members or [task], results, strict=True):
            if member.store:
                member.store.append(one)
            self._known[member] = one
            progress.done(member)
        self.seconds[task.stage] = self.seconds.get(task.stage, 0.0) + seconds
        return members or [task]

    def _next_outcome(self) -> Outcome:
        try:
            return next(self._engine.finished())
        except EngineFailed as error:
            raise WorkerError(f"{error}; finished runs are stored") from None

    def _lock(self, tasks: Sequence[Task]) -> None:
        """Keep other processes from the same work until this pool ends."""
        for task in tasks:
            if task.store and task.store.path not in self._locks:
                self._locks[task.store.path] = task.store.lock()

    def _look_up(self, tasks: Sequence[Task]) -> None:
        """Take finished runs from the stores."""
        for store in {task.store for task in tasks if task.store and task not in self._known}:
            asked = {task: task.arguments[0] for task in tasks if task.store is store}
            done = store.load(set(asked.values()))
            if done:
                count = len(set(asked.values()))
                rest = "nothing to compute" if len(done) == count else "computing the rest"
                _LOG.info("%s: %d of %d runs found, %s", store.path, len(done), count, rest)
            self._known |= {task: done[run] for task, run in asked.items() if run in done}

    def _in_batches(self, tasks: Sequence[Task]) -> list[Task]:
        """Replace tasks that are trained together by one task for each batch."""
        shapes: dict[Hashable, list[Task]] = {}
        for task in tasks:
            shape = self._batched_shape(task)
            shapes.setdefault(task if shape is None else shape, []).append(task)
        return [
            self._batch(group[start : start + MAX_BATCH_RUNS])
            for group in shapes.values()
            for start in range(0, len(group), MAX_BATCH_RUNS)
        ]

    def _batch(self, group: Sequence[Task]) -> Task:
        if self._batched_shape(group[0]) is None:
            return group[0]
        others = f" or one of the {len(group) - 1} trained with it" if len(group) > 1 else ""
        runs = tuple(task.arguments[0] for task in group)
        cost = sum(task.cost for task in group)
        label, device = group[0].label + others, group[0].device
        batch = Task(train_together, (runs,), cost, label, "training", device)
        self._members[batch] = group
        return batch

    def _batched_shape(self, task: Task) -> Hashable | None:
        """Return the shape of a run that is trained together with others, None for other tasks."""
        if task.function is not execute or task.device not in self._batched:
            return None
        (run,) = task.arguments
        return batch_shape(run) if isinstance(run, Run) else None


class _Running:
    """A study under way: its current tasks, and which of them have no result yet."""

    def __init__(self, name: str, steps: Steps[Any], priority: int) -> None:
        self.name, self.priority = name, priority
        self.tasks: Sequence[Task] = ()
        self.missing: set[Task] = set()
        self.ended, self.outcome = False, None
        self._steps = steps

    def advance(self, results: Any) -> None:
        """Hand over the results of the current tasks and take the next ones."""
        try:
            self.tasks = self._steps.send(results)
        except StopIteration as end:
            self.tasks, self.ended, self.outcome = (), True, end.value


class _Progress:
    """Progress bar over the estimated seconds of all tasks, shown from the first task on."""

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

    def add(self, tasks: Sequence[Task]) -> None:
        """Add tasks to the total."""
        seconds = sum(task.cost for task in tasks)
        if self._bar is None and tasks:
            stages = {task.stage for task in tasks}
            title = self._title or (stages.pop() if len(stages) == 1 else "tasks")
            self._bar = time_bar(title, seconds, self._shown).__enter__()
        elif self._bar is not None:
            self._bar.total += seconds

    def done(self, task: Task) -> None:
        """Count a finished task."""
        if self._bar is not None:
            self._bar.update(
                min(task.cost, self._bar.total - self._bar.n)
            )  # a sum in another order rounds otherwise


def _one_step(tasks: Sequence[Task]) -> Steps[list[Any]]:
    return (yield tasks)


def execute_all(
    runs: Sequence[Trainable],
    store: Store[AnyResult],
    *,
    workers: int | None = None,
    progress: bool = True,
    function: Callable[[Any], Any] = execute,
) -> list[AnyResult]:
    """Return the results of `runs`, in their order, executing those that `store` lacks.

    Args:
        runs: the runs.
        store: results on disk.
        workers: number of processes; default: one per core.
        progress: whether to show a progress bar.
        function: what a worker calls for a run; must be importable.

    Raises:
        WorkerError: a run failed. Finished runs are stored.
    """
    with Pool(workers, progress) as pool:
        return pool.results([training_task(run, store, function) for run in runs])
