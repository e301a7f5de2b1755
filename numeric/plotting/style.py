"""One style of all figures: as wide as a column or a page of a journal, text of its size, fonts embedded whole.

Figures are `Sheet`s, drawn by functions under `in_style`. Who hands over axes of a figure of his own keeps its style_context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
import matplotlib.style
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend

from attention_erm.commandline import provenance
from numeric.maths.domain import InvalidParameter

P = ParamSpec("P")

COLUMN_WIDTH, PAGE_WIDTH = 3.4, 7.0  #: inches, widths of a column and of both of them in journals of two columns
COLOURS = ("#1f4e9c", "#c1531b", "#2e7d4f", "#7a3b8f", "#b08b1a", "#2a8fa8", "#5b5b5b", "#a8324a")
#: Type 42 is the font itself, which journals ask for and editors of figures can edit; matplotlib's own choice is Type 3.
EMBED_FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
RC_PARAMS: dict[Any, Any] = {
    "figure.figsize": (COLUMN_WIDTH, 2.5), "figure.dpi": 150, "savefig.dpi": 300, "font.family": "STIXGeneral",
    "mathtext.fontset": "stix", "font.size": 8.5, "axes.titlesize": "medium", "axes.labelsize": "medium",
    "figure.titlesize": "medium", "figure.labelsize": "small", "xtick.labelsize": "small", "ytick.labelsize": "small",
    "legend.fontsize": "small", "legend.title_fontsize": "small", "legend.frameon": False, "legend.handlelength": 1.7,
    "legend.columnspacing": 1.2, "legend.borderpad": 0.2, "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4, "lines.linewidth": 1.2, "lines.markersize": 3.5, "axes.prop_cycle": cycler(color=COLOURS),
    **EMBED_FONTS,
}  # fmt: skip
_PROCESS_SETTINGS = (
    "backend",
    "backend_fallback",
    "interactive",
    "toolbar",
    "webagg",
)  # groups of style_context that no figure has
_LEGEND_GAP, _MAX_LEGEND_HEIGHT = 0.08, 0.6  # of the height of axes: around a legend within them, and what it may take
_MAX_LEGEND_WIDTH = 0.9  # of the width of a column of panels, labels too: what a legend above axes may take
_MAX_LEGEND_COLUMNS = 4  # entries of a legend in a row across a column

_chosen_styles: list[str | Path] = []  # styles over ours, of the process


def choose_styles(*styles: str | Path) -> None:
    """From here on figures have the style_context of these matplotlib styles, each a name or a file, over ours.

    Raises:
        InvalidParameter: there is no such style, or its file cannot be read.
    """
    for style in styles:
        try:
            with matplotlib.style.context(style):
                pass
        except OSError:
            way_out = "use a file, or a name from matplotlib.style.available"
            raise InvalidParameter(
                "style", str(style), "is no style of matplotlib and no file of one", way_out
            ) from None
    _chosen_styles[:] = styles


@contextmanager
def style_context() -> Iterator[None]:
    """Inside, what is drawn has our style, and over it the styles that were chosen."""
    with matplotlib.style.context([RC_PARAMS, *_chosen_styles]):
        yield


def in_style(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """The drawing in our style; on axes that are handed over, under the style_context that are in force."""

    @wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Figure:
        if options.get("ax") is not None:
            return draw(*arguments, **options)
        with style_context():
            return draw(*arguments, **options)

    return drawn


class Sheet(Figure):
    """A figure whose parts leave each other room, and whose fonts are embedded whole however it is saved.

    columns: of the journal, 1 or 2; height in inches at the width and the text of our style, scaled with those of another.
    """

    def __init__(self, columns: int = 1, height: float = 2.5, **options: Any) -> None:
        column = float(matplotlib.rcParams["figure.figsize"][0])
        width = column if columns == 1 else column * PAGE_WIDTH / COLUMN_WIDTH
        label = FontProperties(size=matplotlib.rcParams["axes.labelsize"]).get_size_in_points()
        self._rc_params = {
            key: value for key, value in matplotlib.rcParams.items() if key.partition(".")[0] not in _PROCESS_SETTINGS
        }
        height *= max(column / COLUMN_WIDTH, label / RC_PARAMS["font.size"])  # a label has room beside its axes
        super().__init__(figsize=(width, height), **{"layout": "constrained", **options})

    def draw(self, renderer: Any) -> None:
        """As any figure, with the style_context that it was made under: ticks and colours are looked up late."""
        with matplotlib.rc_context(self._rc_params):
            super().draw(renderer)

    def savefig(self, fname: Any, **options: Any) -> None:
        """As any figure, with its own style_context; fonts whole; with version and commit as metadata, if no other are given."""
        suffix = str(options.get("format") or Path(str(fname)).suffix[1:])
        if suffix in ("png", "pdf", "svg"):
            options = {"metadata": provenance.current().figure_metadata(suffix), **options}
        with matplotlib.rc_context({**self._rc_params, **EMBED_FONTS}):
            super().savefig(fname, **options)


def panels(
    ax: Axes | Sequence[Axes] | None, rows: int = 1, columns: int = 1, height: float = 2.5, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, row by row: those handed over, or a new sheet with these.

    Raises:
        InvalidParameter: as many axes are needed as there are panels, and nothing else.
    """
    if ax is None:
        sheet = Sheet(columns, height)
        return sheet, list(sheet.subplots(rows, columns, squeeze=False, **options).ravel())
    given = list(ax) if isinstance(ax, Iterable) else [ax]
    if len(given) != rows * columns or not all(isinstance(one, Axes) for one in given):
        raise InvalidParameter("ax", ax, f"must be {rows * columns} axes", "make them by subplots")
    figure = given[0].get_figure(root=True)
    assert figure is not None  # axes belong to one
    return figure, given


def legend_above(axes: Axes, ncols: int | None = None, **options: Any) -> None:
    """The legend of these axes above them; within the axes of another's figure, who may have a title there, above what is drawn."""
    handles = options.pop("handles", None) or axes.get_legend_handles_labels()[0]
    columns = ncols or min(len(handles), _MAX_LEGEND_COLUMNS)
    if isinstance(axes.get_figure(root=True), Sheet):
        place = axes.get_subplotspec()
        width = _MAX_LEGEND_WIDTH * axes.figure.bbox.width / (place.get_gridspec().ncols if place else 1)
        fit_legend(axes, width, columns, handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), **options)
    else:
        width = axes.get_window_extent().width
        _raise_view(axes, fit_legend(axes, width, columns, handles=handles, loc="upper center", **options))


def fit_legend(holder: Axes | Figure | SubFigure, width: float, columns: int, **options: Any) -> Legend:
    """A legend of at most so many columns, and of fewer where they would be wider, in pixels."""
    for fewer in range(columns, 1, -1):
        legend = holder.legend(ncols=fewer, **options)
        if legend.get_window_extent().width <= width:
            return legend
        legend.remove()  # a figure keeps every one
    return holder.legend(ncols=1, **options)


def _raise_view(axes: Axes, legend: Legend) -> None:
    """By the height of the legend within."""
    share = legend.get_window_extent().height / axes.get_window_extent().height + _LEGEND_GAP
    scale = axes.yaxis.get_transform()
    low, high = scale.transform(np.array(axes.get_ylim()))
    top = scale.inverted().transform(np.array([low + (high - low) / (1 - min(share, _MAX_LEGEND_HEIGHT))]))[0]
    if axes.get_autoscaley_on():
        axes.update_datalim([(1.0, top)], updatex=False)  # what the owner draws later still raises the view
        axes.autoscale_view(scalex=False)
    else:
        axes.set_ylim(top=top)
