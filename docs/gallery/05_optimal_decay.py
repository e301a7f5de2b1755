r"""Weight decay of least test error
================================

Along the sample ratio, for factors :math:`S=WW^\top/\sqrt{md}` and for a symmetric matrix trained itself with a Frobenius penalty:
each at its own best weight decay.
"""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

import numeric

factors = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.2), lambda_=0.1, noise=0.2)
alphas = np.geomspace(0.1, 3, 4)

figure = Figure(figsize=(8, 3.4), layout="constrained")
errors, decays = figure.subplots(1, 2)
for name, line in (("factorised", "o-"), ("symmetric", "s--")):
    problem = replace(factors, parametrisation=name)
    found = [numeric.optimal_lambda(problem.at(alpha), tolerance=0.1, accuracy=1e-3) for alpha in alphas]
    errors.loglog(alphas, [best.solution.test_error for best in found], line, ms=4, label=name)
    decays.loglog(alphas, [best.decay for best in found], line, ms=4)
errors.set(xlabel=r"$\alpha=n/d^2$", ylabel=r"test error at the best $\lambda$")
decays.set(xlabel=r"$\alpha=n/d^2$", ylabel=r"best $\lambda$")
errors.legend(frameon=False)
