r"""Thresholds of a finite vocabulary
=================================

If tokens are drawn from :math:`N = \nu d^2` vectors, their scores with themselves repeat. Beyond
:math:`\alpha = \nu/(T(T-1))` the samples form a giant component: more of them are needed to
determine the target, up to twice as many for two tokens, and softmax rows with label noise cannot
be fitted at any rank. Samples that share tokens make noise cost more already below, so that a
larger vocabulary is fitted further. Eight digits of every point are proven in ball arithmetic.
"""

import numpy as np

from attention_erm import MarchenkoPastur, interpolation, recovery
from numeric.plotting.style import Sheet, in_style, legend_above

RATIOS = np.geomspace(0.01, 10, 40)
#: Up to nu = 1/4 the interpolation threshold is that of the giant component. Shortly above it sums
#: over components are long.
NOISY = [0.01, 0.25, *np.geomspace(0.3, 10, 20)]


@in_style
def vocabulary_figure():
    """Thresholds along the size of the vocabulary, and the birth of the giant component."""
    sheet = Sheet(height=3.2)
    axes = sheet.subplots()
    for colour, kappa0 in enumerate((0.1, 0.5, 1.0)):
        law = MarchenkoPastur(kappa0)
        found = [float(recovery(law, digits=8, vocabulary=float(ratio))) for ratio in RATIOS]
        axes.loglog(RATIOS, found, color=f"C{colour}", label=rf"recovery, $\kappa_0={kappa0:g}$")
    law = MarchenkoPastur(0.5)
    found = [float(interpolation(law, "1/2", digits=8, vocabulary=float(nu))) for nu in NOISY]
    label = r"interpolation, $\kappa_0=0.5$, $\Delta=0.5$"
    axes.loglog(NOISY, found, color="C1", ls="--", label=label)
    axes.loglog(RATIOS, RATIOS / 2, "k:", lw=1, label="giant component")
    axes.set(
        xlabel=r"tokens of the vocabulary over $d^2$, $\nu$", ylabel=r"$\alpha$", ylim=(5e-3, 1)
    )
    legend_above(axes, 2)
    return sheet


figure = vocabulary_figure()
