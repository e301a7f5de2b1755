"""Spectra of attention heads: shares of outliers over layers and heads, and one head in detail."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attention_erm.runtime.errors import InvalidParameter
from numeric.plotting.caption import add_caption
from numeric.plotting.points import require_points
from numeric.plotting.style import in_style, ink, panels
from numeric.real.head_spectra import HeadSpectrum
from numeric.real.rank_laws import INITIALISATION, LOW_RANK_TARGET, MARCHENKO_PASTUR

_DRAWN = {LOW_RANK_TARGET: "-", MARCHENKO_PASTUR: "--", INITIALISATION: ":"}
_MARKS = 12  # largest number of layers or heads whose cells are marked


@in_style
def heads_figure(
    found: Sequence[HeadSpectrum],
    shown: HeadSpectrum | None = None,
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Plot the share of outliers of each head, and the singular values of one with fitted laws.

    Args:
        found: results of `head_spectra`, one or more.
        shown: head in the right panel; default: the one with the largest share of outliers.
        ax: your own two axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `found` is empty or has an element that is not a HeadSpectrum; `shown` is
            not one of them; `ax` is not two Axes.
    """
    require_points("found", found, HeadSpectrum, "head_spectra")
    detail = max(found, key=lambda one: one.outlier_share) if shown is None else shown
    if not any(one is detail for one in found):
        raise InvalidParameter("shown", shown, "must be one of found", "pass one of its elements")
    figure, (grid, values) = panels(ax, 1, 2, 3.0)
    _draw_grid(figure, grid, found)
    _draw_values(values, detail)
    rank, dim = len(detail.values), detail.dim
    add_caption(
        figure,
        f"{len(found)} heads, $S = W_Q^T W_K$ of rank {rank}, $d = {dim}$",
        "outliers: singular values above the edge of random matrices with the same median",
        f"right: layer {detail.layer}, head {detail.head}",
        "points in the grid: heads that no law explains",
    )
    return figure


def _draw_grid(figure: Figure, axes: Axes, found: Sequence[HeadSpectrum]) -> None:
    layers, heads = (1 + max(getattr(one, name) for one in found) for name in ("layer", "head"))
    shares = np.full((layers, heads), np.nan)
    for one in found:
        shares[one.layer, one.head] = one.outlier_share
    image = axes.imshow(
        shares, origin="lower", aspect="auto", cmap="viridis", vmin=0, interpolation="nearest"
    )
    unexplained = [(one.head, one.layer) for one in found if one.explanation is None]
    if unexplained and max(layers, heads) <= _MARKS:
        axes.plot(*zip(*unexplained, strict=True), "o", ms=2.5, color="white", mec="black", mew=0.4)
    axes.set(xlabel="head", ylabel="layer")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    figure.colorbar(image, ax=axes, label="share of outliers in tr $SS^T$", pad=0.02)


def _draw_values(axes: Axes, one: HeadSpectrum) -> None:
    ranks = np.arange(1, len(one.values) + 1)
    axes.plot(ranks, one.values, "o", ms=3.5, mfc="none", color="C0", label="singular values")
    for colour, (law, style) in enumerate(_DRAWN.items(), 1):
        fit = one.fit(law)
        label = f"{law}: {fit.distance:.2g} ranks"
        axes.plot(ranks, fit.expected, style, color=f"C{colour}", label=label)
    axes.axhline(one.edge, color=ink(0.5), lw=0.7)
    axes.text(ranks[-1], one.edge, "edge", ha="right", va="bottom", fontsize="x-small")
    axes.set(xlabel="rank", ylabel="singular value of $S$", ylim=(0, None))
    axes.legend(loc="upper right")
