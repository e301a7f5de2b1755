"""Figures of theory curves and spectra, as a journal would print them: a column or a page wide, settings in a caption.

Each function draws on a sheet of its own, or with `ax=` on axes that are handed over, as many as it has panels; it then leaves their
settings and what stands around them alone, and `numeric.journal.caption.caption_of(figure)` is the caption that they have not. What is
handed over of another kind, such as a problem in place of its solution, raises InvalidParameter, as does one point in place of a list.
`figure.savefig("curve.pdf")` writes it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter

from numeric.journal.caption import add_caption, model_named, settings
from numeric.journal.log_axes import keep_in_view, logarithmic
from numeric.journal.numbers import in_mathtext
from numeric.journal.stretches import stretches
from numeric.journal.style import in_style, legend_above, panels
from numeric.maths.domain import InvalidParameter, require_kind, require_list
from numeric.model import DEFAULT
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution, Status
from numeric.studies.against_bayes import BayesPoint, CostPoint
from numeric.studies.decompose import Decomposition
from numeric.studies.optimal_decay import Optimum
from numeric.studies.phase_diagram import PhaseDiagram
from numeric.studies.recovery_table import RecoveryRow
from numeric.studies.scaling import ScalingPoint, power_law_of, regime_of
from numeric.studies.sequential_recovery import Recovered
from numeric.studies.spectrum import LearnedSpectrum

_ERRORS = (
    ("test_error", "test error", "C0", "-"),
    ("train_error", "train error", "C1", "--"),
    ("estimation_error", "estimation error", "C2", ":"),
)
_ALPHA = r"sample ratio $\alpha=n/d^2$"
BROKEN = "replica symmetry broken, an approximation"  #: what a caption says of points where it is
_CIRCLES = "open circles: "


def drawn_errors(solution: Solution) -> tuple[float, ...]:
    """Where `curve_figure` draws a point, and what; NaN where there is no value to rely on, 0 where zero is within the error bar.

    For `numeric.journal.kinks.resolved`.
    """
    return solution.problem.alpha, *(_drawn(solution, name) for name, *_ in _ERRORS)


def _drawn(solution: Solution, name: str) -> float:
    value = getattr(solution, name) if solution.trusted else math.nan
    return 0.0 if abs(value) <= solution.errors.get(name, 0.0) else value


def _require_each(name: str, points: Sequence[object], kind: type, maker: str) -> None:
    """Raises InvalidParameter for one thing in place of a list, and for one in the list of another kind than its maker returns."""
    require_list(name, points)
    for number, point in enumerate(points):
        require_kind(f"{name}[{number}]", point, kind, f"give what {maker} returns")


def _require_some(name: str, points: Sequence[object], kind: type, maker: str) -> None:
    """Raises InvalidParameter as `_require_each`, and where there is nothing to draw."""
    _require_each(name, points, kind, maker)
    if not len(points):
        raise InvalidParameter(name, points, "holds nothing to draw", "give one point or more")


@in_style
def curve_figure(solutions: Sequence[Solution], ax: Axes | None = None) -> Figure:
    """Errors against alpha, with bands of their error estimates; points where replica symmetry is broken are open circles on a faint
    line, and no line passes one that was not solved. What is left out is said in the caption.

    >>> from attention_erm import MarchenkoPastur, Problem, learning_curve
    >>> from numeric.plots import curve_figure
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
    >>> figure = curve_figure(learning_curve(problem, [0.5, 1, 2]))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['test error', 'train error', 'estimation error']
    """
    _require_some("solutions", solutions, Solution, "solve")
    figure, (axes,) = panels(ax)
    alphas = np.array([solution.problem.alpha for solution in solutions])
    stable = np.array([solution.status is not Status.UNSTABLE for solution in solutions])
    left_out = [solution.problem.alpha for solution in solutions if not solution.trusted]
    joined = stable.all() and not left_out and len(alphas) > 1
    mark = "" if joined else "."  # a point without a neighbour has no line
    lines = dict[str, np.ndarray]()
    for column, (name, label, colour, line) in enumerate(_ERRORS, 1):
        values = lines[label] = np.array([drawn[column] for drawn in map(drawn_errors, solutions)])
        errors = np.where(values > 0, [solution.errors.get(name, 0.0) for solution in solutions], np.nan)
        _line(axes, alphas, values, stable, line, colour, label, marker=mark, ms=3)
        _mark_broken(axes, alphas, values, solutions, colour)
        axes.fill_between(alphas, values - errors, values + errors, color=colour, alpha=0.2, lw=0)
    axes.set(xlabel=_ALPHA, ylabel="error")
    logarithmic(axes.xaxis)
    notes = ["" if stable.all() else _CIRCLES + BROKEN, _left_out(left_out, alphas.tolist())]
    if any(solution.trusted for solution in solutions):  # a log of nothing cannot be drawn
        logarithmic(axes.yaxis)
        notes.append(_below(keep_in_view(axes), lines))
    legend_above(axes)
    add_caption(figure, settings(solutions[0].problem, "alpha"), *notes)
    return figure


def _line(
    axes: Axes, x: np.ndarray, y: np.ndarray, stable: np.ndarray, line: str, colour: str, label: str, **look: Any
) -> None:
    """A line, faint to and between points that are approximations."""
    axes.plot(x, np.where(stable, y, np.nan), line, color=colour, label=label, **look)
    if not stable.all():
        beside = ~stable | np.append(~stable[1:], False) | np.append(False, ~stable[:-1])
        axes.plot(x, np.where(beside, y, np.nan), line, color=colour, lw=0.5, alpha=0.6)


def _left_out(alphas: Sequence[float], among: Sequence[float]) -> str:
    """Of points that leave a gap."""
    return f"left out as inaccurate or unsolved: {_ranges(alphas, among)}" if alphas else ""


def _mark_broken(
    axes: Axes, x: Iterable[float], y: Iterable[float], solutions: Sequence[Solution], colour: str, mark: str = "o"
) -> None:
    """Open circles, or other marks, over the points that are approximations."""
    marked = [(*at,) for *at, one in zip(x, y, solutions, strict=True) if one.status is Status.UNSTABLE]
    if marked:
        axes.plot(*zip(*marked, strict=True), mark, color=colour, mfc="white", ms=3, zorder=3)


def _broken(solutions: Sequence[Solution], values: Sequence[float] = (), glyph: str = r"\alpha") -> str:
    """Of points that are approximations, along the sample ratio or `values` of another parameter."""
    along = values or [solution.problem.alpha for solution in solutions]
    where = [value for value, solution in zip(along, solutions, strict=True) if solution.status is Status.UNSTABLE]
    if len(along) == 1:  # which the caption has stated
        return BROKEN if where else ""
    return f"{BROKEN}: {_ranges(where, along, glyph)}" if where else ""


def _circled(told: str) -> str:
    return told and _CIRCLES + told


def _ranges(values: Sequence[float], among: Sequence[float], glyph: str = r"\alpha") -> str:
    return f"${glyph}$ = {stretches(values, among, lambda value: f'${in_mathtext(value)}$')}"


def _below(least: float, lines: Mapping[str, np.ndarray]) -> str:
    """Of lines that leave the panel below."""
    low = [label for label, values in lines.items() if (values < least).any()]
    return rf"not drawn: {' and '.join(low)} below ${in_mathtext(float(f'{least:.0e}'))}$" if low else ""


@in_style
def spectrum_figure(spectrum: LearnedSpectrum, ax: Axes | None = None) -> Figure:
    """Density of the eigenvalues of S; masses at one point, which have none, as arrows: at zero its mass beside it, outliers short.

    >>> from attention_erm import MarchenkoPastur, Problem, learned_spectrum, solve
    >>> from numeric.plots import spectrum_figure
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
    >>> figure = spectrum_figure(learned_spectrum(solve(problem)))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['mass 0.3699']
    """
    require_kind("spectrum", spectrum, LearnedSpectrum, "give learned_spectrum(solution)")
    figure, (axes,) = panels(ax)
    axes.plot(*spectrum.outline(), color="C0")
    axes.fill_between(*spectrum.outline(), color="C0", alpha=0.15, lw=0)
    axes.margins(x=0.04, y=0.15)
    axes.set(xlabel="eigenvalue of $S$", ylabel="density", ylim=(0, None))
    notes = [settings(spectrum.solution.problem), _broken([spectrum.solution])] if spectrum.solution else []
    if spectrum.zero_mass:
        _point_mass(axes, 0, _TALL, "0.2")
        axes.annotate(
            f"mass {spectrum.zero_mass:.4f}", (0, _TALL), (6, 2), xycoords=axes.get_xaxis_transform(),
            textcoords="offset points", va="top", color="0.2", fontsize="small",
        )  # fmt: skip
        notes.append(f"arrow: mass {spectrum.zero_mass:.4f} at zero, which has no density")
    for outlier in spectrum.outliers:
        _point_mass(axes, outlier.value, _SHORT, "C1")
    if spectrum.outliers:
        weights = sorted({f"{outlier.weight:.3g}" for outlier in spectrum.outliers})
        notes.append(f"short arrows: outliers of mass {' or '.join(weights)} each")
    add_caption(figure, *notes)
    return figure


_TALL, _SHORT = 0.97, 0.3  # of the height of the axes


def _point_mass(axes: Axes, at: float, height: float, colour: str) -> None:
    """An arrow from the axis, whose height says nothing: the line is data, so that the axes hold it, its head is not."""
    axes.plot([at, at], [0, height], color=colour, lw=1, transform=axes.get_xaxis_transform())
    axes.plot([at], [height], "^", color=colour, ms=4, transform=axes.get_xaxis_transform(), clip_on=False)


@in_style
def decomposition_figure(
    parts: Sequence[Decomposition], ax: Axes | None = None, unsolved: Sequence[float] = ()
) -> Figure:
    """Parts of the excess test error against alpha, with the mismatch that stays; of a part below zero its size, in open circles.

    Points where replica symmetry is broken are open squares on faint lines, and no line passes an `unsolved` sample ratio.

    >>> from attention_erm import MarchenkoPastur, Problem, decompose, learning_curve
    >>> from numeric.plots import decomposition_figure
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
    >>> figure = decomposition_figure([decompose(solution) for solution in learning_curve(problem, [1, 2])])
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['excess overfitting', 'excess underfitting', 'excess approximation', 'mismatch']
    """
    _require_each("parts", parts, Decomposition, "decompose")
    figure, (axes,) = panels(ax)
    by_alpha = {part.solution.problem.alpha: part for part in parts}
    alphas = np.array(sorted({*by_alpha, *unsolved}))
    solutions = [by_alpha[alpha].solution for alpha in sorted(by_alpha)]

    def along(value: Callable[[Decomposition], float]) -> np.ndarray:
        return np.array([value(by_alpha[alpha]) if alpha in by_alpha else math.nan for alpha in alphas])

    solved = np.isin(alphas, list(by_alpha))
    stable = np.isin(alphas, [one.problem.alpha for one in solutions if one.status is Status.UNSTABLE], invert=True)

    def draw(values: np.ndarray, line: str, colour: str, label: str) -> None:
        _line(axes, alphas, values, stable, line, colour, label)
        _mark_broken(axes, alphas[solved], values[solved], solutions, colour, "s")

    styles = {"overfitting": "-", "underfitting": "--", "approximation": "-."}
    negative, sizes = list[str](), dict[str, np.ndarray]()
    for colour, (name, line) in enumerate(styles.items()):
        values = along(lambda part, name=name: part.excess[name])  # type: ignore[misc]  # of this turn of the loop
        sizes[f"excess {name}"] = np.abs(values)
        draw(np.where(values > 0, values, np.nan), line, f"C{colour}", f"excess {name}")
        if (below := values < 0).any():
            axes.plot(alphas[below], -values[below], "o", mfc="none", color=f"C{colour}", label=f"$-$excess {name}")
            negative.append(name)
    draw(along(lambda part: part.mismatch), ":", "0.4", "mismatch")
    axes.set(xlabel=_ALPHA, ylabel=r"test error above that of $E[y\,|\,X]$")
    logarithmic(axes.xaxis, axes.yaxis)
    below_panel = _below(keep_in_view(axes), sizes)
    legend_above(axes, 2)
    note = f"open circles: minus excess {' and '.join(negative)}, which is below zero" if negative else ""
    told = settings(solutions[0].problem, "alpha") if parts else ""
    broken = _broken(solutions)
    squares = broken and f"open squares: {broken}"
    add_caption(figure, told, note, below_panel, squares, _left_out(unsolved, alphas.tolist()))
    return figure


def drawn_optimum(best: Optimum) -> tuple[float, float]:
    """Where `optimal_figure` draws a weight decay, whose kinks are those of the error too, as `drawn_errors`."""
    return best.solution.problem.alpha, best.decay


@in_style
def optimal_figure(found: Sequence[Optimum], ax: Sequence[Axes] | None = None) -> Figure:
    """Least test error and the weight decay that gives it, against alpha; two panels, with marks."""
    _require_some("found", found, Optimum, "optimal_lambda")
    figure, (errors, decays) = panels(ax, 1, 2, 2.4)
    solutions = [best.solution for best in found]
    alphas = [solution.problem.alpha for solution in solutions]
    least, decay = [solution.test_error for solution in solutions], [best.decay or math.nan for best in found]
    for axes, values in ((errors, least), (decays, decay)):
        axes.plot(alphas, values, ".-", color="C0")
        _mark_broken(axes, alphas, values, solutions, "C0")
    errors.set(xlabel=_ALPHA, ylabel=r"test error at optimal $\lambda$")
    decays.set(xlabel=_ALPHA, ylabel=r"optimal $\lambda$")
    logarithmic(errors.xaxis, errors.yaxis, decays.xaxis, decays.yaxis)
    none = "" if all(best.decay for best in found) else r"no line: the optimum is $\lambda \to 0$"
    add_caption(
        figure,
        settings(solutions[0].problem, "alpha", "lambda_"),
        none,
        _circled(_broken(solutions)),
    )
    return figure


def drawn_costs(point: CostPoint) -> tuple[float, float, float]:
    """Where `cost_figure` draws a point, and what, as `drawn_errors`."""
    learned = point.solution.estimation_error if point.solution.trusted else math.nan
    return point.solution.problem.alpha, learned, math.nan if point.bayes_error is None else point.bayes_error


@in_style
def cost_figure(points: Sequence[CostPoint], ax: Axes | None = None) -> Figure:
    """Estimation errors of the learned map and of the Bayes-optimal one against alpha."""
    _require_some("points", points, CostPoint, "cost_curve")
    figure, (axes,) = panels(ax)
    alphas, learned, optimal = zip(*map(drawn_costs, points), strict=True)
    solutions = [point.solution for point in points]
    axes.plot(alphas, learned, label="learned")
    axes.plot(alphas, optimal, "--", label="Bayes-optimal")
    _mark_broken(axes, alphas, learned, solutions, "C0")
    axes.set(xlabel=_ALPHA, ylabel=r"estimation error $\|S-S_0\|^2/d$")
    logarithmic(axes.xaxis, axes.yaxis)
    legend_above(axes)
    add_caption(figure, settings(solutions[0].problem, "alpha"), _circled(_broken(solutions)))
    return figure


@in_style
def bayes_figure(points: Sequence[BayesPoint], ax: Sequence[Axes] | None = None) -> Figure:
    """Estimation and test errors: Bayes-optimal, of the label of the posterior mean, learned at the best weight decay; two panels."""
    _require_some("points", points, BayesPoint, "bayes_curve")
    figure, (estimation, test) = panels(ax, 1, 2, 2.6)
    known = [(p.problem.alpha, p.bayes_error, *p.predictions) for p in points if p.bayes_error and p.predictions]
    learned = [p.learned.solution for p in points if p.learned]
    sampled = [solution.problem.alpha for solution in learned]
    for axes, name, column in ((estimation, "estimation_error", 1), (test, "test_error", 2)):
        errors = [getattr(solution, name) for solution in learned]
        axes.plot(sampled, errors, "C0", label=r"learned, best $\lambda$")
        _mark_broken(axes, sampled, errors, learned, "C0")
        axes.plot([row[0] for row in known], [row[column] for row in known], "C1--", label="Bayes-optimal")
        axes.set(xlabel=_ALPHA, ylabel=name.replace("_", " "))
        logarithmic(axes.xaxis, axes.yaxis)
    test.plot([row[0] for row in known], [row[3] for row in known], "C2:", label="label of the posterior mean")
    for axes in (estimation, test):
        legend_above(axes, 2)
    told = settings(points[0].problem, "alpha", "lambda_")
    add_caption(figure, told, _circled(_broken(learned)))
    return figure


@in_style
def recovery_figure(rows: Sequence[RecoveryRow], ax: Axes | None = None, model: str = DEFAULT) -> Figure:
    """Recovery thresholds against the target's rank ratio: one colour per number of tokens, one line style per width."""
    _require_some("rows", rows, RecoveryRow, "recovery_table")
    figure, (axes,) = panels(ax, height=3.0)
    tokens = sorted({row.tokens for row in rows}, key=lambda count: count or 0)
    widths = sorted({row.width for row in rows}, reverse=True)
    for colour, count in enumerate(tokens):
        for style, width in zip(cycle(_LINES), widths, strict=False):
            chosen = _along_rank(rows, count, width)
            axes.plot(*zip(*((float(r.kappa0), float(r.recovery)) for r in chosen), strict=True),
                      ls=style, color=f"C{colour}")  # fmt: skip
        widest = _along_rank(rows, count, widths[0])
        axes.plot(*zip(*((float(r.kappa0), float(r.bayes)) for r in widest), strict=True), ":", color=f"C{colour}")  # fmt: skip
    axes.set(xlabel=r"rank ratio of the target $\kappa_0$", ylabel=r"recovery threshold $\alpha_{\rm rec}$")
    handles = [Line2D([], [], color=f"C{colour}", label=f"$T={count}$") for colour, count in enumerate(tokens) if count]
    for style, width in zip(cycle(_LINES), widths, strict=False):
        handles.append(Line2D([], [], color="0.3", ls=style, label=rf"$\kappa={float(width):g}$"))
    handles.append(Line2D([], [], color="0.3", ls=":", label="Bayes-optimal"))
    legend_above(axes, handles=handles)
    narrow = any(width < 1 for width in widths)
    add_caption(
        figure,
        ", ".join(filter(None, ("no label noise", model_named(model)))),
        r"lines end where $\kappa_0$ reaches the width $\kappa$, at the optimum" if narrow else "",
    )
    return figure


def _along_rank(rows: Iterable[RecoveryRow], tokens: int | None, width: Fraction) -> list[RecoveryRow]:
    return sorted((row for row in rows if (row.tokens, row.width) == (tokens, width)), key=lambda row: row.kappa0)


_LINES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))  # dots are the optimum's


@in_style
def scaling_figure(
    problem: Problem,
    points: Sequence[ScalingPoint],
    recovered: Sequence[Recovered] = (),
    along: str = "samples",
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Risk along samples or hidden units; its local slope below, beside the derived exponent of the regime; two panels.

    A tick where each feature leaves the bulk.

    >>> from attention_erm import Problem, power_law, scaling_curve
    >>> from numeric.plots import scaling_figure
    >>> problem = Problem(alpha=1, target=power_law(0.75, dim=50), lambda_=1 / 50, noise=0.5)
    >>> risk, slope = scaling_figure(problem, scaling_curve(problem, [1e4, 1e5])).axes
    >>> slope.get_xlabel(), slope.get_ylabel()
    ('samples $n$', 'slope')
    """
    require_problem(problem)
    _require_some("points", points, ScalingPoint, "scaling_curve")
    _require_each("recovered", recovered, Recovered, "sequential_recovery")
    figure, (above, below) = panels(ax, 2, 1, 4.0, sharex=True, height_ratios=(3, 2))
    dim = power_law_of(problem).dim
    solved = [point for point in points if point.risk > 0]
    label, parameter, varied = {
        "samples": ("samples $n$", "n", ("alpha",)),
        "hidden": ("hidden units $m$", "m", ("alpha", "width")),
    }[along]
    x = [getattr(point, along) for point in solved]
    above.plot(x, [point.risk for point in solved], "o-", ms=3, color="C0")
    _mark_broken(above, x, [point.risk for point in solved], [point.solution for point in solved], "C0")
    above.set(ylabel=r"risk $\|S/c-S_0\|^2/d$")
    ticks = [one.before for one in recovered if one.after is not None and one.before is not None]
    above.plot(ticks, [0.02] * len(ticks), "|", ms=12, color="0.3", transform=above.get_xaxis_transform())
    inner = [point for point in solved if not math.isnan(point.slope)]
    places, slopes = [getattr(point, along) for point in inner], [point.slope for point in inner]
    bars = [point.slope_error for point in inner]
    below.errorbar(places, slopes, bars, fmt="o-", ms=3, color="C0", label="local slope")
    _mark_broken(below, places, slopes, [point.solution for point in inner], "C0")
    regimes = [regime for point in solved if (regime := regime_of(point, along))]
    if regimes:
        exponents = [float(regime.exponent(parameter)) for regime in regimes]
        below.step(x, exponents, "--", where="mid", color="C1", label="derived exponent")
    below.set(xlabel=label, ylabel="slope")
    logarithmic(above.xaxis, above.yaxis, below.xaxis)
    legend_above(below)
    samples = f"$n = {in_mathtext(problem.alpha * dim**2)}$" if along == "hidden" else ""
    leave = "ticks: a feature leaves the bulk" if ticks else ""
    slow = "a slope is not the exponent before a crossover has ended" if regimes else ""
    add_caption(
        figure,
        settings(problem, *varied),
        samples,
        leave,
        slow,
        _circled(_broken([point.solution for point in solved], x, parameter)),
    )
    return figure


@in_style
def phase_figure(diagram: PhaseDiagram, ax: Axes | None = None) -> Figure:
    """Cells coloured, with the exponents of the axes in each; local slopes of the theory at one dimension as numbers."""
    require_kind("diagram", diagram, PhaseDiagram, "give what phase_diagram returns")
    figure, (axes,) = panels(ax, height=4.3)
    along, vertical = {"decay": ("n", r"\lambda"), "width": ("m", "m")}[diagram.axis]
    shown = dict.fromkeys(("n", along))
    cells = diagram.regimes
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
        axes.plot([], [], "s", ms=6, color=colour, label=f"{regime.name}: {powers}")
    for x, y, slope in diagram.slopes:
        axes.text(x, y, Formatter.fix_minus(f"{slope:.2f}"), ha="center", va="center", fontsize="x-small")
    axes.set(xlabel=r"$\log n/\log d$", ylabel=rf"$\log {vertical}/\log d$")
    legend_above(axes, 1)
    add_caption(
        figure, rf"$\gamma = {diagram.gamma}$", "" if diagram.decay is None else rf"$\lambda = d^{{{diagram.decay}}}$",
        f"cells: exponent of ${', '.join(shown)}$ in the excess risk", slopes_note(diagram),
    )  # fmt: skip
    return figure


def slopes_note(diagram: PhaseDiagram) -> str:
    """What a caption says of the numbers in a phase diagram, with the settings of the theory that has them."""
    if diagram.theory is None or not len(diagram.slopes):  # an interrupt came before any was solved
        return ""
    along = " along $m$" if diagram.axis == "width" else ""
    place = settings(diagram.theory, "target", "alpha", "lambda_", "width")
    at = f"at $d = {in_mathtext(power_law_of(diagram.theory).dim)}$, {place}"
    return f"numbers: local slope{along} {at}, which is not the exponent before a crossover has ended"


def _power(value: Fraction) -> str:
    return Formatter.fix_minus(f"{float(value):.3g}")
