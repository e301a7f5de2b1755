"""Learning curves: errors, and parts of the test error, along the sample ratio alpha."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import keep_in_view, logarithmic
from numeric.plotting.points import (
    ALPHA_LABEL,
    BROKEN_SYMMETRY,
    CIRCLES,
    below_panel_note,
    broken_note,
    mark_broken,
    omitted_note,
    plot_line,
    require_points,
)
from numeric.plotting.style import in_style, ink, legend_above, panels
from numeric.problem.solution import Solution, Status
from numeric.studies.decompose import Decomposition

_ERROR_LINES = (
    ("test_error", "test error", "C0", "-"),
    ("train_error", "train error", "C1", "--"),
    ("estimation_error", "estimation error", "C2", ":"),
)


def curve_coordinates(solution: Solution) -> tuple[float, ...]:
    """Return the coordinates of a point in `curve_figure`: (alpha, test error, train error,
    estimation error).

    A value is NaN if the solution is not trusted, and 0 if zero is within its error bar.
    `numeric.plotting.kinks.refine_kinks` takes this function.
    """
    return solution.problem.alpha, *(_plotted_value(solution, name) for name, *_ in _ERROR_LINES)


def _excess(name: str) -> Callable[[Decomposition], float]:
    return lambda part: part.excess[name]


def _plotted_value(solution: Solution, name: str) -> float:
    value = getattr(solution, name) if solution.trusted else math.nan
    return 0.0 if abs(value) <= solution.errors.get(name, 0.0) else value


@in_style
def curve_figure(solutions: Sequence[Solution], ax: Axes | None = None) -> Figure:
    """Plot test, train and estimation error along alpha, with bands for their error bars.

    Points where replica symmetry is broken are open circles on a faint line. A point without a
    value leaves a gap, and the caption lists it.

    Args:
        solutions: results of `solve` or `learning_curve`, one or more.
        ax: your own axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `solutions` is empty or has an element that is not a Solution; `ax` is not
            one Axes.

    >>> from attention_erm import MarchenkoPastur, Problem, learning_curve
    >>> from numeric.plotting import curve_figure
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
    >>> figure = curve_figure(learning_curve(problem, [0.5, 1, 2]))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['test error', 'train error', 'estimation error']
    """
    require_points("solutions", solutions, Solution, "solve")
    figure, (axes,) = panels(ax)
    alphas, *values_of_lines = np.array([curve_coordinates(solution) for solution in solutions]).T
    stable = np.array([solution.status is not Status.UNSTABLE for solution in solutions])
    omitted = [solution.problem.alpha for solution in solutions if not solution.trusted]
    # an isolated point is not visible on a line
    marks = {} if stable.all() and not omitted else {"marker": "."}
    lines = dict[str, np.ndarray]()
    for values, (name, label, colour, line) in zip(values_of_lines, _ERROR_LINES, strict=True):
        lines[label] = values
        bars = [solution.errors.get(name, 0.0) for solution in solutions]
        errors = np.where(values > 0, bars, np.nan)
        plot_line(axes, alphas, values, stable, line, colour, label, **marks)
        mark_broken(axes, alphas, values, solutions, colour)
        axes.fill_between(alphas, values - errors, values + errors, color=colour, alpha=0.2, lw=0)
    axes.set(xlabel=ALPHA_LABEL, ylabel="error")
    logarithmic(axes.xaxis)
    circles = "" if stable.all() else CIRCLES + BROKEN_SYMMETRY
    notes = [circles, omitted_note(omitted, alphas.tolist())]
    if any(solution.trusted for solution in solutions):  # a logarithmic axis needs a value
        logarithmic(axes.yaxis)
        notes.append(below_panel_note(keep_in_view(axes), lines))
    legend_above(axes)
    add_caption(figure, settings(solutions[0].problem, "alpha"), *notes)
    return figure


@in_style
def decomposition_figure(
    parts: Sequence[Decomposition], ax: Axes | None = None, unsolved: Sequence[float] = ()
) -> Figure:
    """Plot the parts of the excess test error, and the mismatch, along alpha.

    A negative part is drawn by its absolute value, as open circles. Points where replica symmetry
    is broken are open squares on faint lines.

    Args:
        parts: results of `decompose`.
        ax: your own axes; default: a new figure.
        unsolved: sample ratios without a solution; lines have a gap there, and the caption lists
            them.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `parts` has an element that is not a Decomposition; `ax` is not one Axes.

    >>> from attention_erm import MarchenkoPastur, Problem, decompose, learning_curve
    >>> from numeric.plotting import decomposition_figure
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
    >>> curve = learning_curve(problem, [1, 2])
    >>> figure = decomposition_figure([decompose(solution) for solution in curve])
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['excess overfitting', 'excess underfitting', 'excess approximation', 'mismatch']
    """
    require_points("parts", parts, Decomposition, "decompose", allow_empty=True)
    figure, (axes,) = panels(ax)
    by_alpha = {part.solution.problem.alpha: part for part in parts}
    alphas = np.array(sorted({*by_alpha, *unsolved}))
    solutions = [by_alpha[alpha].solution for alpha in sorted(by_alpha)]

    def along(value: Callable[[Decomposition], float]) -> np.ndarray:
        return np.array(
            [value(by_alpha[alpha]) if alpha in by_alpha else math.nan for alpha in alphas]
        )

    solved = np.isin(alphas, list(by_alpha))
    unstable = [one.problem.alpha for one in solutions if one.status is Status.UNSTABLE]
    stable = np.isin(alphas, unstable, invert=True)

    def draw(values: np.ndarray, line: str, colour: str, label: str) -> None:
        plot_line(axes, alphas, values, stable, line, colour, label)
        mark_broken(axes, alphas[solved], values[solved], solutions, colour, "s")

    styles = {"overfitting": "-", "underfitting": "--", "approximation": "-."}
    negative, sizes = list[str](), dict[str, np.ndarray]()
    for colour, (name, line) in enumerate(styles.items()):
        values = along(_excess(name))
        sizes[f"excess {name}"] = np.abs(values)
        draw(np.where(values > 0, values, np.nan), line, f"C{colour}", f"excess {name}")
        if (below := values < 0).any():
            look: dict[str, Any] = {"color": f"C{colour}", "label": f"$-$excess {name}"}
            axes.plot(alphas[below], -values[below], "o", mfc="none", **look)
            negative.append(name)
    draw(along(lambda part: part.mismatch), ":", ink(0.4), "mismatch")
    axes.set(xlabel=ALPHA_LABEL, ylabel=r"test error above the test error of $E[y\,|\,X]$")
    logarithmic(axes.xaxis, axes.yaxis)
    below_panel = below_panel_note(keep_in_view(axes), sizes)
    legend_above(axes, 2)
    below_zero = " and ".join(negative)
    note = below_zero and f"{CIRCLES}minus excess {below_zero}, which is below zero"
    setting = settings(solutions[0].problem, "alpha") if parts else ""
    squares = broken_note(solutions, "open squares: ")
    omitted = omitted_note(unsolved, alphas.tolist())
    add_caption(figure, setting, note, below_panel, squares, omitted)
    return figure
