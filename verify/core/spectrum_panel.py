"""Drawing of singular values of the learned map: theory, trained heads, target."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.style import COLOURS, Sheet, ink
from numeric.problem.problem import Problem
from verify.core.spectra import ZERO, TrainedSpectrum


def trained_spectrum_figure(spectra: Sequence[TrainedSpectrum], problem: Problem) -> Figure:
    """Draw one panel per alpha.

    Args:
        spectra: spectra to draw.
        problem: settings of all of them.
    """
    columns = min(4, len(spectra))
    rows = math.ceil(len(spectra) / columns)
    figure = Sheet(1 if columns < 3 else 2, 1.9 * rows)
    part = figure.subfigures(1, 1, squeeze=False)[0, 0]  # its legend is above the caption
    draw_spectra(part.subplots(rows, columns, squeeze=False).ravel().tolist(), spectra)
    add_caption(figure, settings(problem, "alpha"))
    return figure


def draw_spectra(panels: Sequence[Axes], spectra: Sequence[TrainedSpectrum]) -> None:
    """Draw a panel for each spectrum: density of the theory, histogram of the trained values,
    density of the target dashed; a legend in the first panel.

    Args:
        panels: axes, one for each spectrum.
        spectra: spectra to draw.
    """
    for axes, spectrum in zip(panels, spectra, strict=False):
        _spectrum_panel(axes, spectrum)
    panels[0].set_ylabel("density")
    figure = panels[0].get_figure()
    assert figure is not None  # an axes object belongs to one figure
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _spectrum_panel(axes: Axes, panel: TrainedSpectrum) -> None:
    values = panel.values.ravel()
    nonzero = values[values > ZERO * values.max()]
    # narrow bins at small values, where a spike of learned noise is next to a broad bulk
    edges = nonzero.max() * np.linspace(0, 1, max(12, round(1.6 * len(nonzero) ** 0.4)) + 1) ** 1.6
    heights, _ = np.histogram(nonzero, bins=edges)
    density = heights / (
        len(values) * np.diff(edges)
    )  # relative to all values, so that the area is the non-zero mass
    axes.stairs(density, edges, fill=True, color=ink(0.82), label=f"trained, $d={panel.dim}$")
    axes.plot(*panel.theory.outline(), color=COLOURS[0], lw=1.6, label="theory")
    if panel.target:
        axes.plot(*panel.target, "--", color="#c0392b", lw=1.1, label="target")
    axes.set_title(rf"$\alpha = {panel.alpha:g}$", fontsize="medium")
    axes.text(
        0.97,
        0.97,
        f"mass at 0\ntheory {panel.theory.zero_mass:.3f}\ntrained "
        f"{1 - len(nonzero) / len(values):.3f}",
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize="small",
    )
    axes.set_xlabel("singular value of $S$")
    bulk = (
        float(np.median(panel.target.density))
        if panel.target
        else (1 - panel.theory.zero_mass) / float(values.max())
    )
    _scale(axes, max(float(density.max()), float(np.max(panel.theory.density, initial=0))), bulk)
    axes.set_xlim(0, None)


def _scale(axes: Axes, peak: float, bulk: float) -> None:
    """Set limits that show the learned part (the density of a target may diverge), and cut a peak
    that would flatten the bulk.
    """
    top = min(1.45 * peak, 12 * bulk)
    axes.set_ylim(0, top)
    if peak > top:
        axes.annotate(
            f"peak {peak:.1f}",
            (0.03, 1),
            xycoords="axes fraction",
            xytext=(0.14, 0.93),
            fontsize="small",
            arrowprops={"arrowstyle": "->", "lw": 0.7},
        )
