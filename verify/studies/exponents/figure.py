"""Figure of slopes along d, trained and of the theory, and the exponents."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import COLOURS, Sheet, legend_above, paper
from verify.studies.exponents.run import TOKENS
from verify.studies.exponents.study import ExponentEstimate, ExponentOutcome

_TITLES = {"decay": "limited by weight decay", "noise": "limited by noise"}


def exponent_figure(outcome: ExponentOutcome) -> Figure:
    """Return slopes against d, one panel for each cell; dashed: derived exponents."""
    paths = list(dict.fromkeys(one.path for one in outcome.exponents))
    beyond = any(one.approach for one in outcome.exponents)
    figure = Sheet(min(2, len(paths)), 2.8)
    panels = figure.subplots(1, len(paths), squeeze=False)[0]
    for axes, path in zip(panels, paths, strict=True):
        exponents = [one for one in outcome.exponents if one.path == path]
        for colour, one in zip(COLOURS, exponents, strict=False):
            _draw(axes, one, colour)
        quantity = path.quantity.replace("_", " ")
        logarithmic(axes.xaxis)
        axes.set(xlabel="$d$", ylabel=f"d log({quantity})/d log $n$")
        legend_above(axes, 1, title=_TITLES[path.name])
        if not beyond:  # ticks at decades otherwise
            dims = sorted({slope.dim for one in exponents for slope in one.slopes})
            axes.set_xticks(dims, [str(dim) for dim in dims])
            axes.minorticks_off()
    add_caption(
        figure,
        rf"$\Delta = {outcome.plan.noise:g}$, $T = {TOKENS}$",
        "points: trained, with intervals of 95 %",
        "lines: theory",
        "crosses: theory beyond training" if beyond else "",
        "dashed: derived exponents",
    )
    return figure


def _draw(axes: Axes, one: ExponentEstimate, colour: str) -> None:
    dims, trained = [slope.dim for slope in one.slopes], [slope.trained for slope in one.slopes]
    bars = np.hstack([interval.bars for interval in trained])
    name = rf"$\gamma = {one.gamma}$, exponent ${one.exponent}$"
    axes.errorbar(
        dims,
        [s.value for s in trained],
        bars,
        fmt="o",
        ms=4.5,
        mfc=paper(),
        capsize=2,
        color=colour,
        label=name,
    )
    axes.plot(dims, [slope.theory for slope in one.slopes], color=colour, lw=1.2)
    if one.approach:
        beyond, slopes = zip(*one.approach, strict=True)
        axes.plot(beyond, slopes, "x", ms=4, color=colour)
        axes.plot((dims[-1], *beyond), (one.slopes[-1].theory, *slopes), ":", lw=0.9, color=colour)
    axes.axhline(float(one.exponent), color=colour, lw=0.8, ls="--")
