r"""Decomposition of the error
==========================

The test error above that of :math:`E[y\,|\,X]` of a power-law target, in parts: energy of S in the
noise (overfitting), features that are not learned (underfitting), learned ones of a wrong size or
direction (approximation), and a mismatch that stays.
"""

import numpy as np

import numeric
from numeric.plotting import decomposition_figure

problem = numeric.Problem(alpha=1.0, target=numeric.power_law(1.0, 100), lambda_=0.1, noise=0.5)
curve = numeric.learning_curve(problem, np.geomspace(0.05, 30, 24))
figure = decomposition_figure([numeric.decompose(solution) for solution in curve])
