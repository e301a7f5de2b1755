"""Comparisons with an optimum along alpha: optimal weight decay, Bayes-optimal errors."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.points import (
    ALPHA_LABEL,
    CIRCLES,
    broken_note,
    mark_broken,
    point_marks,
    require_points,
)
from numeric.plotting.style import in_style, legend_above, panels
from numeric.studies.bayes_comparison import BayesPoint, CostPoint
from numeric.studies.optimal_decay import Optimum


def optimum_coordinates(best: Optimum) -> tuple[float, float]:
    """Return the coordinates of a point in `optimal_figure`: (alpha, optimal weight decay).

    The optimal weight decay has its kinks at the same alpha as the test error.
    `numeric.plotting.kinks.refine_kinks` takes this function.
    """
    return best.solution.problem.alpha, best.decay


@in_style
def optimal_figure(found: Sequence[Optimum], ax: Sequence[Axes] | None = None) -> Figure:
    """Plot the least error and the optimal weight decay along alpha, in two panels.

    Points where replica symmetry is broken are open circles.

    Args:
        found: results of `optimal_lambda`, one or more.
        ax: your own two axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `found` is empty or has an element that is not an Optimum; `ax` is not two
            Axes.
    """
    require_points("found", found, Optimum, "optimal_lambda")
    figure, (errors, decays) = panels(ax, 1, 2, 2.4)
    solutions = [best.solution for best in found]
    alphas = [solution.problem.alpha for solution in solutions]
    least = [best.least for best in found]
    decay = [best.decay or math.nan for best in found]
    for axes, values in ((errors, least), (decays, decay)):
        axes.plot(alphas, values, ".-", color="C0")
        mark_broken(axes, alphas, values, solutions, "C0")
    name = found[0].error.replace("_", " ")
    errors.set(xlabel=ALPHA_LABEL, ylabel=rf"{name} at optimal $\lambda$")
    decays.set(xlabel=ALPHA_LABEL, ylabel=r"optimal $\lambda$")
    logarithmic(errors.xaxis, errors.yaxis, decays.xaxis, decays.yaxis)
    none = "" if all(best.decay for best in found) else r"no line: the optimum is $\lambda \to 0$"
    setting = settings(solutions[0].problem, "alpha", "lambda_")
    add_caption(figure, setting, none, broken_note(solutions, CIRCLES))
    return figure


def cost_coordinates(point: CostPoint) -> tuple[float, float, float]:
    """Return the coordinates of a point in `cost_figure`: (alpha, learned error, Bayes-optimal
    error).

    An error without a trusted value is NaN. `numeric.plotting.kinks.refine_kinks` takes this
    function.
    """
    learned = point.solution.estimation_error if point.solution.trusted else math.nan
    optimal = math.nan if point.bayes_error is None else point.bayes_error
    return point.solution.problem.alpha, learned, optimal


@in_style
def cost_figure(points: Sequence[CostPoint], ax: Axes | None = None) -> Figure:
    """Plot the estimation error of the learned and of the Bayes-optimal map along alpha.

    Points where replica symmetry is broken are open circles.

    Args:
        points: results of `cost_curve`, one or more.
        ax: your own axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `points` is empty or has an element that is not a CostPoint; `ax` is not
            one Axes.
    """
    require_points("points", points, CostPoint, "cost_curve")
    figure, (axes,) = panels(ax)
    alphas, learned, optimal = zip(*map(cost_coordinates, points), strict=True)
    solutions = [point.solution for point in points]
    look = point_marks(len(alphas))
    axes.plot(alphas, learned, label="learned", **look)
    axes.plot(alphas, optimal, "--", label="Bayes-optimal", **look)
    mark_broken(axes, alphas, learned, solutions, "C0")
    axes.set(xlabel=ALPHA_LABEL, ylabel=r"estimation error $\|S-S_0\|^2/d$")
    logarithmic(axes.xaxis, axes.yaxis)
    legend_above(axes)
    setting = settings(solutions[0].problem, "alpha")
    add_caption(figure, setting, broken_note(solutions, CIRCLES))
    return figure


@in_style
def bayes_figure(points: Sequence[BayesPoint], ax: Sequence[Axes] | None = None) -> Figure:
    """Plot estimation and test error along alpha, in two panels, for three estimators.

    The estimators are the map learned at the optimal weight decay, the Bayes-optimal estimator, and
    (for the test error only) the label of the posterior mean of S. Points where replica symmetry is
    broken are open circles.

    Args:
        points: results of `bayes_curve`, one or more.
        ax: your own two axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `points` is empty or has an element that is not a BayesPoint; `ax` is not
            two Axes.
    """
    require_points("points", points, BayesPoint, "bayes_curve")
    figure, (estimation, test) = panels(ax, 1, 2, 2.6)
    known = [
        (p.problem.alpha, p.bayes_error, *p.predictions)
        for p in points
        if p.bayes_error and p.predictions
    ]
    optimal_alphas, *optimal = zip(*known, strict=True) if known else [()] * 4
    learned = [p.learned.solution for p in points if p.learned]
    alphas = [solution.problem.alpha for solution in learned]
    for axes, name, values in (
        (estimation, "estimation_error", optimal[0]),
        (test, "test_error", optimal[1]),
    ):
        errors = [getattr(solution, name) for solution in learned]
        look = point_marks(len(alphas))
        axes.plot(alphas, errors, "C0", label=r"learned, best $\lambda$", **look)
        mark_broken(axes, alphas, errors, learned, "C0")
        axes.plot(optimal_alphas, values, "C1--", label="Bayes-optimal")
        axes.set(xlabel=ALPHA_LABEL, ylabel=name.replace("_", " "))
        logarithmic(axes.xaxis, axes.yaxis)
    test.plot(optimal_alphas, optimal[2], "C2:", label="label of the posterior mean")
    for axes in (estimation, test):
        legend_above(axes, 2)
    setting = settings(points[0].problem, "alpha", "lambda_")
    add_caption(figure, setting, broken_note(learned, CIRCLES))
    return figure
