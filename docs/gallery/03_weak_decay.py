r"""Interpolation peak at weak decay
================================

At weak decay the energy of a sample has several minima and the lowest of them jumps: near the peak its equations have no value to
rely on. Training follows the minimum connected to the sample's own label, the *fitted* branch (:doc:`/weak_decay`).
"""

from matplotlib.figure import Figure

import numeric

ALPHAS = (0.1, 0.16, 0.2, 0.25, 0.32, 0.42)
target = numeric.MarchenkoPastur(0.5)
figure = Figure(figsize=(5.2, 3.6))
axes = figure.subplots()
for decay, minimum in ((1e-2, "global"), (1e-3, "fitted")):
    problem = numeric.Problem(alpha=1.0, target=target, lambda_=decay, noise=0.5, sample_minimum=minimum)
    curve = numeric.learning_curve(problem, ALPHAS, accuracy=1e-2)
    points = [point for point in curve if point.trusted]
    alphas, errors = [point.problem.alpha for point in points], [point.test_error for point in points]
    axes.errorbar(
        alphas,
        errors,
        [point.errors["test_error"] for point in points],
        fmt=".-",
        label=rf"$\lambda={decay:g}$, {minimum}",
    )
edge = float(numeric.interpolation(target.exact(), noise=1 / 2, digits=12))
axes.axvline(edge, color="0.6", lw=1, ls=":", label="interpolation")
axes.set(xlabel=r"$\alpha=n/d^2$", ylabel="test error")
axes.legend(frameon=False)
