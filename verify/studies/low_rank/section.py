"""The rank of S as a section of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from verify.core.documents import score_document
from verify.core.section import Section, ShownFigure
from verify.studies.low_rank.figure import rank_figure
from verify.studies.low_rank.study import RankCurve

_TITLE = "Rank of S along the sample ratio"


def rank_section(curves: Sequence[RankCurve]) -> Section:
    """Return the ranks of trained heads compared with the theory, one curve per target."""
    return Section(
        _TITLE,
        all(curve.agrees for curve in curves),
        tuple(line for curve in curves for line in _lines(curve)),
        {"curves": [_document(curve) for curve in curves]},
        figures={"low_rank": ShownFigure(_TITLE, partial(rank_figure, curves))},
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
    yield (
        f"kappa0 {curve.kappa0:g}: two bulks from alpha = {split.alpha:.6g} ({split.error:.1g}) "
        f"on; rank {curve.verdict.advice}\n"
    )
    for score in (*curve.ranks, *curve.uppers):
        name = "rank" if score.quantity == "rank" else "upper bulk"
        group = score.groups[-1]
        yield (
            f"  alpha {score.problem.alpha:<5g} {name:<10}  theory {group.theory:.4f}  trained "
            f"{group.simulation:.4f}"
            f" ({group.standard_error:.4f}) at d = {group.dim}  z {score.z:+.1f}\n"
        )
