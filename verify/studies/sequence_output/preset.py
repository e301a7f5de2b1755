"""Figure of heads trained on sequences next to labels, at the parameters of Figure 1."""

from __future__ import annotations

import numpy as np

from verify.core.paper import figure_one
from verify.core.paper_figure import PaperFigure, Request
from verify.studies.sequence_output.section import output_section
from verify.studies.sequence_output.study import OutputPlan, study_outputs

_ALPHAS = (0.3, 1.0, 3.0)
_LINE = tuple(np.geomspace(0.2, 4.5, 25).tolist())
_MORE_TOKENS = 3


def _plan(request: Request) -> OutputPlan:
    return OutputPlan(request.configure(figure_one()), _ALPHAS, _MORE_TOKENS, request.sizes, _LINE)


#: The sizes are far enough apart to distinguish 1/d from d^-1/2.
SEQUENCE_OUTPUT = PaperFigure(
    "heads trained on their output sequences, compared with training on labels",
    ((20, 12), (30, 8), (40, 8), (60, 6), (80, 6)),
    ((20, 24), (30, 16), (40, 16), (60, 12), (100, 12)),
    _plan,
    study_outputs,
    output_section,
)
