"""Docstrings are prose with formulas in plain text: characters that reStructuredText would take for
markup are kept as they are.
"""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring

_MARKUP = re.compile(r"([*|]|_(?=\W|$))")
_CODE = re.compile(r"(`[^`]+`)")


def plain(line: str) -> str:
    """A line with its markup escaped; what stands in backticks is code."""
    pieces = _CODE.split(line)
    return "".join(
        f"`{piece}`" if _CODE.fullmatch(piece) else _MARKUP.sub(r"\\\1", piece) for piece in pieces
    )


def _convert(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Escape a docstring, and lay out its sections (Args, Returns, Raises); of a property, too, as
    of a function.
    """
    escaped = [line if line.lstrip().startswith(">>>") else plain(line) for line in lines]
    lines[:] = GoogleDocstring(
        escaped, Config(), app, "class" if what == "class" else "function", name, obj
    ).lines()


def setup(app: Sphinx) -> dict[str, Any]:
    """In place of the extension of napoleon, which takes the colon in a property's text for its
    type.
    """
    app.connect("autodoc-process-docstring", _convert)
    return {"parallel_read_safe": True}
