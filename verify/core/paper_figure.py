"""A figure of the paper: a study at fixed settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from verify.core.pool import Steps
from verify.core.run import Run
from verify.core.section import Section

Sizes = tuple[tuple[int, int], ...]  #: (d, number of runs), by size

_Plan = TypeVar("_Plan")
_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class Request:
    """What the user requests of a figure.

    Attributes:
        folder: folder of finished runs and of the files written.
        sizes: (d, number of runs) to train at.
        paper: whether everything else is at the sizes of the paper, too.
        execution: further fields of every Run, for example the device.
    """

    folder: Path
    sizes: Sizes
    paper: bool = False
    execution: Mapping[str, Any] = field(default_factory=dict)

    def configure(self, run: Run) -> Run:
        """Return `run`, trained as requested."""
        return run.varied(**self.execution)


@dataclass(frozen=True)
class PaperFigure(Generic[_Plan, _Outcome]):
    """A study with the settings of one figure.

    Attributes:
        title: contents in a few words.
        own_sizes: (d, number of runs) by default; empty if nothing is trained.
        paper_sizes: (d, number of runs) of the paper.
        plan: plan of the study for a request.
        steps: computes the outcome: yields jobs and receives their results.
        show: returns a section with exactly one figure.
    """

    title: str
    own_sizes: Sizes
    paper_sizes: Sizes
    plan: Callable[[Request], _Plan]
    steps: Callable[[_Plan, Path], Steps[_Outcome]]
    show: Callable[[_Outcome], Section]

    def sizes(self, paper: bool) -> Sizes:
        """Return the sizes of the paper if `paper`, and otherwise the default."""
        return self.paper_sizes if paper else self.own_sizes

    def section(self, request: Request) -> Steps[Section]:
        """Compute the study and return its section.

        Raises:
            WorkerError: a run failed.
            NoAnswer: the theory has no answer.
        """
        return self.show((yield from self.steps(self.plan(request), request.folder)))
