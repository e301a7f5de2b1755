"""Scaling laws: risk and its local slope."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.numbers import in_mathtext
from numeric.plotting.points import CIRCLES, broken_note, mark_broken, require_points
from numeric.plotting.style import in_style, ink, legend_above, panels
from numeric.problem.problem import Problem, require_problem
from numeric.studies.scaling import ScalingPoint, power_law_of, regime_of
from numeric.studies.sequential_recovery import RecoveredFeature


@in_style
def scaling_figure(
    problem: Problem,
    points: Sequence[ScalingPoint],
    recovered: Sequence[RecoveredFeature] = (),
    along: str = "samples",
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Plot the risk along samples or hidden units, and below it the local slope with the derived
    exponent of the regime.

    Ticks on the lower edge of the upper panel show where each feature leaves the bulk. Points where
    replica symmetry is broken are open circles.

    Args:
        problem: settings for the caption; its target is a power law.
        points: results of `scaling_curve` or `width_curve`, one or more.
        recovered: results of `sequential_recovery`, for the ticks.
        along: "samples" or "hidden".
        ax: your own two axes, upper panel first; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: an argument has the wrong type, `points` is empty, or `ax` is not two
            Axes.

    >>> from attention_erm import Problem, power_law, scaling_curve
    >>> from numeric.plotting import scaling_figure
    >>> problem = Problem(alpha=1, target=power_law(0.75, dim=50), lambda_=1 / 50, noise=0.5)
    >>> risk, slope = scaling_figure(problem, scaling_curve(problem, [1e4, 1e5])).axes
    >>> slope.get_xlabel(), slope.get_ylabel()
    ('samples $n$', 'slope')
    """
    require_problem(problem)
    require_points("points", points, ScalingPoint, "scaling_curve")
    require_points(
        "recovered", recovered, RecoveredFeature, "sequential_recovery", allow_empty=True
    )
    figure, (above, below) = panels(ax, 2, 1, 4.0, sharex=True, height_ratios=(3, 2))
    dim = power_law_of(problem).dim
    solved = [point for point in points if point.risk > 0]
    label, parameter, varied = {
        "samples": ("samples $n$", "n", ("alpha",)),
        "hidden": ("hidden units $m$", "m", ("alpha", "width")),
    }[along]
    x, risks = [getattr(point, along) for point in solved], [point.risk for point in solved]
    solutions = [point.solution for point in solved]
    above.plot(x, risks, "o-", ms=3, color="C0")
    mark_broken(above, x, risks, solutions, "C0")
    above.set(ylabel=r"risk $\|S/c-S_0\|^2/d$")
    ticks = [one.before for one in recovered if one.after is not None and one.before is not None]
    edge = above.get_xaxis_transform()
    above.plot(ticks, [0.02] * len(ticks), "|", ms=12, color=ink(0.3), transform=edge)
    inner = [point for point in solved if not math.isnan(point.slope)]
    places, slopes = [getattr(point, along) for point in inner], [point.slope for point in inner]
    bars = [point.slope_error for point in inner]
    below.errorbar(places, slopes, bars, fmt="o-", ms=3, color="C0", label="local slope")
    mark_broken(below, places, slopes, [point.solution for point in inner], "C0")
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
    broken = broken_note(solutions, CIRCLES, x, parameter)
    add_caption(figure, settings(problem, *varied), samples, leave, slow, broken)
    return figure
