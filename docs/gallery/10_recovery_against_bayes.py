r"""Recovery against the Bayes optimum
==================================

How many samples without noise determine the target: by empirical risk minimisation with vanishing
decay, and by the Bayes-optimal estimator.
"""

from fractions import Fraction

import numpy as np

import numeric
from numeric.plotting import cost_figure, recovery_figure
from numeric.studies.bayes_comparison import cost_curve
from numeric.studies.recovery_table import recovery_table

kappa0s = [Fraction(k, 50) for k in range(1, 50)]
thresholds = recovery_figure(recovery_table(kappa0s, widths=[Fraction(1)], tokens=[2, 3, 4]))

# %%
# With noise nothing is recovered at a threshold; estimation errors stand side by side.
problem = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
errors = cost_figure(cost_curve(problem, np.geomspace(0.1, 4, 16)))
