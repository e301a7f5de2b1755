"""Write figures as files, in the style of numeric.plotting."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib

from attention_erm.runtime import provenance

matplotlib.use("Agg")  # before pyplot is imported: files need no display
from matplotlib.figure import Figure

from numeric.plotting.style import style_context


def render_figure(draw: Callable[[], Figure]) -> dict[str, bytes]:
    """Return the figure as PNG and as PDF file, by suffix."""
    with style_context():
        figure = draw()
        return {"png": png(figure), "pdf": _pdf(figure)}


def png(figure: Figure) -> bytes:
    """Return the figure as PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata=provenance.current().figure_metadata("png"))
    return buffer.getvalue()


def _pdf(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf", metadata=provenance.current().figure_metadata("pdf"))
    return buffer.getvalue()
