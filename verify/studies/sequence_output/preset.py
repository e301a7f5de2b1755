"""Heads trained on the sequences that they put out, beside labels, at the parameters of Figure 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from verify.core.documents import comparison_document
from verify.core.drawing import styled
from verify.core.measure import RunResult
from verify.core.paper import figure_one
from verify.core.paper_figure import DrawnFigure, Request, Sizes
from verify.core.pool import Pool
from verify.core.realised import COMPARED_QUANTITIES
from verify.core.store import Store
from verify.core.text import comparison_lines
from verify.studies.sequence_output.figure import output_figure
from verify.studies.sequence_output.study import OutputDifference, OutputOutcome, study_outputs

_ALPHAS = (0.3, 1.0, 3.0)
_LINE = tuple(np.geomspace(0.2, 4.5, 25).tolist())
_MORE_TOKENS = 3


@dataclass(frozen=True)
class SequenceOutputFigure:
    """Both outputs, and their differences along d."""

    title: str = "heads trained on the sequences that they put out, beside labels"

    def sizes(self, paper: bool) -> Sizes:
        """Far enough apart to tell 1/d from its root."""
        return (
            ((20, 24), (30, 16), (40, 16), (60, 12), (100, 12))
            if paper
            else ((20, 12), (30, 8), (40, 8), (60, 6), (80, 6))
        )

    def draw(self, request: Request, pool: Pool) -> DrawnFigure:
        """As `PaperFigure.draw`."""
        base, store = figure_one().varied(**request.execution), Store(request.folder, RunResult)
        outcome = study_outputs(base, _ALPHAS, _MORE_TOKENS, request.sizes, _LINE, store, pool)
        document = {
            "theory": {
                name: [getattr(s, name) for s in outcome.line] for name in COMPARED_QUANTITIES
            },
            "alpha": [s.problem.alpha for s in outcome.line],
            "comparisons": {
                str(output): comparison_document(item)
                for output, item in outcome.comparisons.items()
            },
            "differences": [_difference_document(difference) for difference in outcome.differences],
        }
        images = styled(partial(output_figure, outcome))
        return DrawnFigure(
            "sequence_output", images, document, tuple(_lines(outcome)), outcome.agrees
        )


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
            f" a {item.root.value:+.4f} ({item.root.error:.4f})  b {item.inverse.value:+.3f} ({item.inverse.error:.3f})"
            f"{expected}{slope}\n"
        )
