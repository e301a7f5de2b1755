"""Page of all figures."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from verify.report.html import figure_element, how_to_repeat, page


class Shown(NamedTuple):
    """Figure on the page: caption, PNG file, verdict, lines of text, and seconds from the start of
    the job.
    """

    title: str
    image: bytes
    agrees: bool
    lines: tuple[str, ...]
    seconds: float


def gallery_page(shown: Mapping[str, Shown]) -> str:
    """Return the self-contained page; figures are given by name."""
    return page(
        "Figures of arXiv 2509.24914",
        "Figures of the paper: theory and training",
        "Lines: replica theory. Points: direct minimisation of the empirical risk.",
        chain(_sections(shown), [how_to_repeat()]),
    )


def _sections(shown: Mapping[str, Shown]) -> Iterator[str]:
    for name, item in shown.items():
        word, tone = ("agrees", "good") if item.agrees else ("disagrees", "bad")
        caption = f"Figure {name}: {item.title} ({item.seconds:.0f} s)"
        lines = html.escape("".join(item.lines))
        yield (
            f'<section><h2>{html.escape(caption)}</h2><p class="{tone}">verdict: {word}</p>'
            f"{figure_element(caption, item.image)}<details><summary>Scores"
            f"</summary><pre>{lines}</pre></details></section>"
        )
