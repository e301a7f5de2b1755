r"""
Learning curve with error bars
==============================

Training, test and estimation error along the sample ratio :math:`\alpha=n/d^2`.
"""

import numpy as np

import numeric
from numeric.plots import curve_figure

target = numeric.MarchenkoPastur(0.5)
problem = numeric.Problem(alpha=1.0, target=target, lambda_=0.01, noise=0.5)
curve = numeric.learning_curve(problem, np.geomspace(0.05, 4, 25))
figure = curve_figure(curve)
