r"""Two parameters at once
======================

Test error in samples and weight decay, with the line of the best decay. Every row is a learning curve, which starts each point from
its neighbours.
"""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import numeric

base = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, noise=0.5)
alphas, decays = np.geomspace(0.1, 4, 9), np.geomspace(0.01, 0.3, 7)
rows = [numeric.learning_curve(replace(base, lambda_=decay), alphas) for decay in decays]
errors = np.array([[point.test_error if point.trusted else np.nan for point in row] for row in rows])
unstable = np.array([[point.status is numeric.Status.UNSTABLE for point in row] for row in rows])

figure = Figure(figsize=(5.6, 4), layout="constrained")
axes = figure.subplots()
colours = axes.contourf(alphas, decays, errors, levels=np.arange(0.06, 0.36, 0.02), cmap="viridis_r")
axes.plot(alphas, decays[np.nanargmin(errors, axis=0)], "k.-", label=r"best $\lambda$ of the grid")
axes.set(xscale="log", yscale="log", xlabel=r"$\alpha=n/d^2$", ylabel=r"weight decay $\lambda$")
axes.legend(frameon=False, loc="upper right")
axes.xaxis.set_minor_formatter(NullFormatter())
figure.colorbar(colours, label="test error")
print(f"{unstable.sum()} of {unstable.size} points have a replicon below zero")
