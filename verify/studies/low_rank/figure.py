"""Figure of the rank of S along the sample ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import COLOURS, Sheet, ink, paper
from verify.core.scores import Score
from verify.studies.low_rank.study import RankCurve

_LEAST = 1e-3  #: smallest eigenvalue that is drawn


def rank_figure(curves: Sequence[RankCurve]) -> Figure:
    """Draw the rank of S along alpha with the share of the upper bulk, and below a panel of the
    eigenvalues for each target.
    """
    figure = Sheet(2, 5.6)
    (upper,), (lower,) = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.3, 1))
    shares, panels = upper.subplots(), lower.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for colour, curve, panel in zip(COLOURS, curves, panels, strict=False):
        _curve(shares, curve, colour)
        _bulks(panel, curve, colour)
    shares.set(ylim=(0, 1), ylabel="share of the eigenvalues of $S$")
    panels[0].set_ylabel("eigenvalues of $S$")
    for axes in (shares, *panels):
        axes.set(xlabel=r"sample ratio $\alpha = n/d^2$")
        logarithmic(axes.xaxis)
        axes.set_xlim(curves[0].theory.alphas[0], curves[0].theory.alphas[-1])
    upper.legend(handles=_legend(curves), fontsize="small", loc="outside upper center", ncols=2)
    told = settings(curves[0].ranks[0].problem, "target", "alpha")
    add_caption(figure, told, "dotted: where the spectrum falls into two bulks")
    return figure


def _bulks(axes: Axes, curve: RankCurve, colour: str) -> None:
    """Shade every bulk; dots are singular values of one trained head."""
    theory = curve.theory
    split = theory.alphas.index(theory.split.before.problem.alpha) + 1
    parts = [(slice(None, split), 0), (slice(split, None), 0), (slice(split, None), 1)]
    for part, which in parts:
        low, high = zip(*(bulks[which] for bulks in theory.bulks[part]), strict=True)
        axes.fill_between(theory.alphas[part], low, high, color=colour, alpha=0.3, lw=0)
    for alpha, values in curve.spectra.items():
        axes.plot([alpha] * len(values), values, ".", color="k", ms=2.2)
    axes.axvline(theory.split.alpha, color=colour, ls=":", lw=1.1)
    axes.set(title=rf"$\kappa_0 = {curve.kappa0:g}$")
    logarithmic(axes.yaxis)
    axes.set_ylim(_LEAST, 10)


def _curve(axes: Axes, curve: RankCurve, colour: str) -> None:
    theory, split = curve.theory, curve.theory.split.alpha
    axes.plot(theory.alphas, theory.ranks, color=colour, lw=1.6)
    axes.hlines(curve.kappa0, split, theory.alphas[-1], color=colour, ls="--", lw=1.4)
    axes.axvline(split, color=colour, ls=":", lw=1.1)
    axes.plot(theory.alphas[-1], (1 + curve.kappa0) / 2, "<", color=colour, ms=6, clip_on=False)
    _points(axes, curve.ranks, "o", colour)
    _points(axes, curve.uppers, "s", colour)


def _points(axes: Axes, scores: Sequence[Score], marker: str, colour: str) -> None:
    groups = [score.groups[-1] for score in scores]
    axes.errorbar(
        [score.problem.alpha for score in scores],
        [group.simulation for group in groups],
        yerr=[group.standard_error for group in groups],
        fmt=marker, ms=4.5, mfc=paper(), mec=colour, ecolor=colour, capsize=2, lw=1, zorder=3,
    )  # fmt: skip


def _legend(curves: Sequence[RankCurve]) -> list[Line2D]:
    dim = max(group.dim for curve in curves for score in curve.ranks for group in score.groups)
    targets = [
        Line2D(
            [],
            [],
            color=colour,
            lw=1.6,
            label=rf"$\kappa_0 = {curve.kappa0:g}$, two bulks from $\alpha = "
            rf"{curve.theory.split.alpha:.4g}$",
        )
        for colour, curve in zip(COLOURS, curves, strict=False)
    ]
    grey: dict[str, Any] = {"color": ink(0.3), "mfc": paper(), "ms": 4.5, "lw": 1.4}
    return [
        *targets,
        Line2D(
            [], [], marker="o", label=f"rank of $S$ over $d$: theory, trained ($d = {dim}$)", **grey
        ),
        Line2D([], [], marker="s", ls="--", label="share of the upper bulk", **grey),
        Line2D(
            [],
            [],
            marker=".",
            ls="",
            color="k",
            label=f"below: bulks of the theory, one trained head ($d = {dim}$)",
        ),
        Line2D(
            [],
            [],
            marker="<",
            ls="",
            color=ink(0.3),
            label=r"$\alpha \to \infty$: $(1 + \kappa_0)/2$",
        ),
    ]
