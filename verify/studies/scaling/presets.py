"""Scaling laws of the paper at gamma = 3/4 and noise 1/2: parts of the error, its decay, and its
regimes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from matplotlib.figure import Figure

from numeric.laws.power_law import power_law
from numeric.problem.decay_law import DecayLaw
from verify.core.data import DataKind
from verify.core.paper import figure_one
from verify.core.paper_figure import PaperFigure, Request, Sizes
from verify.core.run import MINIMUM_DIM
from verify.core.section import Section, ShownFigure
from verify.studies.scaling.figure import excess_figure, regime_figure, trained_decomposition_figure
from verify.studies.scaling.plan import ScalingPlan
from verify.studies.scaling.study import ScalingOutcome, study_scaling
from verify.studies.scaling.text import scaling_document, scaling_lines

_GAMMA = 0.75
ALPHAS = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
DECAYS = (DecayLaw("1/d", power=-1.0), DecayLaw("1"), DecayLaw("sqrt(d)", power=0.5))
TILES = 5  #: cells of the phase diagram in each direction


Drawing = Callable[[ScalingOutcome], Figure]

#: Drawings by file name.
DRAWINGS: dict[str, Drawing] = {
    "decomposition": trained_decomposition_figure,
    "scaling": excess_figure,
    "regimes": regime_figure,
}


def _figure(
    title: str,
    drawing: str,
    decays: tuple[DecayLaw, ...],
    alphas: tuple[float, ...],
    own_sizes: Sizes,
    paper_sizes: Sizes,
    spectra: tuple[tuple[float, int], ...] = (),
    tiles: int = 0,
    data: DataKind = DataKind.SEQUENCES,
) -> PaperFigure[ScalingPlan, ScalingOutcome]:
    """Return a figure that shows one of DRAWINGS.

    Args:
        title: contents in a few words.
        drawing: key of DRAWINGS.
        decays, alphas, spectra, tiles, data: fields of ScalingPlan.
        own_sizes: default (d, number of runs).
        paper_sizes: (d, number of runs) of the paper.
    """

    def plan(request: Request) -> ScalingPlan:
        base = request.configure(figure_one()).varied(
            target=power_law(_GAMMA, MINIMUM_DIM), dim=MINIMUM_DIM, data=data
        )
        return ScalingPlan(base, decays, alphas, request.sizes, spectra, tiles)

    def show(outcome: ScalingOutcome) -> Section:
        figures = {drawing: ShownFigure(title, partial(DRAWINGS[drawing], outcome))}
        lines = tuple(scaling_lines(outcome))
        return Section(title, outcome.agrees, lines, scaling_document(outcome), figures=figures)

    return PaperFigure(title, own_sizes, paper_sizes, plan, study_scaling, show)


_FAR = (
    *ALPHAS,
    6.4,
    12.8,
    25.6,
)  #: sample ratios at which a student learns with the strongest weight decay, sqrt(d)
_SMALL, _PAPER = ((40, 8), (60, 8)), ((100, 8), (200, 8))

SCALING_FIGURES = {
    "3": _figure(
        "parts of the error along n, with spectra",
        "decomposition", DECAYS[:1], ALPHAS, ((28, 8), (40, 8)), ((40, 16), (56, 16)),
        spectra=((0.05, 8), (0.4, 8), (3.2, 8)), data=DataKind.GAUSSIAN_EQUIVALENT,
    ),
    "4": _figure(
        "excess error along n at three weight decays, with spectra",
        "scaling", DECAYS, _FAR, _SMALL, _PAPER, spectra=((0.1, 8), (12.8, 2)),
    ),
    "5": _figure(
        "regimes in the plane of samples and weight decay, with a spectrum in each",
        "regimes", DECAYS, _FAR, _SMALL, _PAPER, tiles=TILES,
    ),
}  # fmt: skip
