"""One task after the other in the process that asks: for small sweeps, in a notebook or a script without workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from numeric.engines.task import Outcome, Task


class ThisProcess:
    """No workers to start, and none that could die."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to end."""

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """As `Engine.outcomes`, in the order asked for."""
        for task in tasks:
            try:
                outcome = Outcome(task, task.function(*task.arguments))
            except (
                Exception
            ) as error:  # whatever it is belongs to the task, as it would from a worker
                outcome = Outcome(task, None, error)
            yield outcome
