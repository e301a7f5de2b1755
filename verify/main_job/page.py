"""Report of the main job: a self-contained page, its figures, and a JSON document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attention_erm.runtime.provenance import document_text
from numeric.plotting.style import style_context
from verify.core.drawing import png
from verify.core.section import Section
from verify.report.html import equations, how_to_repeat, page, section_element, summary_element


@dataclass
class MainReport:
    """Report in `folder`, written again after each section.

    Attributes:
        folder: folder of index.html, report.json and the figures.
        facts: rows of the last table of the page.
        write: writes a file completely or not at all.
        sections: finished sections.
    """

    folder: Path
    facts: Mapping[str, object]
    write: Callable[[Path, bytes], None]
    sections: list[Section] = field(default_factory=list)
    _images: dict[str, bytes] = field(default_factory=dict)

    def add(self, section: Section) -> None:
        """Add a section: draw its figures and write the page again."""
        self.sections.append(section)
        with style_context():
            for name, figure in section.figures.items():
                self._images[name] = png(figure.draw())
                self.write(self.folder / f"{name}.png", self._images[name])
        self.write_page(finished=False)

    @property
    def agrees(self) -> bool:
        """Return whether every section agrees."""
        return all(section.agrees for section in self.sections)

    def write_page(self, finished: bool) -> None:
        """Write index.html."""
        content = page(
            "Tied attention: theory and training",
            "Empirical risk minimisation in one tied attention head",
            "Replica theory compared with direct minimisation of the empirical risk, in standard "
            "errors.",
            [
                summary_element(self.sections, self.agrees, finished),
                *(section_element(section, self._images) for section in self.sections),
                *((equations(), how_to_repeat(self.facts)) if finished else ()),
            ],
        )
        self.write(self.folder / "index.html", content.encode())

    def write_document(self, document: Mapping[str, Any]) -> None:
        """Write report.json."""
        self.write(self.folder / "report.json", document_text(document).encode())
