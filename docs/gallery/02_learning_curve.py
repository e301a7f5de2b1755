r"""Learning curve with error bars
==============================

Training, test and estimation error along the sample ratio :math:`\alpha=n/d^2`. Bands, narrower
than the lines here, are the error
estimates that every number carries: the change from a coarser rule for the average over samples,
taken through the equations.
"""

import numpy as np

import numeric
from numeric.plotting import curve_figure

problem = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
curve = numeric.learning_curve(problem, np.geomspace(0.05, 4, 30))
figure = curve_figure(curve)

# %% The same as a table, with the status of each point, its replicon (negative where replica
# symmetry is broken) and its residual.
table = numeric.to_frame(curve)
print(table[["m", "q", "test_error", "replicon", "residual", "status"]].iloc[::6].to_string())

# %%
# Three tokens are averaged by quasi-Monte Carlo: the bands are wider.
three = numeric.learning_curve(
    numeric.Problem(
        alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.05, noise=0.5, tokens=3
    ),
    [0.3, 0.6, 1.2],
)
for point in three:
    print(
        f"alpha {point.problem.alpha:g}: test error {point.test_error:.5f} +- "
        f"{point.errors['test_error']:.5f}"
    )
