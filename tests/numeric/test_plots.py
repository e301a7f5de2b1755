"""Figures show the numbers that they are of: what is drawn is read back."""

import io
import json
import sys
from dataclasses import replace
from fractions import Fraction

import matplotlib
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from numeric import plots
from numeric.__main__ import main
from numeric.cli.arguments import run
from numeric.journal.caption import settings
from numeric.journal.kinks import resolved
from numeric.journal.style import COLUMN, JOURNAL, PAGE, Sheet, choose_styles
from numeric.laws.eigenvalue_list import finite_rank
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.maths.domain import InvalidParameter
from numeric.plots import (
    curve_figure,
    decomposition_figure,
    optimal_figure,
    recovery_figure,
    scaling_figure,
    spectrum_figure,
)
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from numeric.saddle.curve import learning_curve
from numeric.saddle.solve import solve
from numeric.studies.decompose import decompose
from numeric.studies.optimal_decay import Optimum
from numeric.studies.recovery_table import recovery_table
from numeric.studies.scaling import scaling_curve, width_curve
from numeric.studies.spectrum import learned_spectrum

ALPHAS = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def solved():
    return learning_curve(Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5), ALPHAS)


def caption_of(figure):
    """In one line."""
    return figure._supxlabel.get_text().replace("\n", " ")


def test_a_curve_and_its_error_bands_stand_where_they_belong(solved):
    errors = {"test_error": 0.1, "train_error": 0.02, "estimation_error": 0.05}
    (axes,) = curve_figure([replace(one, errors=errors) for one in solved]).axes
    for line, band, (name, error) in zip(axes.lines, axes.collections, errors.items(), strict=True):
        values = np.array([getattr(one, name) for one in solved])
        np.testing.assert_allclose(line.get_xydata(), np.transpose([ALPHAS, values]))
        (path,) = band.get_paths()
        corners = {(x, y) for x, y in np.round(path.vertices, 12).tolist()}
        for alpha, value in zip(ALPHAS, values, strict=True):
            assert {(alpha, round(value - error, 12)), (alpha, round(value + error, 12))} <= corners


def seen(axes):
    """Of each line that has a label, how many of its points can be seen: with a marker, or as an end of a piece."""
    for line in axes.lines:
        if not line.get_label().startswith("_"):
            there = np.isfinite(line.get_ydata())
            joined = there & (np.append(there[1:], False) | np.append(False, there[:-1]))
            yield int((there if line.get_marker() not in ("", "None") else joined).sum())


@pytest.mark.parametrize("unstable", [(), (0, 2)])
def test_a_point_without_a_neighbour_is_seen(solved, unstable):
    """A curve of one point, and a stable point between unstable ones, left nothing in the figure but its legend."""
    points = [replace(one, status=Status.UNSTABLE) if k in unstable else one for k, one in enumerate(solved)]
    (axes,) = curve_figure(points if unstable else points[:1]).axes
    assert set(seen(axes)) == {1}


def test_open_circles_are_the_points_where_replica_symmetry_is_broken(solved):
    broken = [replace(one, status=Status.UNSTABLE) for one in solved[1:]]
    (axes,) = curve_figure([solved[0], *broken]).axes
    circles = [line.get_xydata() for line in axes.lines if line.get_marker() == "o"]
    for drawn, name in zip(circles, ("test_error", "train_error", "estimation_error"), strict=True):
        there = drawn[np.isfinite(drawn[:, 1])]
        np.testing.assert_allclose(there, [[one.problem.alpha, getattr(one, name)] for one in broken])


def test_parts_of_the_test_error_and_what_stays_are_drawn_in_its_units(solved):
    parts = [decompose(one) for one in solved]
    (axes,) = decomposition_figure(parts).axes
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert sum(parts[1].excess.values()) + parts[1].least + parts[1].mismatch == pytest.approx(
        solved[1].test_error, rel=1e-5
    )
    for name in ("overfitting", "underfitting", "approximation"):
        np.testing.assert_allclose(drawn[name], [part.rate * getattr(part, name) for part in parts])
    np.testing.assert_allclose(drawn["mismatch"], [part.mismatch for part in parts])


def test_what_is_kept_is_said_along_hidden_units_alone():
    asked = Problem(1.0, power_law(0.75, 60), 1.0, 0.5)
    along_samples = scaling_figure(asked, scaling_curve(asked, [1e3, 4e3]))
    along_hidden = scaling_figure(asked, width_curve(asked, [10, 40]), along="hidden")
    assert caption_of(along_samples) == r"$\gamma = 0.75$, $d = 60$, $\lambda = 1$, $\Delta = 0.5$, $T = 2$"
    assert caption_of(along_hidden).endswith("$T = 2$; $n = 3600$")
    np.testing.assert_allclose(along_hidden.axes[0].lines[0].get_xdata(), [10, 40])


def test_slopes_stand_below_the_risk_where_there_are_any():
    """Of the ends of a line there is none."""
    asked = Problem(1.0, power_law(0.75, 60), 1.0, 0.5)
    points = scaling_curve(asked, [1e3, 2e3, 4e3, 8e3])
    above, below = scaling_figure(asked, points).axes
    np.testing.assert_allclose(above.lines[0].get_xydata(), [[one.samples, one.risk] for one in points])
    np.testing.assert_allclose(below.lines[0].get_xydata(), [[one.samples, one.slope] for one in points[1:3]])


def test_a_part_below_zero_is_drawn_by_its_size_and_said(solved):
    parts = [
        replace(decompose(one), approximation=value) for one, value in zip(solved, (0.1, 0.01, -0.001), strict=True)
    ]
    figure = decomposition_figure(parts)
    drawn = {line.get_label(): line for line in figure.axes[0].lines}
    assert np.isnan(drawn["approximation"].get_ydata()[2])
    np.testing.assert_allclose(drawn["$-$approximation"].get_xydata(), [[2.0, 0.001 * parts[2].rate]])
    assert "open circles: minus approximation, which is below zero" in caption_of(figure)
    assert "below zero" not in caption_of(decomposition_figure(parts[:2]))
    assert caption_of(decomposition_figure(parts[:1])) == caption_of(decomposition_figure(parts[:2]))


def test_masses_at_a_point_are_arrows_and_no_part_of_the_density():
    solution = solve(Problem(1.0, finite_rank((4, 3, 2), 50), 0.1, 0.5))
    spectrum = learned_spectrum(solution)
    figure = spectrum_figure(spectrum, settings(solution.problem))
    (axes,) = figure.axes
    density, *arrows = axes.lines
    np.testing.assert_allclose(density.get_xydata(), np.transpose(spectrum.outline()))
    assert spectrum.zero_mass > 0.5 and len(spectrum.outliers) == 3
    assert all(arrow.get_transform() == axes.get_xaxis_transform() for arrow in arrows)
    assert {float(arrow.get_xdata()[0]) for arrow in arrows} == {0.0, *(one.value for one in spectrum.outliers)}
    caption = caption_of(figure)
    assert r"eigenvalues 4, 3, 2, 0, $\alpha = 1$, $\lambda = 0.1$" in caption
    assert (
        f"mass {spectrum.zero_mass:.4f} at zero, which has no density" in caption
        and "outliers of mass 0.02 each" in caption
    )


def embedded(figure, suffix):
    """What a file says of its fonts."""
    file = io.BytesIO()
    figure.savefig(file, format=suffix)
    return file.getvalue()


def test_a_figure_is_as_wide_as_a_column_or_a_page_with_fonts_whole_whoever_saves_it(solved):
    figures = [curve_figure(solved), decomposition_figure([decompose(one) for one in solved])]
    assert {figure.get_figwidth() for figure in figures} == {COLUMN}
    assert optimal_figure([Optimum(0.1, solved[0], 0.0)]).get_figwidth() == PAGE
    # Those of REVTeX, in points: what two columns of a journal hold.
    assert (pytest.approx(246 / 72.27, abs=0.1), pytest.approx(510 / 72.27, abs=0.1)) == (COLUMN, PAGE)
    pdf, eps = embedded(figures[0], "pdf"), embedded(figures[0], "eps")
    assert b"/CIDFontType2" in pdf and b"/Type3" not in pdf
    assert b"/FontType 42 def" in eps and b"/FontType 3 def" not in eps


def test_both_axes_have_one_style():
    for name in JOURNAL:
        if name.startswith("xtick."):
            assert JOURNAL[name.replace("x", "y", 1)] == JOURNAL[name], name


class Noted(Artist):
    """An artist that notes settings when it is drawn."""

    def draw(self, renderer):
        """Nothing."""
        self.found = {name: matplotlib.rcParams[name] for name in ("lines.linewidth", "interactive")}


def test_a_figure_keeps_its_settings_and_leaves_those_of_the_process():
    with matplotlib.rc_context({"lines.linewidth": 7.0, "interactive": False}):
        figure = Sheet()
    noted = figure.add_artist(Noted())
    with matplotlib.rc_context({"interactive": True}):
        figure.savefig(io.BytesIO(), format="png")
    assert noted.found == {"lines.linewidth": 7.0, "interactive": True}


def test_legends_stand_off_the_data(solved):
    rows = recovery_table([Fraction(k, 10) for k in range(1, 8)], [Fraction(1), Fraction(1, 2)], [2, 3])
    for figure in (
        curve_figure(solved),
        decomposition_figure([decompose(one) for one in solved]),
        recovery_figure(rows),
    ):
        figure.savefig(io.BytesIO(), format="png")
        for axes in figure.axes:
            legend = axes.get_legend().get_window_extent()
            assert legend.y0 >= axes.get_window_extent().y1 - 0.5
            assert legend.x0 >= 0 and legend.x1 <= figure.bbox.width


def test_axes_that_are_handed_over_keep_their_settings(solved):
    with matplotlib.rc_context({"font.size": 20, "axes.labelsize": "medium"}):
        own = Figure(figsize=(9, 3))
        left, right = own.subplots(1, 2)
        assert curve_figure(solved, ax=left) is own
        assert optimal_figure([Optimum(0.1, solved[0], 0.0)], ax=(left, right)) is own
    assert left.xaxis.label.get_fontsize() == 20 and own.get_figwidth() == 9 and own._supxlabel is None
    with pytest.raises(InvalidParameter, match="must be 2 axes"):
        optimal_figure([Optimum(0.1, solved[0], 0.0)], ax=left)


def test_a_style_goes_over_ours(solved, tmp_path):
    file = tmp_path / "own.mplstyle"
    file.write_text("figure.figsize: 5, 3\nlines.linewidth: 3\n")
    try:
        choose_styles(file)
        figure = curve_figure(solved)
        assert figure.get_figwidth() == 5 and figure.axes[0].lines[0].get_linewidth() == 3
        assert figure.axes[0].lines[0].get_color() != curve_figure(solved).axes[0].lines[1].get_color()
        with pytest.raises(InvalidParameter, match="style = 'nonesuch': is no style of matplotlib"):
            choose_styles("nonesuch")
        assert curve_figure(solved).get_figwidth() == 5
    finally:
        choose_styles()
    assert curve_figure(solved).get_figwidth() == COLUMN


def test_points_are_added_where_a_line_has_a_kink_or_leaves_zero_and_only_there():
    asked = [0.1 * 1.4**k for k in range(14)]
    for at, shown in ((0.7, lambda x: (x, max(x / 0.7, 1.0) ** 2)), (2.3, lambda x: (x, max(x - 2.3, 0.0)))):
        found = resolved(asked, shown, list)
        assert set(asked) < set(found) and found == sorted(found) and len(found) <= len(asked) + 16
        below, above = max(x for x in found if x < at), min(x for x in found if x >= at)
        assert above / below < 1.1
    kink = resolved(asked, lambda x: (x, max(x / 0.7, 1.0) ** 2), list)
    assert all(abs(np.log(x / 0.7)) < 2 * np.log(1.4) for x in set(kink) - set(asked))
    assert resolved(asked, lambda x: (x, x / (1 + x), 1 / x), list) == asked
    assert resolved(asked, lambda x: (x, np.nan if x < 1 else x), list) == asked


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--style", "ggplot"], "--style ggplot: is of the figure that --plot writes; add --plot F"),
        (
            ["--style", "nonesuch", "--plot", "a.pdf"],
            "--style nonesuch: is no style of matplotlib and no file of one; use",
        ),
    ],
)
def test_a_style_is_refused_before_any_work(arguments, said, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = ["curve", "--alpha", "1", "--kappa0", ".5", "--lambda", ".1", "--noise", ".5"]
    monkeypatch.setattr(sys, "argv", ["numeric", *given, *arguments])
    with pytest.raises(SystemExit) as stop:
        run(main)
    assert stop.value.code == 2 and capsys.readouterr().err.startswith(said)


def test_a_recovery_threshold_is_drawn_to_where_its_width_ends_it(monkeypatch, capsys, tmp_path):
    """At kappa0 = 1/2, which the grid leaves out; the table has what was asked for."""
    drawn = []
    monkeypatch.setattr(plots, "recovery_figure", lambda rows: drawn.extend(rows) or Figure())
    given = ["recovery", "--kappa0", "0.2,0.4,0.7", "--width", "1,1/2", "--plot", str(tmp_path / "r.png"), "--json"]
    monkeypatch.setattr(sys, "argv", ["numeric", *given])
    with pytest.raises(SystemExit) as stop:
        run(main)
    assert stop.value.code == 0
    (end,) = [row for row in drawn if row.kappa0 == Fraction(1, 2)]
    assert end.width == Fraction(1, 2) and end.recovery == end.bayes
    assert len(json.loads(capsys.readouterr().out)["rows"]) == len(drawn) - 1 == 5
