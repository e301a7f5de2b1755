"""Table of all figures by name."""

from __future__ import annotations

from typing import Any

from verify.core.paper_figure import PaperFigure
from verify.studies.learning_curves.presets import LEARNING_CURVES
from verify.studies.low_rank.preset import LOW_RANK
from verify.studies.rank_thresholds.preset import RANK_THRESHOLDS
from verify.studies.scaling.presets import SCALING_FIGURES
from verify.studies.sequence_output.preset import SEQUENCE_OUTPUT

_ALL: dict[str, PaperFigure[Any, Any]] = {
    **LEARNING_CURVES,
    **SCALING_FIGURES,
    "8": RANK_THRESHOLDS,
    "low-rank": LOW_RANK,
    "sequence-output": SEQUENCE_OUTPUT,
}


def _order(name: str) -> tuple[bool, str]:
    """Return the sort key of a figure: number in the paper first, then figures beyond the paper."""
    return not name.isdigit(), name.zfill(2)


FIGURES = {name: _ALL[name] for name in sorted(_ALL, key=_order)}
