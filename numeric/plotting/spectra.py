"""Spectrum of the learned map S."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.maths.domain import require_kind
from numeric.plotting.caption import add_caption, settings
from numeric.plotting.points import broken_note
from numeric.plotting.style import in_style, ink, panels
from numeric.studies.spectrum import LearnedSpectrum

_ZERO_ARROW_HEIGHT, _OUTLIER_ARROW_HEIGHT = 0.97, 0.3  # fractions of the height of the axes


@in_style
def spectrum_figure(spectrum: LearnedSpectrum, ax: Axes | None = None) -> Figure:
    """Plot the density of the eigenvalues of S, with an arrow for each point mass.

    A point mass has no density. The tall arrow at zero has its mass next to it; the short arrows
    are outliers, whose masses are in the caption.

    Args:
        spectrum: result of `learned_spectrum`.
        ax: your own axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `spectrum` is not a LearnedSpectrum; `ax` is not one Axes.

    >>> from attention_erm import MarchenkoPastur, Problem, learned_spectrum, solve
    >>> from numeric.plotting import spectrum_figure
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
    >>> figure = spectrum_figure(learned_spectrum(solve(problem)))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['mass 0.3699']
    """
    require_kind("spectrum", spectrum, LearnedSpectrum, "pass learned_spectrum(solution)")
    figure, (axes,) = panels(ax)
    axes.plot(*spectrum.outline(), color="C0")
    axes.fill_between(*spectrum.outline(), color="C0", alpha=0.15, lw=0)
    axes.margins(x=0.04, y=0.15)
    axes.set(xlabel="eigenvalue of $S$", ylabel="density", ylim=(0, None))
    notes = []
    if spectrum.solution:
        notes += [settings(spectrum.solution.problem), broken_note([spectrum.solution])]
    if spectrum.zero_mass:
        _point_mass(axes, 0, _ZERO_ARROW_HEIGHT, ink(0.2))
        place: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "va": "top"}
        axes.annotate(
            f"mass {spectrum.zero_mass:.4f}", (0, _ZERO_ARROW_HEIGHT), (6, 2),
            textcoords="offset points", color=ink(0.2), fontsize="small", **place,
        )  # fmt: skip
        notes.append(f"arrow: mass {spectrum.zero_mass:.4f} at zero, which has no density")
    for outlier in spectrum.outliers:
        _point_mass(axes, outlier.value, _OUTLIER_ARROW_HEIGHT, "C1")
    if spectrum.outliers:
        weights = sorted({f"{outlier.weight:.3g}" for outlier in spectrum.outliers})
        notes.append(f"short arrows: outliers of mass {' or '.join(weights)} each")
    add_caption(figure, *notes)
    return figure


def _point_mass(axes: Axes, at: float, height: float, colour: str) -> None:
    """Draw an arrow from the axis up to `height`, a fraction of the height of the axes.

    The line is data, so that the limits of the x axis include it; its head is not clipped at the
    axes.
    """
    look: dict[str, Any] = {"color": colour, "transform": axes.get_xaxis_transform()}
    axes.plot([at, at], [0, height], lw=1, **look)
    axes.plot([at], [height], "^", ms=4, clip_on=False, **look)
