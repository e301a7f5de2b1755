"""How a finished study is shown: as a section of a report, on the terminal and as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from matplotlib.figure import Figure


class Claim(NamedTuple):
    """One row of the summary table: what is claimed, the theory, what training shows, and whether they agree.

    `deviation` is in standard errors where there is one, for example "z +1.2".
    """

    claim: str
    theory: str
    training: str
    deviation: str
    agrees: bool


class ShownFigure(NamedTuple):
    """A figure with its caption; `draw` makes it."""

    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Section:
    """What a finished study shows.

    Attributes:
        title: heading.
        agrees: the verdict.
        claims: rows of the summary table.
        lines: text for the terminal, each line with its line break, ten lines at most.
        figures: figures by the name of their file, without suffix.
        tables: further parts of the page, as HTML elements.
        document: keys of the JSON document that this study contributes.
        details: further text, on the page only.
    """

    title: str
    agrees: bool
    claims: tuple[Claim, ...]
    lines: tuple[str, ...]
    figures: Mapping[str, ShownFigure] = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[str, ...] = ()
