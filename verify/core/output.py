"""What commands write: figures, and beside them what they show as a document."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from attention_erm.runtime.files import write_atomically
from attention_erm.runtime.provenance import document_text
from numeric.cli.output import figure_data_path
from verify.core.drawing import render_figure

_LOG = logging.getLogger(__name__)

FORMATS = (".png", ".pdf")  #: of figures that are asked for by --plot
PNG_OR_PDF = "write a figure (png or pdf), and its data beside it (json)"


def write_figure(path: Path, draw: Callable[[], Figure], document: Mapping[str, Any]) -> None:
    """A figure in the format of the file's suffix, and beside it, under the same name, the document
    that it shows.
    """
    write_file(path, render_figure(draw)[path.suffix[1:]])
    write_document(figure_data_path(path), document)
    _LOG.info("%s: its data are in %s", path, figure_data_path(path))


def write_figures(
    folder: Path,
    name: str,
    document: Mapping[str, Any],
    drawings: Mapping[str, Callable[[], Figure]],
) -> None:
    """Each drawing under its own name as PNG and PDF, and what they show as `name`.json."""
    for figure, draw in drawings.items():
        for suffix, content in render_figure(draw).items():
            write_file(folder / f"{figure}.{suffix}", content)
    write_document(folder / f"{name}.json", document)


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """A document as JSON with its provenance, whole or not at all.

    Raises ValueError for NaN, which JSON does not have.
    """
    write_file(path, document_text(document).encode())


def write_file(path: Path, content: bytes) -> None:
    """Whole or not at all, in a folder that is made where there is none: one that was refused
    before leaves nothing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
