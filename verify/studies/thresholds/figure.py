"""Figure of the thresholds seen in training."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, common_settings, settings
from numeric.plotting.style import COLOURS, Sheet, legend_above
from verify.studies.thresholds.study import INTERPOLATION, RECOVERY, Sighting


def threshold_figure(sightings: Sequence[Sighting]) -> Figure:
    """The vanishing roots against the sample ratio, with crossings and proven thresholds: one row a kind, one column a setting."""
    rows = [
        [one for one in sightings if one.sought.kind is kind] for kind in (INTERPOLATION, RECOVERY)
    ]
    rows = [row for row in rows if row]
    columns = max(map(len, rows))
    figure = Sheet(1 if columns < 2 else 2, 2.7 * len(rows))
    for row, panels in zip(rows, figure.subplots(len(rows), columns, squeeze=False), strict=True):
        for axes, sighting in zip(panels, row, strict=False):
            _threshold_panel(axes, sighting)
        for axes in panels[len(row) :]:
            axes.set_axis_off()
        panels[0].set_ylabel(f"root of the {row[0].sought.kind.label}")
    given = common_settings([one.sought.base.problem for one in sightings], "alpha", "lambda_")
    add_caption(
        figure,
        given,
        "vanishing weight decay",
        "open circles: on the other side of the threshold, not fitted",
    )
    return figure


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
        axes.errorbar(
            item.alphas,
            item.means(),
            item.errors(),
            fmt="o",
            ms=4,
            capsize=2,
            mfc="white",
            color=colour,
        )
    axes.plot(
        sighting.theory.alphas, sighting.theory.roots, "k-", lw=1, label=r"theory, $d\to\infty$"
    )
    proven, infinite = float(sighting.proven), sighting.crossing.infinite
    axes.axvline(proven, color="k", ls=":", lw=1, label=f"proven {sighting.proven.value[:8]}")
    axes.axvspan(
        infinite.low, infinite.high, color=COLOURS[3], alpha=0.2, lw=0, label="crossing, 95 %"
    )
    axes.axhline(0, color="0.6", lw=0.6)
    axes.set_xlabel(r"sample ratio $\alpha = n/d^2$")
    kind, problem = sighting.sought.kind, sighting.sought.base.problem
    own = settings(problem, "alpha", "lambda_", *(() if kind is INTERPOLATION else ("noise",)))
    legend_above(axes, 2, title=f"{kind.name}, {own}", fontsize="x-small")
