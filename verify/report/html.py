"""Elements of a report page: page, figures, tables of scores, equations of a model."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import tostring

from latex2mathml.converter import convert_to_element

from attention_erm.runtime.provenance import current
from numeric.model import DEFAULT, record
from verify.core.scores import Score
from verify.core.section import Section
from verify.core.text import LABELS

STYLESHEET = Path(__file__).with_name("report.css")
MAIN_STEPS = (
    "free_entropy",
    "stationarity",
    "weak_regularisation",
)  #: this step is open, the others are folded


def page(title: str, heading: str, lead: str, sections: Iterable[str]) -> str:
    """Return a self-contained page.

    Args:
        title: title of the document.
        heading: main heading.
        lead: first element.
        sections: further elements.
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{html.escape(title)}</title>'
        f"<style>{STYLESHEET.read_text()}</style></head><body><main>"
        f"<h1>{html.escape(heading)}</h1>"
        f'<p class="lead">{html.escape(lead)}</p>'
        f"{''.join(sections)}</main></body></html>\n"
    )


def summary_element(sections: Sequence[Section], agrees: bool, finished: bool) -> str:
    """Return the verdict, the table of all claims and the table of contents.

    Args:
        sections: finished sections.
        agrees: the verdict.
        finished: whether the job is finished.
    """
    word, tone = ("agree", "good") if agrees else ("disagree", "bad")
    state = (
        f"Theory and training {word}."
        if finished
        else f"Running: partial results; theory and training {word}."
    )
    rows = "".join(
        f"<tr{'' if claim.agrees else ' class=bad'}>"
        + "".join(
            f"<td>{html.escape(cell)}</td>"
            for cell in (claim.claim, claim.theory, claim.training, claim.deviation)
        )
        + f"<td>{'agrees' if claim.agrees else 'DISAGREES'}</td></tr>"
        for section in sections
        for claim in section.claims
    )
    notes = "".join(f"<p>{html.escape(one.note)}</p>" for one in sections if one.note)
    contents = "".join(
        f'<li><a href="#{_anchor(one.title)}">{html.escape(one.title)}</a></li>' for one in sections
    )
    return (
        '<section class="verdict '
        f'{tone}"><h2>{state}</h2></section><table><thead><tr><th>claim</th><th>theory</th>'
        f"<th>training</th><th>deviation</th><th>verdict</th></tr></thead><tbody>{rows}"
        f"</tbody></table>{notes}"
        f"<nav><h2>Contents</h2><ol>{contents}</ol></nav>"
    )


def section_element(section: Section, images: Mapping[str, bytes]) -> str:
    """Return one section: verdict, figures, tables, and all lines of text.

    Args:
        section: the section.
        images: PNG files by name.
    """
    tone, word = ("good", "agrees") if section.agrees else ("bad", "disagrees")
    figures = "".join(
        figure_element(figure.caption, images[name]) for name, figure in section.figures.items()
    )
    lines = html.escape(section.text)
    return (
        f'<section id="{_anchor(section.title)}"><h2>{html.escape(section.title)}</h2><p '
        f'class="{tone}">{word}</p>{figures}'
        f"<pre>{lines}</pre></section>{''.join(section.tables)}"
    )


def _anchor(title: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in title.lower())


def figure_element(caption: str, content: bytes) -> str:
    """Return a PNG figure with its caption.

    Args:
        caption: text below the figure.
        content: PNG file.
    """
    source, caption = base64.b64encode(content).decode(), html.escape(caption)
    return (
        f'<figure><img alt="{caption}" '
        f'src="data:image/png;base64,{source}"><figcaption>{caption}</figcaption></figure>'
    )


def score_table(title: str, scores: Sequence[Score], quantities: Sequence[str]) -> str:
    """Return a table of every score, quantity by quantity.

    Args:
        title: title of the table.
        scores: the scores.
        quantities: quantities in their order.
    """
    head = "".join(
        f"<th>{name}</th>"
        for name in (
            "",
            "α",
            "κ",
            "d",
            "simulation",
            "theory",
            "raw difference",
            "extrapolated",
            "z",
        )
    )
    body = "".join(_row(s) for q in quantities for s in scores if s.quantity == q)
    return (
        f"<section><h2>{html.escape(title)}</h2><p>Simulation, theory and raw difference at the "
        "largest d; "
        "extrapolated: the residual "
        "a of r(d) = a + c/d (and e/d² with three sizes) with its standard error; z: a over that "
        "error, through Student's t.</p>"
        "<table "
        f'class="points"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>'
    )


def _row(score: Score) -> str:
    last = score.groups[-1] if score.groups else None
    cells = [LABELS[score.quantity], f"{score.problem.alpha:g}", f"{score.problem.width:g}"]
    if last is None:
        cells += ["", "no run converged", "", "", "", ""]
    else:
        cells += [
            ", ".join(f"{g.dim} × {g.runs}" for g in score.groups),
            f"{last.simulation:.5f} ± {formatted(last.standard_error, '.5f')}",
            f"{last.theory:.5f}",
            f"{score.raw_percent:+.2f} %, {formatted(score.raw_in_errors, '+.1f')} SE",
            f"{formatted(score.residual, '+.5f')} ± {formatted(score.standard_error, '.5f')}",
            formatted(score.z, "+.2f"),
        ]
    tone = "" if score.agrees else ' class="bad"'
    return f"<tr{tone}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def formatted(value: float, form: str) -> str:
    """Return the value in a format, or as plain text if the format does not apply.

    Args:
        value: any value.
        form: format specification.
    """
    return format(value, form) if math.isfinite(value) else "undetermined"


def equations(model: str = DEFAULT) -> str:
    """All equations of a model, step by step."""
    steps: dict[str, list[dict[str, str]]] = {}
    for equation in json.loads(record("equations", model)):
        steps.setdefault(equation["step"], []).append(equation)
    parts = "".join(_step(step, shown) for step, shown in steps.items())
    return (
        "<section><h2>Equations</h2><p>All derived, none typed; folded: steps of "
        f"detail.</p>{parts}</section>"
    )


def _step(step: str, shown: list[dict[str, str]]) -> str:
    lines = "".join(
        f'<div class="equation">{_formula(e["latex"])}<span>{html.escape(e["id"])}</span></div>'
        for e in shown
    )
    is_open = " open" if step in MAIN_STEPS else ""
    return f"<details{is_open}><summary>{html.escape(shown[0]['title'])}</summary>{lines}</details>"


def how_to_repeat(rows: Mapping[str, object] | None = None) -> str:
    """Return the command with all arguments, the version of the code, and further facts."""
    known = current().for_others()
    arguments = ", ".join(f"{name} = {_shown(value)}" for name, value in known.arguments.items())
    code = {"version": known.version, "commit": known.commit}
    return facts(
        "How to repeat it",
        {"command": known.command, **code, "arguments": arguments, **(rows or {})},
    )


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _formula(latex: str) -> str:
    """Return a LaTeX formula as MathML.

    Entities are escaped here: the library returns them as text and would parse the text of a
    formula as elements.
    """
    element = convert_to_element(latex, display="block")
    for node in element.iter():
        node.text = node.text and html.unescape(node.text)
    return tostring(element, encoding="unicode")


def facts(title: str, rows: Mapping[str, object]) -> str:
    """Return a table of names and values.

    Args:
        title: title of the table.
        rows: names and values.
    """
    body = "".join(
        f"<tr><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>" for k, v in rows.items()
    )
    return f"<section><h2>{html.escape(title)}</h2><table>{body}</table></section>"
