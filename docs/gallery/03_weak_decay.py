r"""Interpolation peak at weak decay
================================

At weak decay the energy of a sample has several minima and the lowest of them jumps: near the peak
its equations have no value to rely on. Training follows the minimum connected to the sample's own
label, the *fitted* branch (:doc:`/explanation/weak_decay`).
"""

import numeric
from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import Sheet, in_style, legend_above

ALPHAS = (0.1, 0.16, 0.2, 0.25, 0.32, 0.42)
target = numeric.MarchenkoPastur(0.5)
curves = []
for decay, minimum in ((1e-2, "global"), (1e-3, "fitted")):
    problem = numeric.Problem(
        alpha=1.0, target=target, lambda_=decay, noise=0.5, sample_minimum=minimum
    )
    curve = numeric.learning_curve(problem, ALPHAS, accuracy=1e-2)
    curves.append((rf"$\lambda={decay:g}$, {minimum}", [point for point in curve if point.trusted]))
edge = float(numeric.interpolation(target.exact(), noise=1 / 2, digits=12))


@in_style
def peak_figure():
    """Test errors with their error bars, and where labels can no longer be fitted."""
    sheet = Sheet()
    axes = sheet.subplots()
    for label, points in curves:
        alphas, errors = (
            [point.problem.alpha for point in points],
            [point.test_error for point in points],
        )
        axes.errorbar(
            alphas, errors, [point.errors["test_error"] for point in points], fmt=".-", label=label
        )
    axes.axvline(edge, color="0.6", lw=1, ls=":", label="interpolation")
    axes.set(xlabel=r"$\alpha=n/d^2$", ylabel="test error")
    logarithmic(axes.xaxis)
    legend_above(axes)
    add_caption(sheet, settings(curves[0][1][0].problem, "alpha", "lambda_"))
    return sheet


figure = peak_figure()
