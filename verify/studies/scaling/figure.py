"""Figures of scaling laws: excess error and spectra, error decomposition, regimes crossed by
trained heads.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter

from numeric.plotting.caption import add_caption, decay_in_mathtext, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.phase_diagrams import phase_figure, slopes_note
from numeric.plotting.style import COLOURS, PAGE_WIDTH, Sheet, ink, legend_above, paper
from numeric.problem.decay_law import DecayLaw
from numeric.studies.phase_diagram import Sketch
from verify.core.spectra import ZERO, TrainedSpectrum
from verify.studies.scaling.error_parts import ERROR_PARTS
from verify.studies.scaling.study import SKETCH_DIM, ScalingOutcome, Slope

SMALLER = 0.45  #: opacity of sizes other than the largest


def excess_figure(outcome: ScalingOutcome) -> Figure:
    """Draw Figure 4 of the paper: left, excess test error and its ratio to the theory; right,
    eigenvalues of S by rank.
    """
    alphas = sorted({alpha for _, alpha in outcome.panels})
    figure = Sheet(1 + bool(alphas), 4.2)
    sides = figure.subfigures(
        1, 2 if alphas else 1, width_ratios=(5.6, 3.4) if alphas else None, squeeze=False
    )[0]
    above, below = sides[0].subplots(2, 1, sharex=True, height_ratios=(3, 1.3))
    for colour, decay in zip(COLOURS, outcome.plan.decays, strict=False):
        for dim, _ in outcome.plan.sizes:
            _excess(above, below, outcome, decay, dim, colour)
    falling = [
        slope
        for slope in outcome.slopes
        if slope.dim == outcome.plan.sizes[-1][0] and slope.exponent < 0
    ]
    for slope in falling:
        _guide(above, outcome, slope)
    above.set(ylabel="excess test error")
    logarithmic(above.xaxis, above.yaxis)
    below.set(xlabel="samples $n$", ylabel="trained / theory")
    below.axhline(1, color=ink(0.4), lw=0.8)
    legend_above(above)
    _caption(figure, outcome, _description(outcome), "black: derived exponents" if falling else "")
    for axes, alpha in zip(
        sides[-1].subplots(len(alphas), 1, squeeze=False)[:, 0] if alphas else (),
        alphas,
        strict=True,
    ):
        _rank_plot(axes, outcome, alpha)
    return figure


def _description(outcome: ScalingOutcome) -> str:
    sizes = ", ".join(str(dim) for dim, _ in reversed(outcome.plan.sizes))
    kind = "Gaussian-equivalent data" if outcome.gaussian else "token sequences"
    lines = (
        "theory"
        if outcome.gaussian
        else "theory of Gaussian indices, dashed: with leading features exact"
    )
    pale = " (pale: smaller)" if len(outcome.plan.sizes) > 1 else ""
    return f"{kind}, $d = {sizes}${pale}; points: trained with standard deviation; lines: {lines}"


def _title_of(decay: DecayLaw) -> str:
    return rf"$\lambda = {decay_in_mathtext(decay)}$"


def _excess(
    above: Axes, below: Axes, outcome: ScalingOutcome, decay: DecayLaw, dim: int, colour: str
) -> None:
    largest = dim == outcome.plan.sizes[-1][0]
    opacity = 1.0 if largest else SMALLER
    line = [p for p in outcome.lines[dim, decay] if p.excess_error > 0]
    above.plot(
        [p.samples for p in line],
        [p.excess_error for p in line],
        color=colour,
        lw=1.4,
        alpha=opacity,
    )
    places = [place for place in outcome.places if (place.dim, place.decay) == (dim, decay)]
    n = [place.samples for place in places]
    label = _title_of(decay) if largest else None
    if not outcome.gaussian:
        exact = [place.expected / place.theory for place in places]
        below.plot(n, exact, color=colour, lw=1.4, ls="--", alpha=opacity)
    ratios = np.array([place.ratio for place in places]).reshape(-1, 2)
    means, deviations = [place.mean for place in places], [place.deviation for place in places]
    for axes, y, error, name in (
        (above, means, deviations, label),
        (below, ratios[:, 0], ratios[:, 1], None),
    ):
        axes.errorbar(
            n,
            y,
            error,
            fmt="o",
            ms=4,
            mfc=paper() if largest else colour,
            color=colour,
            capsize=2,
            lw=1,
            alpha=opacity,
            label=name,
        )


GUIDE_ABOVE = 1.45  #: offset factor of the guide lines from the points


def _guide(axes: Axes, outcome: ScalingOutcome, slope: Slope) -> None:
    """Draw the derived exponent of a regime as a dashed line near the points of a fitted slope."""
    first, last = slope.samples
    inside = [
        p
        for p in outcome.places
        if (p.dim, p.decay) == (slope.dim, slope.decay) and first <= p.samples <= last
    ]
    centre, height = (
        float(np.exp(np.mean(np.log(v))))
        for v in zip(*((p.samples, p.mean) for p in inside), strict=True)
    )
    n = np.array([first, last])
    errors = GUIDE_ABOVE * height * (n / centre) ** slope.exponent
    axes.plot(n, errors, "k--", lw=1)
    power = Fraction(slope.exponent).limit_denominator(100)
    axes.annotate(
        f"$n^{{{power}}}$",
        (centre, GUIDE_ABOVE * height),
        (3, 3),
        textcoords="offset points",
        fontsize="small",
    )


def _rank_plot(axes: Axes, outcome: ScalingOutcome, alpha: float) -> None:
    """Draw eigenvalues of S by rank; in the theory the rank is the number of eigenvalues above."""
    least = np.inf
    for colour, decay in zip(COLOURS, outcome.plan.decays, strict=False):
        panel = outcome.panels.get((decay, alpha))
        if panel is not None:
            ranks, values = panel.trained_ranks()
            axes.plot(ranks, values, "o", ms=2.5, mfc="none", mew=0.7, color=colour)
            axes.plot(*panel.theory.ranks(panel.dim), color=colour, lw=1.3)
            least = min(least, float(values.min()))
    dim = len(outcome.target)
    axes.plot(np.arange(1, dim + 1), outcome.target, "k:", lw=1, label="target")
    logarithmic(axes.xaxis, axes.yaxis)
    axes.set(xlabel="rank", ylabel="eigenvalue of $S$")
    axes.set_ylim(least / 2)
    legend_above(axes, title=f"$n = {round(alpha * dim**2)}$")


def trained_decomposition_figure(outcome: ScalingOutcome) -> Figure:
    """Draw Figure 3 of the paper: above, spectra of S and of the target; below, shares of the error
    along n.
    """
    decays, spectra = outcome.plan.decays, list(outcome.panels.values())
    figure = Sheet(2, 2.6 + 2.0 * bool(spectra))
    *above, below = figure.subfigures(
        1 + bool(spectra), 1, height_ratios=[2.0, 2.6][-1 - bool(spectra) :], squeeze=False
    )[:, 0]
    for part in above:
        for axes, spectrum in zip(
            part.subplots(1, len(spectra), squeeze=False)[0], spectra, strict=True
        ):
            _face_to_face(axes, spectrum, outcome.target)
        part.legend(
            *part.axes[0].get_legend_handles_labels(), fontsize="small", loc="outside right upper"
        )
        part.axes[0].set_ylabel("eigenvalues per run")
    for axes, decay in zip(
        below.subplots(1, len(decays), sharey=True, squeeze=False)[0], decays, strict=True
    ):
        _parts(axes, outcome, decay)
    dim = outcome.plan.sizes[-1][0]
    below.axes[0].set_ylabel("share of the error above the least")
    title = f"lines: theory; points: trained, $d = {dim}$"
    below.legend(
        *below.axes[0].get_legend_handles_labels(),
        fontsize="small",
        title=title,
        title_fontsize="small",
        loc="outside right upper",
    )
    _caption(figure, outcome)
    return figure


def _caption(figure: Figure, outcome: ScalingOutcome, *notes: str) -> None:
    """Add a caption with the setting of a study and remarks on the figure."""
    given = settings(outcome.plan.base.problem, "target", "alpha", "lambda_")
    add_caption(figure, rf"$\gamma = {float(outcome.plan.gamma):g}$, {given}", *notes)


def _parts(axes: Axes, outcome: ScalingOutcome, decay: DecayLaw) -> None:
    dim = outcome.plan.sizes[-1][0]
    places = [place for place in outcome.places if (place.dim, place.decay) == (dim, decay)]
    n = [place.samples for place in places]
    for number, (name, colour) in enumerate(zip(ERROR_PARTS, COLOURS, strict=False)):
        axes.plot(
            n, [place.parts.theory[number] for place in places], color=colour, lw=1.4, label=name
        )
        trained = [place.parts.trained[:, number] for place in places]
        means, errors = (
            [x.mean() for x in trained],
            [x.std() / max(1, len(x) - 1) ** 0.5 for x in trained],
        )
        axes.errorbar(n, means, errors, fmt="o", ms=4.5, mfc=paper(), color=colour, capsize=2, lw=1)
    logarithmic(axes.xaxis)
    axes.set(xlabel="samples $n$", title=_title_of(decay))


_BINS = 26  #: number of bins of the logarithm of an eigenvalue


def _face_to_face(axes: Axes, spectrum: TrainedSpectrum, target: np.ndarray) -> None:
    """Draw eigenvalues of S above the axis, noise and features in different colours, and those of
    the target below it.
    """
    values = spectrum.values[spectrum.values > ZERO * spectrum.values.max()]
    edges = np.geomspace(
        min(values.min(), target.min()), 1.02 * max(values.max(), target.max()), _BINS + 1
    )
    bulk = max((high for _, high in spectrum.theory.bulks), default=0.0)
    for label, colour, chosen in (
        ("noise", "#c94f9b", values <= bulk),
        ("features", "#7d9cc9", values > bulk),
    ):
        counts = np.histogram(values[chosen], edges)[0] / len(spectrum.values)
        axes.stairs(counts, edges, fill=True, color=colour, alpha=0.7, label=f"trained, {label}")
    axes.stairs(-np.histogram(target, edges)[0], edges, fill=True, color=ink(0.75), label="target")
    axes.stairs(
        -spectrum.dim * np.diff(spectrum.theory.mass_above(edges)),
        edges,
        color="k",
        lw=1.1,
        label="theory",
    )
    axes.axhline(0, color="k", lw=0.8)
    axes.yaxis.set_major_formatter(lambda y, _: f"{abs(y):g}")
    logarithmic(axes.xaxis)
    axes.set(xlabel="eigenvalue", title=f"$n = {round(spectrum.alpha * spectrum.dim**2)}$")


def regime_figure(outcome: ScalingOutcome) -> Figure:
    """Draw Figure 5 of the paper: the phase diagram of the theory, a spectrum in each cell, and the
    windows of fitted slopes.
    """
    assert outcome.phases is not None  # the plan requests it
    figure = phase_figure(outcome.phases)
    figure.set_size_inches(PAGE_WIDTH, 6.4)
    axes, dim = figure.axes[0], outcome.plan.sizes[-1][0]
    for sketch in outcome.sketches:
        _sketch(axes, sketch)
    for slope in outcome.slopes:
        if slope.dim == dim:
            _window(axes, slope)
    add_caption(
        figure,
        rf"$\gamma = {outcome.plan.gamma}$",
        "cells: exponents of $n$",
        slopes_note(outcome.phases),
        f"framed: trained at $d = {dim}$",
        f"insets: eigenvalues of $S$ by rank (dotted: the target), theory at $d = {SKETCH_DIM}$",
    )
    return figure


SKETCH_WIDE, SKETCH_HIGH = 0.5, 0.42  #: in units of the axes of the diagram
TEXT_REACH = 0.06  #: half of the width of a printed slope, in the same units


def _sketch(axes: Axes, sketch: Sketch) -> None:
    """Draw eigenvalues by rank, both logarithmic, in the middle of their cell."""
    left = min(sketch.x - SKETCH_WIDE / 2, axes.get_xlim()[1] - SKETCH_WIDE)
    low = max(sketch.y - SKETCH_HIGH / 2, axes.get_ylim()[0])
    for text in axes.texts:
        x, y = text.get_position()
        if (
            abs(x - left - SKETCH_WIDE / 2) < SKETCH_WIDE / 2 + TEXT_REACH
            and low <= y <= low + SKETCH_HIGH
        ):
            text.set_visible(False)
    inset = axes.inset_axes((left, low, SKETCH_WIDE, SKETCH_HIGH), transform=axes.transData)
    inset.loglog(np.arange(1, len(sketch.target) + 1), sketch.target, "k:", lw=0.8)
    inset.loglog(sketch.ranks, sketch.values, color=COLOURS[0], lw=1.2)
    inset.set_ylim(sketch.target[-1] / 3, sketch.target[0] * 2)
    inset.tick_params(which="both", length=0, labelleft=False, labelbottom=False)


def _window(axes: Axes, slope: Slope) -> None:
    """Draw the samples over which a slope was fitted, and the slope."""
    log_d = math.log(slope.dim)
    x = [math.log(n) / log_d for n in slope.samples]
    y = math.log(slope.decay.at(slope.dim)) / log_d
    axes.plot(x, [y, y], "k-", lw=2)
    box = {"boxstyle": "round,pad=0.2", "fc": paper(), "ec": ink(), "lw": 0.7}
    value = Formatter.fix_minus(f"{slope.trained.value:.2f}")
    axes.text(sum(x) / 2, y + 0.13, value, fontsize="small", ha="center", va="center", bbox=box)
