"""The rank of S along the sample ratio, with the split of its spectrum, at the parameters of Figure 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from verify.core.documents import score_document
from verify.core.drawing import styled
from verify.core.measure import RunResult
from verify.core.paper import figure_one
from verify.core.paper_figure import DrawnFigure, Request, Sizes
from verify.core.pool import Pool
from verify.core.store import Store
from verify.studies.low_rank.figure import rank_figure
from verify.studies.low_rank.study import RankCurve, study_ranks

_LINE = tuple(np.geomspace(0.03, 1000, 46).tolist())
_FEW = (0.05, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0)
_PLAN = {
    0.2: _FEW,
    0.5: (*_FEW, 30.0),
    0.8: _FEW,
}  #: the last split needs more samples than fit a minute's run


@dataclass(frozen=True)
class LowRankFigure:
    """Three targets."""

    title: str = "rank of S along the sample ratio, and where its spectrum splits in two bulks"

    def sizes(self, paper: bool) -> Sizes:
        """Two, to extrapolate from."""
        return ((60, 12), (100, 12)) if paper else ((40, 12), (60, 12))

    def draw(self, request: Request, pool: Pool) -> DrawnFigure:
        """As `PaperFigure.draw`."""
        base, store = figure_one().varied(**request.execution), Store(request.folder, RunResult)
        curves = study_ranks(base, _PLAN, request.sizes, _LINE, store, pool)
        document = {"curves": [_document(curve) for curve in curves]}
        lines = tuple(line for curve in curves for line in _lines(curve))
        images = styled(partial(rank_figure, curves))
        return DrawnFigure(
            "low_rank", images, document, lines, all(curve.agrees for curve in curves)
        )


def _document(curve: RankCurve) -> dict[str, Any]:
    split = curve.theory.split
    return {
        "kappa0": curve.kappa0,
        "split_alpha": split.alpha,
        "split_error": split.error,
        "alpha": curve.theory.alphas,
        "rank": curve.theory.ranks,
        "bulks": curve.theory.bulks,
        "singular_values": [
            {"alpha": alpha, "values": values} for alpha, values in curve.spectra.items()
        ],
        "scores": [score_document(score) for score in (*curve.ranks, *curve.uppers)],
    }


def _lines(curve: RankCurve) -> Iterator[str]:
    split = curve.theory.split
    yield f"kappa0 {curve.kappa0:g}: two bulks from alpha = {split.alpha:.6g} ({split.error:.1g}) on; rank {curve.verdict.advice}\n"
    for score in (*curve.ranks, *curve.uppers):
        name = "rank" if score.quantity == "rank" else "upper bulk"
        group = score.groups[-1]
        yield (
            f"  alpha {score.problem.alpha:<5g} {name:<10}  theory {group.theory:.4f}  trained {group.simulation:.4f}"
            f" ({group.standard_error:.4f}) at d = {group.dim}  z {score.z:+.1f}\n"
        )
