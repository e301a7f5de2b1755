"""Style of all figures: widths of a journal column or page, font sizes, colours, embedded fonts,
legends.

A figure is a `Sheet`, drawn by a function with the decorator `in_style`. If you pass your own axes,
your rcParams are used.
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
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend

from attention_erm.runtime import provenance
from attention_erm.runtime.errors import InvalidParameter

P = ParamSpec("P")

COLUMN_WIDTH, PAGE_WIDTH = 3.4, 7.0  #: inches; widths of one column and of a page of two columns
COLOURS = ("#1f4e9c", "#c1531b", "#2e7d4f", "#7a3b8f", "#b08b1a", "#2a8fa8", "#5b5b5b", "#a8324a")
#: Embed fonts as Type 42 (the complete font), which journals require; the default is Type 3.
EMBED_FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
#: rcParams of the default style.
RC_PARAMS: dict[Any, Any] = {
    "figure.figsize": (COLUMN_WIDTH, 2.5), "figure.dpi": 150, "savefig.dpi": 300,
    "font.family": "STIXGeneral", "mathtext.fontset": "stix", "font.size": 8.5,
    "axes.titlesize": "medium", "axes.labelsize": "medium", "figure.titlesize": "medium",
    "figure.labelsize": "small", "xtick.labelsize": "small", "ytick.labelsize": "small",
    "legend.fontsize": "small", "legend.title_fontsize": "small", "legend.frameon": False,
    "legend.handlelength": 1.7, "legend.columnspacing": 1.2, "legend.borderpad": 0.2,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4, "lines.linewidth": 1.2, "lines.markersize": 3.5,
    "axes.prop_cycle": cycler(color=COLOURS),
    **EMBED_FONTS,
}  # fmt: skip
# Groups of rcParams that belong to the process, not to a figure.
_PROCESS_SETTINGS = ("backend", "backend_fallback", "interactive", "toolbar", "webagg")
_LEGEND_GAP, _MAX_LEGEND_HEIGHT = 0.08, 0.6  # of a legend inside; fractions of the axes' height
_MAX_LEGEND_WIDTH = 0.9  # of a legend above the axes; fraction of the width of a column of panels
_MAX_LEGEND_COLUMNS = 4  # default limit

_chosen_styles: list[str | Path] = []  # applied after RC_PARAMS, for the whole process
_show_captions = True


def choose_styles(*styles: str | Path, captions: bool = True) -> None:
    """Apply these matplotlib styles on top of the default style, to all figures drawn from now on.

    Args:
        *styles: names of styles, or style files. None: the default style alone.
        captions: False to draw figures without their captions.

    Raises:
        InvalidParameter: a style does not exist, or its file cannot be read.
    """
    for style in styles:
        try:
            with matplotlib.style.context(style):
                pass
        except OSError:
            rule = "is not a style of matplotlib or a style file"
            way_out = "use a file, or a name from matplotlib.style.available"
            raise InvalidParameter("style", str(style), rule, way_out) from None
    global _show_captions
    _chosen_styles[:] = styles
    _show_captions = captions


def captions_shown() -> bool:
    """Return whether figures are drawn with their captions."""
    return _show_captions


def ink(level: float = 0.0) -> str:
    """Return a grey of the current style: 0 has the colour of text, 1 that of the background."""
    text, background = (
        to_rgb(matplotlib.rcParams[one]) for one in ("text.color", "axes.facecolor")
    )
    red, green, blue = (a + level * (b - a) for a, b in zip(text, background, strict=True))
    return to_hex((red, green, blue))


def paper() -> Any:
    """Return the background colour of the current style, which fills open markers."""
    return matplotlib.rcParams["axes.facecolor"]


@contextmanager
def style_context() -> Iterator[None]:
    """Context in which figures are drawn in the default style, with the chosen styles on top."""
    with matplotlib.style.context([RC_PARAMS, *_chosen_styles]):
        yield


def in_style(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorator: draw in the default style, or under the current rcParams if `ax` is given."""

    @wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Figure:
        if options.get("ax") is not None:
            return draw(*arguments, **options)
        with style_context():
            return draw(*arguments, **options)

    return drawn


class Sheet(Figure):
    """Figure with constrained layout that keeps its rcParams and embeds whole fonts when it is
    saved.

    Args:
        columns: width in journal columns, 1 or 2.
        height: inches in the default style; scaled with the width and the label size of other
            styles.
        **options: further options of matplotlib's Figure.
    """

    def __init__(self, columns: int = 1, height: float = 2.5, **options: Any) -> None:
        column = float(matplotlib.rcParams["figure.figsize"][0])
        width = column if columns == 1 else column * PAGE_WIDTH / COLUMN_WIDTH
        label = FontProperties(size=matplotlib.rcParams["axes.labelsize"]).get_size_in_points()
        chosen = {
            key: value
            for key, value in matplotlib.rcParams.items()
            if key.partition(".")[0] not in _PROCESS_SETTINGS
        }
        # also while it draws itself: a PDF cannot change the type of its fonts halfway
        self._rc_params = chosen | EMBED_FONTS
        height *= max(column / COLUMN_WIDTH, label / RC_PARAMS["font.size"])  # labels must fit
        super().__init__(figsize=(width, height), **{"layout": "constrained", **options})

    def draw(self, renderer: Any) -> None:
        """Draw under the rcParams at creation of the figure, because ticks and colours are looked
        up late.
        """
        with matplotlib.rc_context(self._rc_params):
            super().draw(renderer)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save under the rcParams at creation of the figure, with whole fonts.

        Args:
            fname: path or file.
            **options: options of matplotlib. The default metadata are version and commit.
        """
        suffix = str(options.get("format") or Path(str(fname)).suffix[1:])
        if suffix in ("png", "pdf", "svg"):
            options = {"metadata": provenance.current().figure_metadata(suffix), **options}
        with matplotlib.rc_context(self._rc_params):
            super().savefig(fname, **options)


def panels(
    ax: Axes | Sequence[Axes] | None,
    rows: int = 1,
    columns: int = 1,
    height: float = 2.5,
    **options: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row by row: the given axes, or those of a new `Sheet`.

    Args:
        ax: your own axes, one for each panel; None for a new figure.
        rows: number of rows.
        columns: number of columns, also the width of a new figure in journal columns.
        height: height of a new figure in inches.
        **options: further options of `Figure.subplots`.

    Raises:
        InvalidParameter: the number of axes is not the number of panels, or an element is not an
            Axes.
    """
    if ax is None:
        sheet = Sheet(columns, height)
        return sheet, list(sheet.subplots(rows, columns, squeeze=False, **options).ravel())
    given = list(ax) if isinstance(ax, Iterable) else [ax]
    if len(given) != rows * columns or not all(isinstance(one, Axes) for one in given):
        rule = f"must be {rows * columns} axes"
        raise InvalidParameter("ax", ax, rule, "create them with subplots")
    figure = given[0].get_figure(root=True)
    assert figure is not None  # axes always belong to a figure
    return figure, given


def legend_above(axes: Axes, ncols: int | None = None, **options: Any) -> None:
    """Add a legend above the axes, or inside at the top if the figure is not a `Sheet`.

    A legend inside raises the upper limit of the y axis, so that it does not cover the lines. In
    your own figure the space above the axes may hold a title.

    Args:
        axes: axes with labelled lines.
        ncols: maximum number of columns; default: the number of entries, at most 4.
        **options: further options of `Axes.legend`; `handles` replaces the labelled lines.
    """
    handles = options.pop("handles", None) or axes.get_legend_handles_labels()[0]
    columns = ncols or min(len(handles), _MAX_LEGEND_COLUMNS)
    options["handles"] = handles
    if isinstance(axes.get_figure(root=True), Sheet):
        place = axes.get_subplotspec()
        panels_in_row = place.get_gridspec().ncols if place else 1
        width = _MAX_LEGEND_WIDTH * axes.figure.bbox.width / panels_in_row
        fit_legend(axes, width, columns, loc="lower center", bbox_to_anchor=(0.5, 1.0), **options)
    else:
        width = axes.get_window_extent().width
        _raise_view(axes, fit_legend(axes, width, columns, loc="upper center", **options))


def fit_legend(
    holder: Axes | Figure | SubFigure, width: float, columns: int, **options: Any
) -> Legend:
    """Add a legend with as many columns as fit.

    Args:
        holder: axes or figure.
        width: maximum width in pixels; a legend with one column may be wider.
        columns: maximum number of columns.
        **options: further options of `legend`.
    """
    for fewer in range(columns, 1, -1):
        legend = holder.legend(ncols=fewer, **options)
        if legend.get_window_extent().width <= width:
            return legend
        legend.remove()  # a figure would show every legend
    return holder.legend(ncols=1, **options)


def _raise_view(axes: Axes, legend: Legend) -> None:
    """Raise the upper limit of the y axis by the height of the legend inside the axes."""
    share = legend.get_window_extent().height / axes.get_window_extent().height + _LEGEND_GAP
    scale = axes.yaxis.get_transform()
    low, high = scale.transform(np.array(axes.get_ylim()))
    raised = low + (high - low) / (1 - min(share, _MAX_LEGEND_HEIGHT))
    (top,) = scale.inverted().transform(np.array([raised]))
    if axes.get_autoscaley_on():  # lines drawn later still extend the limits
        axes.update_datalim([(1.0, top)], updatex=False)
        axes.autoscale_view(scalex=False)
    else:
        axes.set_ylim(top=top)
