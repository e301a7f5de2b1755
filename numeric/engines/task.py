"""Tasks, their outcomes, and the interface of the engines that run them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from attention_erm.runtime.errors import NoAnswer


class ResultStore(Protocol):
    """Results of tasks on disk, by the first argument of the task."""

    path: Path

    def load(self, requested: Collection[Any]) -> Mapping[Any, Any]:
        """Return the stored results among those requested."""

    def append(self, result: Any) -> None:
        """Add one result."""

    def lock(self) -> Any:
        """Return a held lock, with `release`, that keeps other processes from writing."""


@dataclass(frozen=True)
class Task:
    """Call of a pure function: repeated, or run elsewhere, it gives the same result.

    Tasks with equal function and arguments are equal; the other fields do not matter for that.

    Attributes:
        function: function that can be imported by name.
        arguments: its arguments, which can be pickled.
        cost: estimated time on one core, in seconds; sets the order and the time left.
        label: name in messages.
        stage: kind of work, to which its processor time counts.
        device: "cpu" or "cuda".
        store: where its result is looked up before, and stored after it has run.
        key: name that is unique among all tasks of all versions of the code; needed by dask.
    """

    function: Callable[..., Any]
    arguments: tuple[Hashable, ...]
    cost: float = field(compare=False)
    label: str = field(default="", compare=False)
    stage: str = field(default="", compare=False)
    device: str = field(default="cpu", compare=False)
    store: ResultStore | None = field(default=None, compare=False)
    key: str = field(default="", compare=False)


class Outcome(NamedTuple):
    """Result of a task and its processor time in seconds, or the error that ended it."""

    task: Task
    result: Any
    error: BaseException | None = None
    seconds: float = 0.0


class EngineFailed(NoAnswer):
    """Workers or their scheduler were lost or cannot be reached. Earlier outcomes are valid."""


class Engine(Protocol):
    """Runs tasks while it is entered; results do not depend on the engine."""

    def __enter__(self) -> Self:
        """Start the workers. Raises EngineFailed if there are none."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the workers."""

    def submit(self, tasks: Sequence[Task], priority: int = 0) -> None:
        """Add tasks. Those of lower `priority` begin first, then those of higher cost."""

    def finished(self) -> Iterator[Outcome]:
        """Yield outcomes as they come until every submitted task has one.

        More tasks may be submitted in between. Raises EngineFailed when no more can come.
        """


def run_task(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """Return the result of a call and its processor time in seconds."""
    started = time.process_time()
    return function(*arguments), time.process_time() - started
