"""Figure of the thresholds along the rank of the target."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.laws.law import Array
from numeric.plotting.caption import add_caption
from numeric.plotting.style import COLOURS, Sheet, ink
from numeric.thresholds.along_rank import RankThresholds

_TOP = 0.56


def along_rank_figure(
    rows: Sequence[RankThresholds], noises: Sequence[Fraction], symmetric: float, general: float
) -> Figure:
    """Draw D alpha against kappa0: recovery, interpolation with and without label noise, and
    directly trained matrices.

    Args:
        rows: thresholds by rank ratio.
        noises: variances of the label noise.
        symmetric: threshold of symmetric matrices.
        general: threshold of general matrices.
    """
    figure = Sheet(1, 3.6)
    axes = figure.subplots()
    kappa0, bayes, recovery, limit = (
        np.array([float(getattr(row, name)) for row in rows])
        for name in ("kappa0", "bayes", "recovery", "interpolation_limit")
    )
    axes.fill_between(kappa0, 0, bayes, color=ink(0.5), alpha=0.12, lw=0)
    axes.text(
        0.68, 0.1, "no estimator recovers $S_0$", fontsize="small", color=ink(0.3), ha="center"
    )
    axes.axhline(
        symmetric, color=COLOURS[3], ls="--", lw=1.4, label="symmetric $A$ trained directly"
    )
    axes.plot(kappa0, limit, color=COLOURS[0], lw=2.2, label="interpolation by factors")
    _interpolation(axes, kappa0, rows, noises)
    axes.plot(
        kappa0, recovery, color=COLOURS[1], lw=2.2, label=r"recovery by factors, $\Delta = 0$"
    )
    axes.plot(
        kappa0, bayes, color="k", lw=1.6, label=r"Bayes-optimal recovery, $\kappa_0 - \kappa_0^2/2$"
    )
    above = rf"$\uparrow$ general $A$, $T = 2$: $D\alpha = {general:g}$"
    axes.text(0.02, _TOP, above, fontsize="small", color=COLOURS[3], va="top")
    axes.set(xlim=(0, 1), ylim=(0, _TOP), xlabel=r"rank of the target $\kappa_0 = m_0/d$")
    axes.set_ylabel(r"numbers in the labels per $d^2$, $D\alpha$")
    figure.legend(fontsize="small", loc="outside upper center", ncols=2)
    add_caption(
        figure,
        r"any number of tokens $T$: $D = T(T+1)/2 - 1$",
        r"$\Delta$: variance of the label noise",
    )
    return figure


def _interpolation(
    axes: Axes, kappa0: Array, rows: Sequence[RankThresholds], noises: Sequence[Fraction]
) -> None:
    """Draw interpolation thresholds, paler for more noise, each named at its end."""
    _name(axes, rows[-1].interpolation_limit, r"$\Delta \to 0^+$")
    for k, noise in enumerate(noises):
        line = [row.interpolation[k] for row in rows]
        axes.plot(kappa0, line, color=COLOURS[0], alpha=0.9 - 0.5 * k / len(noises), lw=1.4)
        _name(axes, line[-1], rf"$\Delta = {float(noise):g}$")


def _name(axes: Axes, height: float, name: str) -> None:
    axes.text(
        1.01,
        height,
        name,
        fontsize="small",
        color=COLOURS[0],
        va="center",
        transform=axes.get_yaxis_transform(),
    )
