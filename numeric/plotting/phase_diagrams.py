"""Phase diagrams: recovery thresholds along the rank ratio of the target, and regimes of a scaling
law.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import cycle
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter

from numeric.maths.domain import require_kind
from numeric.model import DEFAULT
from numeric.plotting.caption import add_caption, model_label, settings
from numeric.plotting.numbers import in_mathtext
from numeric.plotting.points import require_points
from numeric.plotting.style import in_style, ink, legend_above, panels
from numeric.studies.phase_diagram import PhaseDiagram
from numeric.studies.recovery_table import RecoveryRow
from numeric.studies.scaling import power_law_of

# Dotted lines are Bayes-optimal.
_LINE_STYLES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))


@in_style
def recovery_figure(
    rows: Sequence[RecoveryRow], ax: Axes | None = None, model: str = DEFAULT
) -> Figure:
    """Plot recovery thresholds along the rank ratio kappa0 of the target.

    Each number of tokens has a colour, and each width a line style. Dotted lines are the
    Bayes-optimal thresholds.

    Args:
        rows: results of `recovery_table`, one or more.
        ax: your own axes; default: a new figure.
        model: name of the model, for the caption.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `rows` is empty or has an element that is not a RecoveryRow; `ax` is not
            one Axes.
    """
    require_points("rows", rows, RecoveryRow, "recovery_table")
    figure, (axes,) = panels(ax, height=3.0)
    tokens = sorted({row.tokens for row in rows}, key=lambda count: count or 0)
    widths = sorted({row.width for row in rows}, reverse=True)
    styles = list(zip(cycle(_LINE_STYLES), widths, strict=False))

    def draw(name: str, tokens: int | None, width: Fraction, style: Any, colour: str) -> None:
        chosen = sorted(row for row in rows if (row.tokens, row.width) == (tokens, width))
        ranks = [float(row.kappa0) for row in chosen]
        axes.plot(ranks, [float(getattr(row, name)) for row in chosen], ls=style, color=colour)

    handles = []
    for colour, count in enumerate(tokens):
        for style, width in styles:
            draw("recovery", count, width, style, f"C{colour}")
        draw("bayes", count, widths[0], ":", f"C{colour}")
        if count:
            handles.append(Line2D([], [], color=f"C{colour}", label=f"$T={count}$"))
    axes.set(
        xlabel=r"rank ratio of the target $\kappa_0$",
        ylabel=r"recovery threshold $\alpha_{\rm rec}$",
    )
    labels = [(style, rf"$\kappa={float(width):g}$") for style, width in styles]
    for style, label in (*labels, (":", "Bayes-optimal")):
        handles.append(Line2D([], [], color=ink(0.3), ls=style, label=label))
    legend_above(axes, handles=handles)
    noise = ", ".join(filter(None, ("no label noise", model_label(model))))
    narrow = any(width < 1 for width in widths)
    ends = (
        r"lines end where $\kappa_0$ reaches the width $\kappa$, at the optimum" if narrow else ""
    )
    add_caption(figure, noise, ends)
    return figure


@in_style
def phase_figure(diagram: PhaseDiagram, ax: Axes | None = None) -> Figure:
    """Plot the scaling regimes as coloured cells, with the exponents of each regime in the legend.

    Numbers in the cells are local slopes of the theory at one dimension.

    Args:
        diagram: result of `phase_diagram`.
        ax: your own axes; default: a new figure.

    Returns:
        The figure.

    Raises:
        InvalidParameter: `diagram` is not a PhaseDiagram; `ax` is not one Axes.
    """
    require_kind("diagram", diagram, PhaseDiagram, "pass the result of phase_diagram")
    figure, (axes,) = panels(ax, height=4.3)
    along, vertical = {"decay": ("n", r"\lambda"), "width": ("m", "m")}[diagram.axis]
    shown = dict.fromkeys(("n", along))
    cells = diagram.regimes
    # Cells of one name and one risk share a colour: they differ in scales behind the risk only.
    alike = list(dict.fromkeys((cell.name, cell.risk) for cell in cells))
    palette = colormaps["Pastel1" if len(alike) <= 9 else "tab20"]
    colours = [to_hex(palette(alike.index((cell.name, cell.risk)))) for cell in cells]
    axes.imshow(
        diagram.image(400),
        origin="lower",
        extent=(*diagram.samples, *diagram.vertical),
        aspect="auto",
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=len(cells) - 0.5,
        interpolation="nearest",
    )
    for colour, regime in dict(zip(colours, cells, strict=True)).items():
        exponents = (f"{float(regime.exponent(parameter)):.3g}" for parameter in shown)
        powers = ", ".join(map(Formatter.fix_minus, exponents))
        axes.plot([], [], "s", ms=6, color=colour, label=f"{regime.name}: {powers}")
    for x, y, slope in diagram.slopes:
        text = Formatter.fix_minus(f"{slope:.2f}")
        axes.text(x, y, text, ha="center", va="center", fontsize="x-small")
    axes.set(xlabel=r"$\log n/\log d$", ylabel=rf"$\log {vertical}/\log d$")
    legend_above(axes, 1)
    decay = "" if diagram.decay is None else rf"$\lambda = d^{{{diagram.decay}}}$"
    meaning = f"cells: exponent of ${', '.join(shown)}$ in the excess risk"
    law = rf"$\gamma = {diagram.gamma}$"
    if diagram.covariance is not None:
        law += rf", covariance $k^{{-{diagram.covariance}}}$"
    add_caption(figure, law, decay, meaning, slopes_note(diagram))
    return figure


def slopes_note(diagram: PhaseDiagram) -> str:
    """Return the caption note on the numbers in a phase diagram: what they are, and the settings of
    the theory behind them.

    It is empty if the diagram has no numbers.
    """
    if diagram.theory is None or not len(diagram.slopes):  # interrupted before the first slope
        return ""
    along = " along $m$" if diagram.axis == "width" else ""
    setting = settings(diagram.theory, "target", "alpha", "lambda_", "width")
    at = f"at $d = {in_mathtext(power_law_of(diagram.theory).dim)}$, {setting}"
    crossover = "which is not the exponent before a crossover has ended"
    return f"numbers: local slope{along} {at}, {crossover}"
