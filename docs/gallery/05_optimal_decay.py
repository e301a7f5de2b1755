r"""Weight decay of least test error
================================

Along the sample ratio, for factors :math:`S=WW^\top/\sqrt{md}` and for a symmetric matrix trained
itself with a Frobenius penalty: each at its own best weight decay.
"""

from dataclasses import replace

import numpy as np

import numeric
from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import Sheet, in_style, legend_above

factors = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.2), lambda_=0.1, noise=0.2)
alphas = np.geomspace(0.1, 3, 4)

found = {
    name: [
        numeric.optimal_lambda(
            replace(factors, parametrisation=name).at(a), tolerance=0.1, accuracy=1e-3
        )
        for a in alphas
    ]
    for name in ("factorised", "symmetric")
}


@in_style
def optima_figure():
    """Least test errors, and the weight decays that give them."""
    sheet = Sheet(2, 2.4)
    errors, decays = sheet.subplots(1, 2)
    for (name, optima), line in zip(found.items(), ("o-", "s--"), strict=True):
        errors.plot(alphas, [best.solution.test_error for best in optima], line, label=name)
        decays.plot(alphas, [best.decay for best in optima], line, label=name)
    errors.set(xlabel=r"$\alpha=n/d^2$", ylabel=r"test error at the best $\lambda$")
    decays.set(xlabel=r"$\alpha=n/d^2$", ylabel=r"best $\lambda$")
    logarithmic(errors.xaxis, errors.yaxis, decays.xaxis, decays.yaxis)
    for axes in (errors, decays):
        legend_above(axes)
    add_caption(sheet, settings(factors, "alpha", "lambda_"))
    return sheet


figure = optima_figure()
