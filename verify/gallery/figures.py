"""Every figure by its name."""

from __future__ import annotations

from verify.gallery.drawn import PaperFigure
from verify.gallery.learning_curves import LEARNING_CURVES
from verify.gallery.low_rank import LowRankFigure
from verify.gallery.scaling import SCALING_FIGURES
from verify.gallery.sequence_output import SequenceOutputFigure
from verify.gallery.thresholds import ThresholdFigure

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
