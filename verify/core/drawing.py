"""Figures as files, in the style of numeric.plotting."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib

from attention_erm.runtime import provenance

matplotlib.use("Agg")  # before pyplot is ever imported: no display is needed to write a file
from matplotlib.figure import Figure

from numeric.plotting.style import style_context


def render_figure(draw: Callable[[], Figure]) -> dict[str, bytes]:
    """The figure in our style as PNG and as PDF file, by suffix."""
    with style_context():
        figure = draw()
        return {"png": png(figure), "pdf": _pdf(figure)}


def png(figure: Figure) -> bytes:
    """A PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata=provenance.current().figure_metadata("png"))
    return buffer.getvalue()


def _pdf(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf", metadata=provenance.current().figure_metadata("pdf"))
    return buffer.getvalue()
