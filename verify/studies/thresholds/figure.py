"""Figure of the thresholds located in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, common_settings, settings
from numeric.plotting.style import COLOURS, Sheet, ink, legend_above, paper
from verify.studies.thresholds.study import INTERPOLATION, RECOVERY, ThresholdEstimate


def threshold_figure(estimates: Sequence[ThresholdEstimate]) -> Figure:
    """Return vanishing roots with crossings and proven thresholds; rows: kinds, columns:
    settings.
    """
    rows = [
        [one for one in estimates if one.case.kind is kind] for kind in (INTERPOLATION, RECOVERY)
    ]
    rows = [row for row in rows if row]
    columns = max(map(len, rows))
    figure = Sheet(1 if columns < 2 else 2, 2.7 * len(rows))
    for row, panels in zip(rows, figure.subplots(len(rows), columns, squeeze=False), strict=True):
        for axes, estimate in zip(panels, row, strict=False):
            _threshold_panel(axes, estimate)
        for axes in panels[len(row) :]:
            axes.set_axis_off()
        panels[0].set_ylabel(f"root of the {row[0].case.kind.label}")
    given = common_settings([one.case.base.problem for one in estimates], "alpha", "lambda_")
    add_caption(
        figure,
        given,
        "vanishing weight decay",
        "open circles: on the other side of the threshold, not fitted",
    )
    return figure


def _threshold_panel(axes: Axes, estimate: ThresholdEstimate) -> None:
    for colour, item, beyond in zip(COLOURS, estimate.points, estimate.beyond, strict=False):
        style: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 2, "color": colour}
        label = f"trained, $d={item.dim}$"
        axes.errorbar(item.alphas, item.means(), item.errors(), label=label, **style)
        axes.errorbar(beyond.alphas, beyond.means(), beyond.errors(), mfc=paper(), **style)
    axes.plot(
        estimate.theory.alphas, estimate.theory.roots, "k-", lw=1, label=r"theory, $d\to\infty$"
    )
    proven, infinite = float(estimate.proven), estimate.crossing.infinite
    axes.axvline(proven, color="k", ls=":", lw=1, label=f"proven {estimate.proven.value[:8]}")
    axes.axvspan(
        infinite.low, infinite.high, color=COLOURS[3], alpha=0.2, lw=0, label="crossing, 95 %"
    )
    axes.axhline(0, color=ink(0.6), lw=0.6)
    axes.set_xlabel(r"sample ratio $\alpha = n/d^2$")
    kind, problem = estimate.case.kind, estimate.case.base.problem
    own = settings(problem, "alpha", "lambda_", *(() if kind is INTERPOLATION else ("noise",)))
    legend_above(axes, 2, title=f"{kind.name}, {own}", fontsize="x-small")
