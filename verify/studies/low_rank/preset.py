"""Figure of the rank of S along the sample ratio, at the parameters of Figure 1."""

from __future__ import annotations

import numpy as np

from verify.core.paper import figure_one
from verify.core.paper_figure import PaperFigure, Request
from verify.studies.low_rank.section import rank_section
from verify.studies.low_rank.study import RankPlan, study_ranks

_LINE = tuple(np.geomspace(0.03, 1000, 46).tolist())
_FEW = (0.05, 0.1, 0.2, 0.4, 1.0, 3.0, 10.0)
#: Sample ratios by kappa0. The split at kappa0 = 0.8 needs more samples than fit a run of 1 min.
_ALPHAS = {0.2: _FEW, 0.5: (*_FEW, 30.0), 0.8: _FEW}


def _plan(request: Request) -> RankPlan:
    return RankPlan(request.configure(figure_one()), _ALPHAS, request.sizes, _LINE)


LOW_RANK = PaperFigure(
    "rank of S along the sample ratio, and where its spectrum splits in two bulks",
    ((40, 12), (60, 12)),
    ((60, 12), (100, 12)),
    _plan,
    study_ranks,
    rank_section,
)
