"""Figure 8: thresholds along the rank of the target."""

from __future__ import annotations

from fractions import Fraction

from verify.core.paper_figure import PaperFigure, Request
from verify.studies.rank_thresholds.section import rank_threshold_section
from verify.studies.rank_thresholds.study import RankThresholdPlan, study_rank_thresholds

_NOISES = tuple(map(Fraction, ("1/20", "1/2", "1", "100")))
_STEPS = 50  #: steps of kappa0 from 0 to 1
_SMALLEST = tuple(Fraction(k, 1000) for k in (1, 4, 10))  #: recovery is steep near kappa0 = 0


def _plan(request: Request) -> RankThresholdPlan:
    steps = (Fraction(k, _STEPS) for k in range(1, _STEPS + 1))
    return RankThresholdPlan((*_SMALLEST, *steps), _NOISES)


RANK_THRESHOLDS = PaperFigure(
    "thresholds along the rank of the target: recovery, interpolation, direct training",
    (),
    (),
    _plan,
    study_rank_thresholds,
    rank_threshold_section,
)
