r"""Thresholds along the rank of the target
=======================================

Below interpolation noisy labels are fitted exactly; beyond recovery labels without noise determine
the target. In units :math:`D\alpha`, :math:`D=T(T+1)/2-1`, neither depends on the number of tokens.
Twelve digits of every point are proven in ball arithmetic.
"""

from fractions import Fraction

from numeric.plotting.style import Sheet, in_style, legend_above
from numeric.thresholds.along_rank import thresholds_along_rank

NOISES = (Fraction(1, 10), Fraction(1), Fraction(10))
rows = thresholds_along_rank([Fraction(k, 40) for k in range(1, 60)], NOISES)
kappa0 = [float(row.kappa0) for row in rows]


@in_style
def threshold_figure():
    """Recovery and interpolation thresholds, each a line."""
    sheet = Sheet(height=3.2)
    axes = sheet.subplots()
    axes.plot(kappa0, [row.bayes for row in rows], "C2:", label="recovery, Bayes-optimal")
    axes.plot(kappa0, [row.recovery for row in rows], "C0-", label="recovery, risk minimisation")
    axes.plot(
        kappa0,
        [row.interpolation_limit for row in rows],
        "k--",
        lw=1,
        label=r"interpolation, $\Delta\to0$",
    )
    for k, noise in enumerate(NOISES):
        label = rf"interpolation, $\Delta={float(noise):g}$"
        axes.plot(
            kappa0, [row.interpolation[k] for row in rows], "--", color=f"C{k + 3}", label=label
        )
    axes.set(
        xlabel=r"rank ratio of the target $\kappa_0$",
        ylabel=r"$D\alpha$",
        xlim=(0, None),
        ylim=(0, None),
    )
    legend_above(axes, 2)
    return sheet


figure = threshold_figure()
