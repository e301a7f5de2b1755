r"""Tokens with a covariance
========================

Errors along the sample ratio for tokens of which half of the directions have variance 0.1 and half
1.9. Below are the cells of the phase diagram of power laws :math:`k^{-3/4}` of the target and
:math:`k^{-1/2}` of the covariance, with the exponent of n in the excess risk.
"""

from fractions import Fraction

import numpy as np

import numeric
from numeric.plotting import curve_figure, phase_figure
from numeric.studies.phase_diagram import phase_diagram

target = numeric.IndependentCovariance(numeric.MarchenkoPastur(0.5), covariance=[0.1, 1.9])
problem = numeric.Problem(alpha=1.0, target=target, lambda_=0.02, noise=0.5)
errors = curve_figure(numeric.learning_curve(problem, np.geomspace(0.05, 2, 20)))

# %%
# Cells with a covariance of the tokens.
cells = phase_figure(phase_diagram(Fraction(3, 4), None, 0.5, 0, covariance=Fraction(1, 2)))
