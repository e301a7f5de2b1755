r"""Scaling law with local slopes
=============================

Eigenvalues :math:`s_k\propto k^{-3/4}` in dimension :math:`d=10^3`, weight decay 1/d. Below, the
local slope of the risk beside the exponent that is derived for the regime of each point: crossovers
between regimes are wide, and slopes near them are those of neither.
"""

import numpy as np

import numeric
from numeric.plotting import scaling_figure

DIM = 1_000
problem = numeric.Problem(
    alpha=1.0, target=numeric.power_law(0.75, DIM), lambda_=1 / DIM, noise=0.5
)
points = numeric.scaling_curve(problem, np.geomspace(3e3, 3e10, 22))
figure = scaling_figure(problem, points)
