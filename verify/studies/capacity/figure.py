"""Figure of capacities in training."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.style import COLOURS, Sheet, ink, legend_above
from verify.studies.capacity.study import CapacityEstimate


def capacity_figure(estimates: Sequence[CapacityEstimate]) -> Figure:
    """Return capacities against 1/d, with theory and interval at infinite d; a panel for each
    setting.
    """
    figure = Sheet(1 if len(estimates) < 2 else 2, 2.7)
    (panels,) = figure.subplots(1, len(estimates), squeeze=False)
    for axes, one in zip(panels, estimates, strict=True):
        inverse = [1 / group.dim for group in one.groups]
        means = [group.simulation for group in one.groups]
        errors = [group.standard_error for group in one.groups]
        axes.errorbar(inverse, means, errors, fmt="o", ms=4, capsize=2, color=COLOURS[0],
                      label="trained")  # fmt: skip
        interval = one.interval
        axes.errorbar([0], [interval.value], interval.bars, fmt="s", ms=4, capsize=2,
                      color=COLOURS[1], label=r"trained, $d \to \infty$, 95 %")  # fmt: skip
        axes.axhline(one.theory.alpha, color="k", lw=1, label=f"theory {one.theory.alpha:.4f}")
        axes.axvline(0, color=ink(0.6), lw=0.6)
        axes.set_xlabel(r"$1/d$")
        legend_above(axes, 2, title=one.case.setting.replace("_", " "), fontsize="x-small")
    panels[0].set_ylabel(r"capacity $n/d^2$")
    add_caption(figure, settings(estimates[0].case.problem, "alpha", "lambda_", "noise", "model"))
    return figure
