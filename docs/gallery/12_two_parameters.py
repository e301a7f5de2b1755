r"""Two parameters at once
======================

Test error in samples and weight decay, with the line of the best decay: a sweep, whose rows are
learning curves.
"""

import numpy as np

import numeric
from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import Sheet, in_style, legend_above

base = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, noise=0.5)
alphas, decays = np.geomspace(0.1, 4, 9), np.geomspace(0.01, 0.3, 7)
swept = numeric.sweep(
    base, {"lambda_": decays, "alpha": alphas}, engine=numeric.ThisProcess(), progress=False
)
errors, unstable = swept.test_error.values, swept.replicon.values < 0


@in_style
def plane_figure():
    """Test errors as colours."""
    sheet = Sheet(height=2.8)
    axes = sheet.subplots()
    colours = axes.contourf(
        alphas, decays, errors, levels=np.arange(0.06, 0.36, 0.02), cmap="viridis_r"
    )
    axes.plot(
        alphas, decays[np.nanargmin(errors, axis=0)], "k.-", label=r"best $\lambda$ of the grid"
    )
    axes.set(xlabel=r"$\alpha=n/d^2$", ylabel=r"weight decay $\lambda$")
    logarithmic(axes.xaxis, axes.yaxis)
    legend_above(axes)
    sheet.colorbar(colours, label="test error")
    add_caption(sheet, settings(base, "alpha", "lambda_"))
    return sheet


figure = plane_figure()
print(f"{unstable.sum()} of {unstable.size} points have a replicon below zero")
