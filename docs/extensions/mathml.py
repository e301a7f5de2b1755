"""Formulas as MathML, which browsers show by themselves: no script and no network.

Where a reader has no font for mathematics that of the site serves (docs/extensions/mathfont.py).
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import wrap_displaymath
from sphinx.writers.html5 import HTML5Translator

from docs.extensions import mathfont

#: What latex2mathml writes, and what stands close to its letter in every browser.
_CLOSER = (
    (
        re.compile(r'<mo( stretchy="true")?>&#x0005E;</mo></mover>'),
        '<mo stretchy="false">&#x002C6;</mo></mover>',
    ),
    (
        re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>&#x02032;</mi></msup>"),
        r"<mrow>\1<mo>&#x02032;</mo></mrow>",
    ),
    (re.compile(r'((?:<mi mathvariant="normal">\w</mi>){2,})'), lambda found: _word(found[1])),
)


def _word(letters: str) -> str:
    """Upright letters, one element each, as one word."""
    return f"<mtext>{''.join(re.findall(r'>(.)</mi>', letters))}</mtext>"


def mathml(source: str, display: str = "inline") -> str:
    """A formula as an element."""
    text = convert(source, display=display)
    for pattern, closer in _CLOSER:
        text = pattern.sub(closer, text)
    return text


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A displayed formula, or lines of them aligned."""
    text = node.astext()
    source = (
        text if node.get("no-wrap", node.get("nowrap")) else wrap_displaymath(text, None, False)
    )
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(mathml(source.strip(), "block"))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def _write_font(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        mathfont.write(Path(app.outdir) / "_static")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; it is the one in use as long as no other is loaded."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    app.config.html_math_renderer = "mathml"
    app.connect("build-finished", _write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
