"""Every figure by its name."""

from __future__ import annotations

from verify.gallery.beyond import OutputFigure, RankFigure
from verify.gallery.drawn import PaperFigure
from verify.gallery.learning_curves import LEARNING_CURVES
from verify.gallery.scaling import SCALING_FIGURES
from verify.gallery.thresholds import ThresholdFigure

_ALL: dict[str, PaperFigure] = {
    **LEARNING_CURVES,
    **SCALING_FIGURES,
    "8": ThresholdFigure(),
    "low-rank": RankFigure(),
    "sequence-output": OutputFigure(),
}


def _order(name: str) -> tuple[bool, str]:
    """By the number in the paper, then those that the paper does not have."""
    return not name.isdigit(), name.zfill(2)


FIGURES = {name: _ALL[name] for name in sorted(_ALL, key=_order)}
