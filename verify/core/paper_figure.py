"""How a figure is asked for, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from attention_erm.runtime.provenance import document_text
from verify.core.pool import Pool

Sizes = tuple[tuple[int, int], ...]  #: (d, number of runs), by size


@dataclass(frozen=True)
class Request:
    """`folder`: where runs are kept; `sizes` to train at; paper: whether all else is at the sizes of the paper, too.

    `execution`: further fields of every Run, how to train it.
    """

    folder: Path
    sizes: Sizes
    paper: bool = False
    execution: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawnFigure:
    """A figure: images by suffix, what it shows as JSON values and as lines of text, and whether theory and training agree."""

    name: str
    images: Mapping[str, bytes]
    document: Mapping[str, Any]
    lines: tuple[str, ...]
    agrees: bool

    @property
    def files(self) -> dict[str, bytes]:
        """Images and document by the name of their file."""
        text = document_text(self.document)
        return {
            f"{self.name}.{suffix}": content
            for suffix, content in (*self.images.items(), ("json", text.encode()))
        }


class PaperFigure(Protocol):
    """One figure."""

    @property
    def title(self) -> str:
        """What it shows, in a few words."""

    def sizes(self, paper: bool) -> Sizes:
        """Sizes that heads are trained at, its own or, if `paper`, those of the paper; none where theory stands alone."""

    def draw(self, request: Request, pool: Pool) -> DrawnFigure:
        """Train what the folder lacks, solve the theory, draw.

        Raises WorkerError if a run fails, NoAnswer if the theory has no answer.
        """
