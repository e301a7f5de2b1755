"""Reliability diagrams: accuracy of predicted classes against their stated probability."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.points import require_points
from numeric.plotting.style import in_style, ink, legend_above, panels
from numeric.studies.reliability import NO_LABELS, ReliabilityCurve


@in_style
def reliability_figure(
    curves: Sequence[ReliabilityCurve], ax: Sequence[Axes] | None = None
) -> Figure:
    """Plot accuracy, and the share of labels, against the stated probability, in two panels.

    A calibrated student is on the diagonal; below it, it is too sure.

    Args:
        curves: results of `reliability`, one or more, which differ in alpha.
        ax: your own two axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `curves` is empty or has an element that is not a ReliabilityCurve; `ax`
            is not two Axes.
    """
    require_points("curves", curves, ReliabilityCurve, "reliability")
    figure, (accuracy, share) = panels(ax, 1, 2, 2.6)
    lowest = curves[0].bins[0].low
    accuracy.plot([lowest, 1], [lowest, 1], color=ink(), linewidth=0.7, alpha=0.5)
    for number, curve in enumerate(curves):
        used = [one for one in curve.bins if one.share > NO_LABELS]
        label, color = rf"$\alpha = {curve.solution.problem.alpha:g}$", f"C{number}"
        x = [one.confidence for one in used]
        accuracy.plot(x, [one.accuracy for one in used], ".-", color=color, label=label)
        share.plot(x, [one.share for one in used], ".-", color=color, label=label)
    accuracy.set(xlabel="stated probability of the predicted class", ylabel="share predicted")
    share.set(xlabel="stated probability of the predicted class", ylabel="share of the labels")
    logarithmic(share.yaxis)
    for axes in (accuracy, share):
        legend_above(axes, 3)
    add_caption(figure, settings(curves[0].solution.problem, "alpha"))
    return figure
