"""Figure of the rank of S along the sample ratio."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from verify.figures.curve_panel import COLOURS
from verify.judging.scores import Score
from verify.phenomena.rank import RankCurve


def rank_figure(curves: Sequence[RankCurve]) -> Figure:
    """Share of eigenvalues of S that are not zero, and beyond the split of the spectrum the share in its upper bulk."""
    figure = Figure(figsize=(8.2, 5.0), layout="constrained")
    axes = figure.subplots()
    for colour, curve in zip(COLOURS, curves, strict=False):
        _curve(axes, curve, colour)
    axes.set(
        xscale="log", ylim=(0, 1), xlabel=r"sample ratio $\alpha = n/d^2$", ylabel="share of the eigenvalues of $S$"
    )
    axes.set_xlim(curves[0].theory.alphas[0], curves[0].theory.alphas[-1])
    axes.xaxis.set_major_formatter("{x:g}")
    figure.legend(handles=_legend(curves), fontsize=9, loc="outside upper center", ncols=2)
    return figure


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
        fmt=marker, ms=4.5, mfc="white", mec=colour, ecolor=colour, capsize=2, lw=1, zorder=3,
    )  # fmt: skip


def _legend(curves: Sequence[RankCurve]) -> list[Line2D]:
    dim = max(group.dim for curve in curves for score in curve.ranks for group in score.groups)
    targets = [
        Line2D([], [], color=colour, lw=1.6,
               label=rf"$\kappa_0 = {curve.kappa0:g}$, two bulks from $\alpha = {curve.theory.split.alpha:.4g}$")
        for colour, curve in zip(COLOURS, curves, strict=False)
    ]  # fmt: skip
    grey: dict[str, object] = {"color": "0.3", "mfc": "white", "ms": 4.5, "lw": 1.4}
    return [
        *targets,
        Line2D([], [], marker="o", label=f"rank of $S$ over $d$: theory, trained ($d = {dim}$)", **grey),  # type: ignore[arg-type]
        Line2D([], [], marker="s", ls="--", label="share of the upper bulk", **grey),  # type: ignore[arg-type]
        Line2D([], [], marker="<", ls="", color="0.3", label=r"$\alpha \to \infty$: $(1 + \kappa_0)/2$"),
    ]
