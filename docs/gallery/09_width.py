r"""Along the width of the student
==============================

A student of m hidden units has rank m at most. At weak decay the risk falls while features are cut,
is least where the features above the noise end, and rises again to where labels are interpolated: a
double descent along the width (:doc:`/explanation/width`).
"""

import numpy as np

import numeric
from numeric.plotting import scaling_figure

DIM = 200
problem = numeric.Problem(
    alpha=4e3 / DIM**2, target=numeric.power_law(0.75, DIM), lambda_=1 / DIM, noise=0.5
)
hidden = np.unique(np.round(np.geomspace(1, DIM, 12)))
figure = scaling_figure(problem, numeric.width_curve(problem, hidden), along="hidden")
