r"""Phase diagram in samples and weight decay
=========================================

Cells of the derived phase diagram of a power-law target, each with the exponents of n and
:math:`\lambda` in the excess risk. That they tile the plane is proven for every :math:`\gamma>1/2`.
Numbers are local slopes of the full theory at :math:`d=10^3`.
"""

from fractions import Fraction

from numeric.plotting import phase_figure
from numeric.studies.phase_diagram import phase_diagram

figure = phase_figure(phase_diagram(Fraction(3, 4), dim=1_000, noise=0.5, count=3))
