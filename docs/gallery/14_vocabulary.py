r"""Thresholds of a finite vocabulary
=================================

If tokens are drawn from :math:`N = \nu d^2` vectors, their scores with themselves repeat. Beyond
:math:`\alpha = \nu/(T(T-1))` the samples form a giant component: more of them are needed to
determine the target, up to twice as many for two tokens, and softmax rows with label noise cannot
be fitted at any rank. Twelve digits of every point are proven in ball arithmetic.
"""

import numpy as np

from attention_erm import MarchenkoPastur, recovery
from numeric.plotting.style import Sheet, in_style, legend_above

RATIOS = np.geomspace(0.01, 3, 40)


@in_style
def vocabulary_figure():
    """Recovery threshold along the size of the vocabulary, and the birth of the giant component."""
    sheet = Sheet(height=3.0)
    axes = sheet.subplots()
    for colour, kappa0 in enumerate((0.1, 0.5, 1.0)):
        found = [
            float(recovery(MarchenkoPastur(kappa0), digits=12, vocabulary=float(ratio)))
            for ratio in RATIOS
        ]
        label = rf"recovery, $\kappa_0={kappa0:g}$"
        axes.loglog(RATIOS, found, color=f"C{colour}", label=label)
    axes.loglog(RATIOS, RATIOS / 2, "k--", lw=1, label="giant component; bound of interpolation")
    axes.set(
        xlabel=r"tokens of the vocabulary over $d^2$, $\nu$", ylabel=r"$\alpha$", ylim=(5e-3, 1)
    )
    legend_above(axes, 2)
    return sheet


figure = vocabulary_figure()
