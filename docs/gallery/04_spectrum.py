r"""Spectra: a bulk, a mass at zero, outliers
=========================================

The learned matrix has eigenvalues :math:`c(x-b)_+`, x those of the noisy target. A Marchenko-Pastur
target gives a bulk and, of the eigenvalues below the threshold b, a mass at zero (arrow: it has no
density).
"""

import numeric
from numeric.plotting import spectrum_figure

problem = numeric.Problem(alpha=0.5, target=numeric.MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
bulk = spectrum_figure(numeric.learned_spectrum(numeric.solve(problem).unwrap()))

# %% Three features in fifty dimensions: each stands apart from the bulk of the noise, at a position
# that the theory gives with the overlap of its eigenvector.
spiked = numeric.Problem(
    alpha=1.0, target=numeric.finite_rank([4, 3, 2], 50), lambda_=0.1, noise=0.5
)
spectrum = numeric.learned_spectrum(numeric.solve(spiked).unwrap())
for outlier in spectrum.outliers:
    print(
        f"eigenvalue {outlier.target:g} is learned as {outlier.value:.4f}, squared overlap "
        f"{outlier.overlap:.4f}"
    )
outliers = spectrum_figure(spectrum)
