"""Two figures that the paper does not have: the rank of S with the split of its spectrum, and heads trained on whole sequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from verify.figures.drawing import styled
from verify.figures.output import output_figure
from verify.figures.ranks import rank_figure
from verify.gallery.drawn import DrawnFigure, Request, Sizes
from verify.jobs.pool import Pool
from verify.jobs.store import Store
from verify.phenomena.output import OutputDifference, OutputOutcome, study_outputs
from verify.phenomena.rank import RankCurve, study_ranks
from verify.report.documents import comparison_document, score_document
from verify.report.lines import comparison_lines
from verify.studies.main_job import FIGURE_ONE
from verify.training.measure import RunResult

_RANK_LINE = tuple(np.geomspace(0.03, 1000, 46).tolist())
_FEW = (0.05, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0)
_RANK_PLAN = {0.2: _FEW, 0.5: (*_FEW, 30.0), 0.8: _FEW}  #: the last split needs more samples than fit a minute's run
_OUTPUT_ALPHAS = (0.3, 1.0, 3.0)
_OUTPUT_LINE = tuple(np.geomspace(0.2, 4.5, 25).tolist())
_MORE_TOKENS = 3


@dataclass(frozen=True)
class RankFigure:
    """Rank along alpha for three targets, at the parameters of Figure 1."""

    title: str = "rank of S along the sample ratio, and where its spectrum splits in two bulks"

    def sizes(self, paper: bool) -> Sizes:
        """Two, to extrapolate from."""
        return ((60, 12), (100, 12)) if paper else ((40, 12), (60, 12))

    def draw(self, request: Request, pool: Pool) -> DrawnFigure:
        """As `PaperFigure.draw`."""
        base, store = FIGURE_ONE.varied(**request.execution), Store(request.folder, RunResult)
        curves = study_ranks(base, _RANK_PLAN, request.sizes, _RANK_LINE, store, pool)
        document = {"curves": [_rank_document(curve) for curve in curves]}
        lines = tuple(line for curve in curves for line in _rank_lines(curve))
        images = styled(partial(rank_figure, curves))
        return DrawnFigure("low_rank", images, document, lines, all(curve.agrees for curve in curves))


def _rank_document(curve: RankCurve) -> dict[str, Any]:
    split = curve.theory.split
    return {
        "kappa0": curve.kappa0,
        "split_alpha": split.alpha,
        "split_error": split.error,
        "alpha": curve.theory.alphas,
        "rank": curve.theory.ranks,
        "bulks": curve.theory.bulks,
        "scores": [score_document(score) for score in (*curve.ranks, *curve.uppers)],
    }


def _rank_lines(curve: RankCurve) -> Iterator[str]:
    split = curve.theory.split
    yield f"kappa0 {curve.kappa0:g}: two bulks from alpha = {split.alpha:.6g} ({split.error:.1g}) on; rank {curve.verdict.advice}\n"
    for score in (*curve.ranks, *curve.uppers):
        name = "rank" if score.quantity == "rank" else "upper bulk"
        group = score.groups[-1]
        yield (
            f"  alpha {score.problem.alpha:<5g} {name:<10}  theory {group.theory:.4f}  trained {group.simulation:.4f}"
            f" ({group.standard_error:.4f}) at d = {group.dim}  z {score.z:+.1f}\n"
        )


@dataclass(frozen=True)
class OutputFigure:
    """Both outputs at the parameters of Figure 1, and their differences along d."""

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
        base, store = FIGURE_ONE.varied(**request.execution), Store(request.folder, RunResult)
        outcome = study_outputs(base, _OUTPUT_ALPHAS, _MORE_TOKENS, request.sizes, _OUTPUT_LINE, store, pool)
        document = {
            "theory": {
                name: [getattr(s, name) for s in outcome.line] for name in ("m", "q", "train_error", "test_error")
            },
            "alpha": [s.problem.alpha for s in outcome.line],
            "comparisons": {str(output): comparison_document(item) for output, item in outcome.comparisons.items()},
            "differences": [_difference_document(difference) for difference in outcome.differences],
        }
        images = styled(partial(output_figure, outcome))
        return DrawnFigure("sequence_output", images, document, tuple(_output_lines(outcome)), outcome.agrees)


def _difference_document(difference: OutputDifference) -> dict[str, Any]:
    terms = {
        name: term and {"value": term.value, "error": term.error}
        for name in ("root", "inverse", "slope", "expected_root")
        for term in [getattr(difference, name)]
    }
    return {
        "alpha": difference.problem.alpha,
        "tokens": difference.problem.tokens,
        **{name: getattr(difference, name) for name in ("quantity", "dims", "means", "errors", "labels")},
        **terms,
        "z": difference.z if difference.expected_root else None,
    }


def _output_lines(outcome: OutputOutcome) -> Iterator[str]:
    for output, comparison in outcome.comparisons.items():
        yield from comparison_lines(f"trained on {output}", comparison)
    yield "what training on sequences changes, as a/sqrt(d) + b/d:\n"
    for item in outcome.differences:
        expected = f"  theory a {item.expected_root.value:+.4f}  z {item.z:+.1f}" if item.expected_root else ""
        slope = f"  slope in d {item.slope.value:+.2f} ({item.slope.error:.2f})" if item.slope else ""
        yield (
            f"  T {item.problem.tokens}  alpha {item.problem.alpha:<4g} {item.quantity:<12}"
            f" a {item.root.value:+.4f} ({item.root.error:.4f})  b {item.inverse.value:+.3f} ({item.inverse.error:.3f})"
            f"{expected}{slope}\n"
        )
