"""Presentation of a finished study: terminal text, JSON, table, figures, section of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from verify.core.scores import Verdict


class Claim(NamedTuple):
    """One row of the summary table: the claim, the theory, the training, and whether they agree.

    `deviation` is in standard errors if there is one, for example "z +1.2".
    """

    claim: str
    theory: str
    training: str
    deviation: str
    agrees: bool


def verdict_claim(claim: str, verdict: Verdict) -> Claim:
    """Return the row of a verdict: the mean residual with its error, and its score.

    Args:
        claim: the claim.
        verdict: verdict on one quantity.
    """
    mean = f"{100 * verdict.pooled.relative:+.2f} +- {100 * verdict.pooled.standard_error:.2f} %"
    return Claim(claim, "", f"mean {mean}", f"z {verdict.pooled.z:+.1f}", verdict.agrees)


class ShownFigure(NamedTuple):
    """A figure with its caption; `draw` makes it."""

    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Section:
    """Presentation of a finished study.

    Attributes:
        title: heading.
        agrees: the verdict.
        lines: the result as text, each line with its line break.
        document: the outcome as JSON values.
        claims: rows of the summary table of the main job.
        figures: figures by the name of their file, without suffix.
        note: a line below the summary table.
        points: text with every point; the main job shows it only in the report.
        tables: further parts of the page, as HTML elements.
        rows: rows of the CSV table.
        write: writes further files into the output folder, given the whole JSON document.
    """

    title: str
    agrees: bool
    lines: tuple[str, ...]
    document: Mapping[str, Any]
    claims: tuple[Claim, ...] = ()
    figures: Mapping[str, ShownFigure] = field(default_factory=dict)
    note: str = ""
    points: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    rows: Sequence[Mapping[str, object]] = ()
    write: Callable[[Path, Mapping[str, Any]], None] | None = None

    @property
    def text(self) -> str:
        """Return points, then lines."""
        return "".join((*self.points, *self.lines))
