"""Heads trained on sequences next to labels, as a section of a report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from verify.core.documents import comparison_document
from verify.core.realised_problem import COMPARED_QUANTITIES
from verify.core.section import Section, ShownFigure
from verify.core.text import comparison_lines
from verify.studies.sequence_output.figure import output_figure
from verify.studies.sequence_output.study import OutputDifference, OutputOutcome

_TITLE = "Training on sequences next to training on labels"


def output_section(outcome: OutputOutcome) -> Section:
    """Return heads of either output compared with the theory, and the differences along d."""
    document = {
        "theory": {name: [getattr(s, name) for s in outcome.line] for name in COMPARED_QUANTITIES},
        "alpha": [s.problem.alpha for s in outcome.line],
        "comparisons": {
            str(output): comparison_document(item) for output, item in outcome.comparisons.items()
        },
        "differences": [_difference_document(difference) for difference in outcome.differences],
    }
    figure = ShownFigure(_TITLE, partial(output_figure, outcome))
    return Section(
        _TITLE, outcome.agrees, tuple(_lines(outcome)), document,
        figures={"sequence_output": figure},
    )  # fmt: skip


def _difference_document(difference: OutputDifference) -> dict[str, Any]:
    terms = {
        name: term and {"value": term.value, "error": term.error}
        for name in ("root", "inverse", "slope", "expected_root")
        for term in [getattr(difference, name)]
    }
    return {
        "alpha": difference.problem.alpha,
        "tokens": difference.problem.tokens,
        **{
            name: getattr(difference, name)
            for name in ("quantity", "dims", "means", "errors", "labels")
        },
        **terms,
        "z": difference.z if difference.expected_root else None,
    }


def _lines(outcome: OutputOutcome) -> Iterator[str]:
    for output, comparison in outcome.comparisons.items():
        yield from comparison_lines(f"trained on {output}", comparison)
    yield "what training on sequences changes, as a/sqrt(d) + b/d:\n"
    for item in outcome.differences:
        expected = (
            f"  theory a {item.expected_root.value:+.4f}  z {item.z:+.1f}"
            if item.expected_root
            else ""
        )
        slope = (
            f"  slope in d {item.slope.value:+.2f} ({item.slope.error:.2f})" if item.slope else ""
        )
        yield (
            f"  T {item.problem.tokens}  alpha {item.problem.alpha:<4g} {item.quantity:<12}"
            f" a {item.root.value:+.4f} ({item.root.error:.4f})  b {item.inverse.value:+.3f} "
            f"({item.inverse.error:.3f})"
            f"{expected}{slope}\n"
        )
