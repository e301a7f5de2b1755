"""Figure of features emerging one after the other along the number of samples."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, decay_in_mathtext, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import COLOURS, Sheet, ink, paper
from numeric.studies.scaling import power_law_of
from verify.studies.emergence.study import EmergenceOutcome

_MARK = 0.05  #: vertical distance of the marks of n_k in the upper panel


def emergence_figure(outcome: EmergenceOutcome) -> Figure:
    """Return one column for each size: squared overlaps of eigenvectors, and the share of each
    feature in S.

    Lines: theory. Points: trained, with standard errors. Top: n_k of training with intervals of 95
    %, and ticks at the theory's n_k.
    """
    dims = list(outcome.theory)
    figure = Sheet(min(2, len(dims)), 4.6)
    panels = figure.subplots(2, len(dims), squeeze=False, sharex="col", sharey="row")
    for (upper, lower), dim in zip(panels.T, dims, strict=True):
        eigenvalues = outcome.plan.at(dim).target_eigenvalues()[: outcome.plan.features]
        _draw(upper, outcome, dim, "aligned", np.ones(outcome.plan.features))
        _draw(lower, outcome, dim, "held", eigenvalues)
        for one in outcome.emergences:
            if one.dim == dim:
                height, colour = 1 + _MARK * one.feature, (COLOURS * 2)[one.feature - 1]
                upper.plot([one.theory], [height], "|", ms=9, color=ink())
                if one.trained:
                    upper.errorbar([one.trained.value], [height], xerr=one.trained.bars,
                                   fmt="o", ms=3, lw=1.6, color=colour)  # fmt: skip
        upper.set(title=f"$d = {dim}$")
        samples = [place.samples for place in outcome.places if place.dim == dim]
        lower.set(xlabel="samples $n$", xlim=(0.9 * samples[0], 1.1 * samples[-1]))
        logarithmic(lower.xaxis)
    panels[0, 0].set_yticks(np.linspace(0, 1, 6))
    panels[0, 0].set_ylabel(r"$(u_k \cdot v_k)^2$")
    panels[1, 0].set_ylabel(r"$v_k^\top S\, v_k / s_k$")
    figure.legend(
        *panels[1, 0].get_legend_handles_labels(),
        title="feature",
        loc="outside upper center",
        ncols=outcome.plan.features,
    )
    problem = outcome.plan.base.problem
    add_caption(
        figure,
        rf"$\gamma = {power_law_of(problem).gamma:g}$, $\lambda = "
        rf"{decay_in_mathtext(outcome.plan.decay)}$",
        settings(problem, "target", "alpha", "lambda_"),
        "lines: theory; points: trained; at the top: where features emerge in training, and in the "
        "theory (ticks)",
    )
    return figure


def _draw(axes: Axes, outcome: EmergenceOutcome, dim: int, name: str, unit: np.ndarray) -> None:
    places = [place for place in outcome.places if place.dim == dim]
    theory = outcome.theory[dim]
    trained = [getattr(place.trained, name) / unit for place in places]
    for k, colour in zip(range(outcome.plan.features), COLOURS * 2, strict=False):
        axes.plot(
            theory.line_samples, (getattr(theory.overlaps, name) / unit)[:, k], color=colour, lw=1.2
        )
        errors = [values[:, k].std(ddof=1) / np.sqrt(len(values)) for values in trained]
        axes.errorbar(
            [place.samples for place in places],
            [values[:, k].mean() for values in trained],
            errors,
            fmt="o",
            ms=4,
            mfc=paper(),
            capsize=2,
            lw=0.9,
            color=colour,
            label=str(k + 1),
        )
