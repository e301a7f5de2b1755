"""Figures of theory curves and spectra, as a paper would print them."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import ListedColormap, to_hex
from matplotlib.figure import Figure

from numeric.problem.solution import Solution, Status
from numeric.studies.scaling import power_law_of, regime_of
from numeric.studies.spectrum import LearnedSpectrum

if TYPE_CHECKING:
    from numeric.problem.problem import Problem
    from numeric.studies.against_bayes import BayesPoint, CostPoint
    from numeric.studies.decompose import Decomposition
    from numeric.studies.optimal_decay import Optimum
    from numeric.studies.phase_diagram import PhaseDiagram
    from numeric.studies.recovery_table import RecoveryRow
    from numeric.studies.scaling import ScalingPoint
    from numeric.studies.sequential_recovery import Recovered

_STYLE = (
    ("test_error", "test error", "C0", "-"),
    ("train_error", "training error", "C1", "--"),
    ("estimation_error", "estimation error", "C2", ":"),
)


def curve_figure(solutions: Sequence[Solution]) -> Figure:
    """Errors against alpha, with bands of their error estimates; faint dots join points where replica symmetry is broken, no line
    passes one that was not solved.
    """
    figure = Figure(figsize=(5, 3.4))
    axes = figure.subplots()
    alphas = np.array([solution.problem.alpha for solution in solutions])
    stable = np.array([solution.status is not Status.UNSTABLE for solution in solutions])
    for name, label, colour, line in _STYLE:
        values = np.array([getattr(solution, name) if solution.trusted else np.nan for solution in solutions])
        errors = np.array([solution.errors.get(name, 0.0) for solution in solutions])
        axes.plot(alphas, np.where(stable, values, np.nan), line, color=colour, label=label)
        if not stable.all():
            axes.plot(alphas, values, ".:", color=colour, lw=0.8, ms=2.5)
        axes.fill_between(alphas, values - errors, values + errors, color=colour, alpha=0.2, lw=0)
    if not stable.all():
        axes.set_title("dotted: replica symmetry broken, an approximation", fontsize=8)
    scale = "log" if any(solution.trusted for solution in solutions) else "linear"  # a log of nothing cannot be drawn
    axes.set(xscale="log", yscale=scale, xlabel=r"$\alpha=n/d^2$", ylabel="error")
    axes.legend(frameon=False)
    return figure


def spectrum_figure(spectrum: LearnedSpectrum, title: str) -> Figure:
    """Density of the eigenvalues of S, the mass at zero as a thick stem, outliers as thin ones of a fixed height."""
    figure = Figure(figsize=(5, 3.2))
    axes = figure.subplots()
    axes.plot(*spectrum.outline(), color="C0")
    axes.fill_between(*spectrum.outline(), color="C0", alpha=0.15, lw=0)
    if spectrum.zero_mass:
        height = spectrum.density.max() if len(spectrum.density) else 1
        axes.plot([0, 0], [0, height], color="C0", lw=3, solid_capstyle="butt")
    axes.vlines([outlier.value for outlier in spectrum.outliers], 0, 0.3 * axes.get_ylim()[1], color="C1", lw=1)
    axes.set(
        xlabel="eigenvalue of $S$",
        ylabel="density",
        title=f"{title}, mass at zero {spectrum.zero_mass:.4f}",
        ylim=(0, None),
    )
    return figure


def decomposition_figure(parts: Sequence["Decomposition"]) -> Figure:
    """Shares of the excess test error against alpha, with the mismatch that stays."""
    figure = Figure(figsize=(5, 3.4))
    axes = figure.subplots()
    alphas = [part.solution.problem.alpha for part in parts]
    styles = {"overfitting": "-", "underfitting": "--", "approximation": "-."}
    for name, line in styles.items():
        axes.plot(alphas, [part.rate * getattr(part, name) for part in parts], line, label=name)
    axes.plot(alphas, [part.mismatch for part in parts], ":", color="0.4", label="mismatch")
    axes.set(xscale="log", yscale="log", xlabel=r"$\alpha=n/d^2$", ylabel=r"test error above $E[y\,|\,X]$")
    axes.legend(frameon=False)
    return figure


def optimal_figure(found: Sequence["Optimum"]) -> Figure:
    """Least test error and the weight decay that gives it, against alpha."""
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    alphas = [best.solution.problem.alpha for best in found]
    errors, decays = figure.subplots(1, 2)
    errors.plot(alphas, [best.solution.test_error for best in found])
    errors.set(xscale="log", yscale="log", xlabel=r"$\alpha=n/d^2$", ylabel=r"test error at optimal $\lambda$")
    decays.plot(alphas, [best.decay or float("nan") for best in found])
    decays.set(xscale="log", yscale="log", xlabel=r"$\alpha=n/d^2$", ylabel=r"optimal $\lambda$")
    return figure


def cost_figure(points: Sequence["CostPoint"]) -> Figure:
    """Estimation errors of the learned map and of the Bayes-optimal one against alpha."""
    figure = Figure(figsize=(5, 3.4))
    axes = figure.subplots()
    solved = [point for point in points if point.solution.trusted]
    alphas = [point.solution.problem.alpha for point in solved]
    axes.plot(alphas, [point.solution.estimation_error for point in solved], label="learned")
    axes.plot(alphas, [point.bayes_error or float("nan") for point in solved], "--", label="Bayes-optimal")
    axes.set(xscale="log", yscale="log", xlabel=r"$\alpha=n/d^2$", ylabel=r"estimation error $\|S-S_0\|^2/d$")
    axes.legend(frameon=False)
    return figure


def bayes_figure(points: Sequence["BayesPoint"]) -> Figure:
    """Estimation and test errors: Bayes-optimal, of the label of the posterior mean, and learned at the best weight decay."""
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    estimation, test = figure.subplots(1, 2)
    known = [(p.problem.alpha, p.bayes_error, *p.predictions) for p in points if p.bayes_error and p.predictions]
    learned = [(p.problem.alpha, p.learned.solution) for p in points if p.learned]
    for axes, name, column in ((estimation, "estimation_error", 1), (test, "test_error", 2)):
        axes.plot(
            [a for a, _ in learned], [getattr(s, name) for _, s in learned], "C0", label=r"learned, best $\lambda$"
        )
        axes.plot([row[0] for row in known], [row[column] for row in known], "C1--", label="Bayes-optimal")
        axes.set(xscale="log", yscale="log", xlabel=r"$\alpha=n/d^2$", ylabel=name.replace("_", " "))
    test.plot([row[0] for row in known], [row[3] for row in known], "C2:", label="label of the posterior mean")
    test.legend(frameon=False)
    return figure


def recovery_figure(rows: Sequence["RecoveryRow"]) -> Figure:
    """Recovery thresholds against the target's rank ratio: one colour per number of tokens, one line style per width."""
    figure = Figure(figsize=(5.6, 4))
    axes = figure.subplots()
    tokens, widths = sorted({row.tokens for row in rows}), sorted({row.width for row in rows}, reverse=True)
    for colour, count in enumerate(tokens):
        for style, width in zip(cycle(_LINES), widths, strict=False):
            chosen = sorted(
                (row for row in rows if (row.tokens, row.width) == (count, width)), key=lambda row: row.kappa0
            )
            label = rf"$T={count}$, $\kappa={float(width):g}$"
            axes.plot(
                [float(r.kappa0) for r in chosen],
                [float(r.recovery) for r in chosen],
                ls=style,
                color=f"C{colour}",
                label=label,
            )
        widest = sorted(
            (row for row in rows if (row.tokens, row.width) == (count, widths[0])), key=lambda row: row.kappa0
        )
        optimal = [float(row.bayes) for row in widest]
        axes.plot(
            [float(r.kappa0) for r in widest], optimal, ":", color=f"C{colour}", label=rf"$T={count}$, Bayes-optimal"
        )
    axes.set(xlabel=r"rank ratio of the target $\kappa_0$", ylabel=r"recovery threshold $\alpha_{\rm rec}$")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


_LINES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))  # dots are the optimum's


def scaling_figure(
    problem: "Problem",
    points: Sequence["ScalingPoint"],
    recovered: Sequence["Recovered"] = (),
    along: str = "samples",
) -> Figure:
    """Risk along samples or hidden units; its local slope below, beside the derived exponent of the regime.

    A tick where each feature leaves the bulk.
    """
    figure = Figure(figsize=(5, 5.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    target = power_law_of(problem)
    title = rf"$\gamma$ = {target.gamma:g}, $d$ = {target.dim:g}, $\lambda$ = {problem.lambda_:.3g}"
    solved = [point for point in points if point.risk > 0]
    label, parameter = {"samples": ("samples $n$", "n"), "hidden": ("hidden units $m$", "m")}[along]
    if along == "hidden":
        title += rf", $n$ = {problem.alpha * target.dim**2:.3g}"
    x = [getattr(point, along) for point in solved]
    above.loglog(x, [point.risk for point in solved], "o-", ms=3, color="C0")
    above.set(
        ylabel=r"risk $\|S/c-S_0\|^2/d$",
        title=title,
    )
    ticks = [one.before for one in recovered if one.after is not None and one.before is not None]
    above.plot(ticks, [0.02] * len(ticks), "|", ms=12, color="0.3", transform=above.get_xaxis_transform())
    inner = [point for point in solved if not math.isnan(point.slope)]
    below.errorbar(
        [getattr(point, along) for point in inner],
        [p.slope for p in inner],
        [p.slope_error for p in inner],
        fmt="o-",
        ms=3,
        color="C0",
        label="local slope",
    )
    regimes = [regime for point in solved if (regime := regime_of(point, along))]
    if regimes:
        exponents = [float(regime.exponent(parameter)) for regime in regimes]
        below.step(x, exponents, "--", where="mid", color="C1", label="derived exponent")
    below.set(xscale="log", xlabel=label, ylabel="slope")
    below.legend(frameon=False)
    return figure


def phase_figure(diagram: "PhaseDiagram") -> Figure:
    """Cells coloured, with the exponents of the axes in each; local slopes of the theory at one dimension as numbers."""
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    along, vertical = {"decay": ("n", r"\lambda"), "width": ("m", "m")}[diagram.axis]
    given = "" if diagram.decay is None else rf", $\lambda=d^{{{diagram.decay}}}$"
    shown = dict.fromkeys(("n", along))
    cells, title = (
        diagram.regimes,
        rf"$\gamma={diagram.gamma}${given}: exponent of ${', '.join(shown)}$ in the excess risk",
    )
    if diagram.dim is not None:
        title += rf"; numbers: local slope{' along $m$' if along == 'm' else ''} at $d={diagram.dim:g}$"
    colours = [to_hex(colormaps["Pastel1" if len(cells) <= 9 else "tab20"](k)) for k in range(len(cells))]
    axes.imshow(
        diagram.image(400),
        origin="lower",
        extent=(*diagram.samples, *diagram.vertical),
        aspect="auto",
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=len(cells) - 0.5,
        interpolation="nearest",
    )
    for colour, regime in zip(colours, cells, strict=True):
        powers = ", ".join(_power(regime.exponent(parameter)) for parameter in shown)
        axes.plot([], [], "s", color=colour, label=f"{regime.name}: {powers}")
    for x, y, slope in diagram.slopes:
        axes.text(x, y, f"{slope:.2f}", ha="center", va="center", fontsize=7)
    axes.set(xlabel=r"$\log n/\log d$", ylabel=rf"$\log {vertical}/\log d$", title=title)
    figure.legend(loc="outside lower center", frameon=False, fontsize=7, ncols=2)
    return figure


def _power(value: Fraction) -> str:
    return f"{float(value):.3g}"
