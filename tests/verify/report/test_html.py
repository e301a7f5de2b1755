"""Pages show what they are given as text, whoever wrote it, and say nothing of whose machine it
was.
"""

import json
from html import escape
from html.parser import HTMLParser

import pytest

from verify.__main__ import build_parser
from verify.report import html
from verify.report.gallery import Shown, gallery_page

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """Names of elements, and of attributes that run something."""

    def __init__(self, text):
        super().__init__()
        self.names, self.handlers = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.handlers |= {name for name, _ in attrs if name.startswith("on")}


@pytest.fixture
def equations(monkeypatch):
    """Those of a model whose words are not kind."""
    record = [
        {
            "step": "s",
            "title": EVIL,
            "id": EVIL,
            "latex": r"x = \text{<script>alert(1)</script>} < \alpha",
        }
    ]
    monkeypatch.setattr(html, "record", lambda *_: json.dumps(record))
    return html.equations(EVIL)


def test_nothing_that_a_page_is_given_becomes_part_of_it(equations):
    sections = [
        equations,
        html.facts(EVIL, {EVIL: EVIL}),
        html.figure_element(EVIL, b"png"),
        html.score_table(EVIL, (), ()),
    ]
    gallery = gallery_page({EVIL: Shown(EVIL, b"png", True, (EVIL,), 1.0)})
    for text in (html.page(EVIL, EVIL, EVIL, sections), gallery):
        found = Elements(text)
        assert "script" not in found.names and not found.handlers
        assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    ("out", "shown"),
    [
        ("/home/jane/secret/<b>", "--out '<b>'"),
        ("report <b>", "--out 'report <b>'"),
        ("", "--out ''"),
    ],
)
def test_the_command_of_a_page_can_be_copied_and_names_no_folder_of_the_machine(out, shown):
    build_parser().parse_args(["models", "--out", out, "--settings", "mu=1/20"])
    text = html.how_to_repeat()
    assert (
        escape(f"python -m verify models {shown} --settings mu=1/20") in text and "jane" not in text
    )
