r"""Two parameters at once
======================

Test error in samples and weight decay, with the line of the best decay: a sweep, whose rows are learning curves.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import numeric

base = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, noise=0.5)
alphas, decays = np.geomspace(0.1, 4, 9), np.geomspace(0.01, 0.3, 7)
swept = numeric.sweep(base, {"lambda_": decays, "alpha": alphas}, engine=numeric.ThisProcess(), progress=False)
errors, unstable = swept.test_error.values, swept.replicon.values < 0

figure = Figure(figsize=(5.6, 4), layout="constrained")
axes = figure.subplots()
colours = axes.contourf(alphas, decays, errors, levels=np.arange(0.06, 0.36, 0.02), cmap="viridis_r")
axes.plot(alphas, decays[np.nanargmin(errors, axis=0)], "k.-", label=r"best $\lambda$ of the grid")
axes.set(xscale="log", yscale="log", xlabel=r"$\alpha=n/d^2$", ylabel=r"weight decay $\lambda$")
axes.legend(frameon=False, loc="upper right")
axes.xaxis.set_minor_formatter(NullFormatter())
figure.colorbar(colours, label="test error")
print(f"{unstable.sum()} of {unstable.size} points have a replicon below zero")
