"""Every figure by its name."""

from __future__ import annotations

from verify.core.paper_figure import PaperFigure
from verify.studies.learning_curves.presets import LEARNING_CURVES
from verify.studies.low_rank.preset import LowRankFigure
from verify.studies.rank_thresholds.study import ThresholdFigure
from verify.studies.scaling.presets import SCALING_FIGURES
from verify.studies.sequence_output.preset import SequenceOutputFigure

_ALL: dict[str, PaperFigure] = {
    **LEARNING_CURVES,
    **SCALING_FIGURES,
    "8": ThresholdFigure(),
    "low-rank": LowRankFigure(),
    "sequence-output": SequenceOutputFigure(),
}


def _order(name: str) -> tuple[bool, str]:
    """By the number in the paper, then those that the paper does not have."""
    return not name.isdigit(), name.zfill(2)


FIGURES = {name: _ALL[name] for name in sorted(_ALL, key=_order)}
