"""Figure of the thresholds seen in training."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from verify.figures.curve_panel import COLOURS
from verify.figures.drawing import STYLE, png
from verify.studies.thresholds import Sighting


def threshold_figure(sightings: Sequence[Sighting]) -> bytes:
    """Return as a PNG file the vanishing roots against the sample ratio, with crossings and proven thresholds."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        for axes, sighting in zip(figure.subplots(1, len(sightings), squeeze=False)[0], sightings, strict=True):
            _threshold_panel(axes, sighting)
        return png(figure)


def _threshold_panel(axes: Axes, sighting: Sighting) -> None:
    for colour, item in zip(COLOURS, sighting.points, strict=False):
        axes.errorbar(
            item.alphas,
            item.means(),
            item.errors(),
            fmt="o",
            ms=4,
            capsize=2,
            color=colour,
            label=f"trained, $d={item.dim}$",
        )
    for colour, item in zip(COLOURS, sighting.beyond, strict=False):
        axes.errorbar(item.alphas, item.means(), item.errors(), fmt="o", ms=4, capsize=2, mfc="white", color=colour)
    axes.plot(*sighting.theory, "k-", lw=1, label=r"theory, $d\to\infty$")
    proven, infinite = float(sighting.proven), sighting.crossing.infinite
    axes.axvline(proven, color="k", ls=":", lw=1, label=f"proven {sighting.proven.value[:8]}")
    axes.axvspan(infinite.low, infinite.high, color=COLOURS[3], alpha=0.2, lw=0, label="crossing, 95 %")
    axes.axhline(0, color="0.6", lw=0.6)
    axes.set_xlabel(r"sample ratio $\alpha = n/d^2$")
    axes.set_ylabel(f"square root of the {sighting.kind.label}")
    axes.set_title(sighting.kind.name)
    axes.legend(fontsize=9, loc="lower right" if sighting.kind.beyond < 1 else "lower left")
