"""Write figures, and the data that they show as JSON documents."""

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

FORMATS = (".png", ".pdf")  #: suffixes allowed for --plot
PNG_OR_PDF = "write a figure (png or pdf), and its data next to it (json)"


def write_figure(path: Path, draw: Callable[[], Figure], document: Mapping[str, Any]) -> None:
    """Write a figure, and next to it under the same name the document that it shows.

    Args:
        path: file; its suffix is the format.
        draw: draws the figure.
        document: data of the figure.
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
    """Write each drawing as PNG and PDF under its name, and the data as `name`.json.

    Args:
        folder: output folder.
        name: name of the document.
        document: data of the figures.
        drawings: functions that draw, by name.
    """
    for figure, draw in drawings.items():
        for suffix, content in render_figure(draw).items():
            write_file(folder / f"{figure}.{suffix}", content)
    write_document(folder / f"{name}.json", document)


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document as JSON with its provenance; the file is complete or not written.

    Args:
        path: file.
        document: JSON values.

    Raises:
        ValueError: the document contains NaN, which JSON does not have.
    """
    write_file(path, document_text(document).encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all; missing folders are created.

    Args:
        path: file.
        content: text or bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
