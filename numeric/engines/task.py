"""What an engine carries out, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from attention_erm.runtime.errors import NoAnswer


@dataclass(frozen=True)
class Task:
    """A pure function of its arguments: carried out twice, or elsewhere, it gives the same.

    `function` must be importable by name, arguments must pass between processes; `key` tells the task from all others, also in other
    runs and of other code; `cost`: about how many seconds it takes on one core.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cost: float


class Outcome(NamedTuple):
    """Of a task: its result, or the error that it ended with."""

    task: Task
    result: Any
    error: BaseException | None = None


class EngineFailed(NoAnswer):
    """Workers or their scheduler cannot be reached or were lost, as the text says. Outcomes given before are valid."""


class Engine(Protocol):
    """Carries out tasks while it is entered; results do not depend on which engine it is."""

    def __enter__(self) -> Self:
        """Start the workers. Raises EngineFailed if they cannot be had."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End them."""

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Outcomes as they come, the longest tasks begun first. Raises EngineFailed when no more can come."""
