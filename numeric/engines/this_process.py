"""Run one task after the other in the calling process, for small sweeps and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from numeric.engines.task import Outcome, Task, run_task


class ThisProcess:
    """Engine without workers."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, float, Task]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._waiting.clear()

    def submit(self, tasks: Sequence[Task], priority: int = 0) -> None:
        """Add tasks, see `Engine.submit`."""
        self._waiting += [(priority, -task.cost, task) for task in tasks]

    def finished(self) -> Iterator[Outcome]:
        """Run the tasks and yield their outcomes, see `Engine.finished`."""
        while self._waiting:
            first = min(range(len(self._waiting)), key=lambda k: self._waiting[k][:2])
            task = self._waiting.pop(first)[-1]
            try:
                result, seconds = run_task(task.function, task.arguments)
                outcome = Outcome(task, result, seconds=seconds)
            except Exception as error:  # it belongs to the task, as it would from a worker
                outcome = Outcome(task, None, error)
            yield outcome
