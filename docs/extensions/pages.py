"""Pages made from the code: equations, glossary, commands and the Python interface, under
docs/reference.
"""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from docs.extensions import commands, equations, glossary, interface

SOURCES = (equations, glossary, commands, interface)
FOLDER = "reference/generated"


def write(folder: Path) -> list[Path]:
    """Write every page that is not as it should be, and delete pages of models that are gone; all
    pages.
    """
    wanted = {folder / path: text for source in SOURCES for path, text in source.pages().items()}
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in {*(folder / "equations").glob("*.md"), *(folder / "commands").glob("*.md")} - set(
        wanted
    ):
        path.unlink()
    return sorted(wanted)


def setup(app: Sphinx) -> dict[str, Any]:
    """Before any page is read."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / FOLDER) and None)
    return {"parallel_read_safe": True}
