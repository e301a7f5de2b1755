"""Sections of exponents: approached by the theory, and measured on trained students."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from numeric.maths.domain import finite
from verify.core.section import Claim, Section, ShownFigure
from verify.studies.exponents.figure import exponent_figure
from verify.studies.exponents.study import ExponentOutcome
from verify.studies.exponents.text import exponent_document, exponent_lines, near_words, slopes_text
from verify.studies.exponents.theory import Approach

_CAPTION = (
    "Slopes of trained students at each d with 95 % intervals, and of the theory along the same "
    "path, which tends to the "
    "derived exponent."
)


def theory_exponent_section(approaches: tuple[Approach, ...]) -> Section:
    """Return the derived exponents with local slopes of the theory at growing d."""
    claims = tuple(
        Claim(
            f"exponent {one.exponent}, theory, d = {one.slopes[-1][0]:.0e}",
            f"{one.slopes[-1][1]:.4f}",
            "",
            "to 0.01" if one.reached else "closer" if one.approached else "not closer",
            one.approached,
        )
        for one in approaches
    )
    document = [
        {
            "regime": a.regime,
            "exponent": str(a.exponent),
            "reached": a.reached,
            "closes_in": a.approached,
            "slopes": [
                {"dim": dim, "slope": slope, "error": error} for dim, slope, error in a.slopes
            ],
            "left_out": a.left_out,
            "settled_log10_dim": finite(a.settled),
            "near_log10_dim": finite(a.near),
        }
        for a in approaches
    ]
    return Section(
        "Scaling exponents: derived, and reached by the theory",
        all(one.approached for one in approaches),
        tuple(line for one in approaches for line in _approach_lines(one)),
        {"exponents": document},
        claims,
    )


def _approach_lines(approach: Approach) -> Iterator[str]:
    slopes = slopes_text((dim, slope) for dim, slope, _ in approach.slopes)
    word = (
        "reached" if approach.reached else "approached" if approach.approached else "NOT APPROACHED"
    )
    yield f"exponent {approach.exponent} ({approach.regime}): {word} by the theory\n"
    yield f"  slope {slopes}\n"
    yield f"  {near_words(approach.near)}\n"


def exponent_section(outcome: ExponentOutcome) -> Section:
    """Return the exponents measured on trained students."""
    claims = tuple(
        Claim(
            f"exponent {one.exponent}, trained students",
            f"{float(one.exponent):.4f}",
            f"{one.estimate:.3f}",
            f"z {one.estimate.z(float(one.exponent)):+.1f}",
            one.agrees,
        )
        for one in outcome.exponents
    )
    return Section(
        "Scaling exponents of trained students",
        outcome.agrees,
        tuple(exponent_lines(outcome)),
        exponent_document(outcome),
        claims,
        {"exponents": ShownFigure(_CAPTION, partial(exponent_figure, outcome))},
    )
