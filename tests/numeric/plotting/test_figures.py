"""Figures show the numbers that they are of: what is drawn is read back."""

import io
import itertools
import json
import math
import re
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime.errors import InvalidParameter
from numeric import plotting
from numeric.__main__ import main
from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.covariance.power_law import PowerLawCovariance
from numeric.laws.eigenvalue_list import Eigenvalues, finite_rank
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.laws.rational_target import RationalTarget
from numeric.plotting import (
    bayes_figure,
    cost_figure,
    curve_figure,
    decomposition_figure,
    optimal_figure,
    phase_figure,
    recovery_figure,
    reliability_figure,
    scaling_figure,
    spectrum_figure,
    style,
)
from numeric.plotting.caption import (
    add_caption,
    caption_of,
    common_settings,
    decay_in_mathtext,
    settings,
)
from numeric.plotting.kinks import refine_kinks
from numeric.plotting.log_axes import _TICK_MULTIPLES, _within, logarithmic
from numeric.plotting.numbers import in_mathtext
from numeric.plotting.style import COLUMN_WIDTH, PAGE_WIDTH, choose_styles
from numeric.prediction.posterior_prediction import PosteriorErrors
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import NotConverged, Status
from numeric.saddle.curve import learning_curve
from numeric.saddle.solve import solve
from numeric.studies import optimal_decay
from numeric.studies.bayes_comparison import BayesPoint, CostPoint
from numeric.studies.decompose import decompose
from numeric.studies.optimal_decay import Optimum
from numeric.studies.phase_diagram import PhaseDiagram, phase_diagram
from numeric.studies.recovery_table import RecoveryRow, recovery_table
from numeric.studies.regimes import Regime
from numeric.studies.scaling import ScalingPoint, regime_of, scaling_curve, width_curve
from numeric.studies.sequential_recovery import RecoveredFeature
from numeric.studies.spectrum import learned_spectrum

ALPHAS = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def solved():
    return learning_curve(Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5), ALPHAS)


def test_a_curve_and_its_error_bands_stand_where_they_belong(solved):
    errors = {"test_error": 0.05, "train_error": 0.02, "estimation_error": 0.03}
    (axes,) = curve_figure([replace(one, errors=errors) for one in solved]).axes
    for line, band, (name, error) in zip(axes.lines, axes.collections, errors.items(), strict=True):
        values = np.array([getattr(one, name) for one in solved])
        np.testing.assert_allclose(line.get_xydata(), np.transpose([ALPHAS, values]))
        (path,) = band.get_paths()
        corners = {(x, y) for x, y in np.round(path.vertices, 12).tolist()}
        for alpha, value in zip(ALPHAS, values, strict=True):
            assert {(alpha, round(value - error, 12)), (alpha, round(value + error, 12))} <= corners


def seen(axes):
    """Of each line that has a label, how many of its points can be seen: with a marker, or as an
    end of a piece.
    """
    for line in axes.lines:
        if not line.get_label().startswith("_"):
            there = np.isfinite(line.get_ydata())
            joined = there & (np.append(there[1:], False) | np.append(False, there[:-1]))
            yield int((there if line.get_marker() not in ("", "None") else joined).sum())


@pytest.mark.parametrize("unstable", [(), (0, 2)])
def test_a_point_without_a_neighbour_is_seen(solved, unstable):
    """A curve of one point, and a stable point between unstable ones, left nothing in the figure
    but its legend.
    """
    points = [
        replace(one, status=Status.UNSTABLE) if k in unstable else one
        for k, one in enumerate(solved)
    ]
    (axes,) = curve_figure(points if unstable else points[:1]).axes
    assert set(seen(axes)) == {1}


def test_a_point_that_is_unstable_is_an_open_circle_where_it_belongs(solved):
    (axes,) = curve_figure([solved[0], replace(solved[1], status=Status.UNSTABLE), solved[2]]).axes
    circles = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    found = [point for line in circles for point in line.get_xydata() if np.isfinite(point).all()]
    errors = [
        (1.0, getattr(solved[1], name))
        for name in ("test_error", "train_error", "estimation_error")
    ]
    np.testing.assert_allclose(sorted(map(tuple, found)), sorted(errors))


def test_slopes_of_a_scaling_law_are_drawn_where_they_are_known():
    problem = Problem(1.0, power_law(0.75, 50), 1 / 50, 0.5)
    points = scaling_curve(problem, [1e3, 3e3, 1e4, 3e4])
    _, below = scaling_figure(problem, points).axes
    assert [math.isnan(point.slope) for point in points] == [
        True,
        False,
        False,
        True,
    ]  # at ends there is no difference
    np.testing.assert_allclose(
        below.lines[0].get_xydata(), [(one.samples, one.slope) for one in points[1:3]]
    )


def test_parts_of_one_point_have_a_caption(solved):
    assert caption_of(decomposition_figure([decompose(solved[0])]))


def test_a_column_is_that_of_a_journal():
    """Of two columns with a gap: 86 mm is Physical Review's, 178 mm its page."""
    assert (pytest.approx(86, abs=1), pytest.approx(178, abs=1)) == (
        25.4 * COLUMN_WIDTH,
        25.4 * PAGE_WIDTH,
    )


def test_a_figure_keeps_no_setting_of_the_process_that_made_it():
    """Drawn later, or in another window, it would put back the backend of then."""
    kept = style.Sheet()._rc_params
    assert "lines.linewidth" in kept
    assert not [
        key for key in kept if key.startswith(("backend", "interactive", "toolbar", "webagg"))
    ]


def test_what_vanishes_leaves_the_panel_and_what_is_inaccurate_leaves_a_gap_both_said(solved):
    """An error of zero, with rounding for its error bar, drew a band down to 1e-14 and pressed the
    rest into a line.
    """
    vanishing = replace(
        solved[0], train_error=0.0, errors=solved[0].errors | {"train_error": 1e-14}
    )
    (axes,) = (figure := curve_figure([vanishing, *solved[1:]])).axes
    assert axes.get_ylim()[0] > 1e-6
    assert "not drawn: train error below" in caption_of(figure)
    assert all(
        np.nanmin(path.vertices[:, 1]) > 1e-6
        for band in axes.collections
        for path in band.get_paths()
    )
    middle = curve_figure([solved[0], replace(solved[1], status=Status.INACCURATE), solved[2]])
    assert r"left out as inaccurate or unsolved: $\alpha$ = $1$" in caption_of(middle)
    assert set(seen(middle.axes[0])) == {2}
    assert "left out" not in caption_of(curve_figure(solved)) and "not drawn" not in caption_of(
        curve_figure(solved)
    )


@pytest.mark.parametrize(
    "ends",
    [
        (0.12, 0.165),
        (115, 768),
        (0.05, 4),
        (1e-14, 10),
        (1e3, 1e8),
        (0.9, 1.1),
        (0.141, 0.1412),
        (0.3, 3),
    ],
)
def test_labels_of_a_logarithmic_axis_leave_each_other_room_and_are_enough_to_read_it(ends):
    """From .12 to .165 matplotlib labels the minor ticks, which stand on each other where there is
    a tick at 1.25.
    """
    with style.style_context():
        sheet = style.Sheet()
        axes = sheet.subplots()
        axes.plot(ends, ends)
        logarithmic(axes.xaxis, axes.yaxis)
        sheet.draw_without_rendering()
        for axis, side in ((axes.xaxis, 0), (axes.yaxis, 1)):
            low, high = axis.get_view_interval()
            labels = [
                label.get_window_extent().get_points()[:, side]
                for at, label in zip(
                    axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True
                )
                if low <= at <= high
            ]
            assert len(labels) >= 3
            assert all(left[1] < right[0] for left, right in itertools.pairwise(labels))
            assert not any(label.get_text() for label in axis.get_minorticklabels())


def test_parts_of_the_test_error_and_what_stays_are_drawn_in_its_units(solved):
    parts = [decompose(one) for one in solved]
    (axes,) = decomposition_figure(parts).axes
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert sum(parts[1].excess.values()) + parts[1].least + parts[1].mismatch == pytest.approx(
        solved[1].test_error, rel=1e-5
    )
    for name in ("overfitting", "underfitting", "approximation"):
        values = [part.rate * getattr(part, name) for part in parts]
        np.testing.assert_allclose(
            drawn[f"excess {name}"], [value or math.nan for value in values]
        )  # zero has no logarithm
    np.testing.assert_allclose(drawn["mismatch"], [part.mismatch for part in parts])


def test_what_is_kept_is_said_along_hidden_units_alone():
    asked = Problem(1.0, power_law(0.75, 60), 1.0, 0.5)
    along_samples = scaling_figure(asked, scaling_curve(asked, [1e3, 4e3]))
    along_hidden = scaling_figure(asked, width_curve(asked, [10, 40]), along="hidden")
    told, slow = caption_of(along_samples).split("; ")
    assert (
        told == r"$\gamma = 0.75$, $d = 60$, $\lambda = 1$, $\Delta = 0.5$, $T = 2$"
        and "crossover" in slow
    )
    assert "$T = 2$; $n = 3600$" in caption_of(along_hidden)
    np.testing.assert_allclose(along_hidden.axes[0].lines[0].get_xdata(), [10, 40])


def test_a_part_below_zero_is_drawn_by_its_size_and_said(solved):
    parts = [
        replace(decompose(one), approximation=value)
        for one, value in zip(solved, (0.1, 0.01, -0.001), strict=True)
    ]
    figure = decomposition_figure(parts)
    drawn = {line.get_label(): line for line in figure.axes[0].lines}
    assert np.isnan(drawn["excess approximation"].get_ydata()[2])
    np.testing.assert_allclose(
        drawn["$-$excess approximation"].get_xydata(), [[2.0, 0.001 * parts[2].rate]]
    )
    assert "open circles: minus excess approximation, which is below zero" in caption_of(figure)
    assert "below zero" not in caption_of(decomposition_figure(parts[:2]))


def test_no_line_of_a_decomposition_passes_an_unsolved_point_and_broken_symmetry_is_said(solved):
    first, second, third = map(decompose, solved)
    broken = replace(third, solution=replace(third.solution, status=Status.UNSTABLE))
    figure = decomposition_figure([first, broken], unsolved=[second.solution.problem.alpha])
    (axes,) = figure.axes
    drawn = {line.get_label(): np.isnan(line.get_ydata()).tolist() for line in axes.lines}
    lines = {name: gaps for name, gaps in drawn.items() if not name.startswith("_")}
    assert lines.pop("excess underfitting") == 3 * [True]  # nothing is left to learn
    assert set(map(tuple, lines.values())) == {(False, True, True)}
    squares = [
        line
        for line in axes.lines
        if line.get_marker() == "s" and not np.isnan(line.get_ydata()).any()
    ]
    assert [one.get_xdata().tolist() for one in squares] == 3 * [[third.solution.problem.alpha]]
    caption, (_, between, last) = caption_of(figure), [one.problem.alpha for one in solved]
    assert (
        rf"open squares: replica symmetry broken, an approximation: $\alpha$ = ${last:g}$"
        in caption
    )
    assert rf"left out as inaccurate or unsolved: $\alpha$ = ${between:g}$" in caption
    assert "not drawn: excess underfitting below $" in caption


def test_costs_of_one_point_are_drawn(solved):
    figure = cost_figure([CostPoint(solved[0], 0.1)])
    assert caption_of(figure) == settings(solved[0].problem, "alpha")


def test_ticks_at_the_ends_of_an_axis_are_kept_whatever_they_were_rounded_to():
    assert _within(np.array([0.1, 1.0]), 0.1 * (1 + 1e-12), 1 - 1e-12).tolist() == [0.1, 1.0]
    assert _within(np.array([0.1, 1.0]), 0.1 * (1 + 1e-6), 1 - 1e-6).tolist() == []


def test_decades_are_divided_from_one_upwards():
    assert all(
        multiples[0] == 1 and sorted(set(multiples)) == list(multiples)
        for multiples in _TICK_MULTIPLES
    )


def test_every_curve_says_where_replica_symmetry_is_broken(solved):
    one, other = solved[0], replace(solved[1], status=Status.UNSTABLE)
    assert "symmetry" not in caption_of(optimal_figure([Optimum(0.1, one, 0.0)]))
    assert "symmetry" in caption_of(
        optimal_figure([Optimum(0.1, one, 0.0), Optimum(0.1, other, 0.0)])
    )
    assert "symmetry" in caption_of(cost_figure([CostPoint(one, 0.1), CostPoint(other, 0.1)]))
    asked = Problem(1.0, power_law(0.75, 60), 1.0, 0.5)
    points = scaling_curve(asked, [1e3, 4e3])
    points[1] = replace(points[1], solution=replace(points[1].solution, status=Status.UNSTABLE))
    assert caption_of(scaling_figure(asked, points)).endswith(
        "open circles: replica symmetry broken, an approximation: $n$ = $4000$"
    )


def circles(axes):
    """Where a panel has open circles."""
    return [
        line.get_xydata().tolist() for line in axes.lines if line.get_markerfacecolor() == "white"
    ]


def test_every_curve_marks_where_replica_symmetry_is_broken(solved):
    """Figures of scaling drew these points as others, and the caption alone told."""
    one, other = solved[0], replace(solved[1], status=Status.UNSTABLE)
    errors, decays = optimal_figure([Optimum(0.1, one, 0.0), Optimum(0.2, other, 0.0)]).axes
    assert circles(errors) == [[[1.0, other.test_error]]] and circles(decays) == [[[1.0, 0.2]]]
    (costs,) = cost_figure([CostPoint(one, 0.1), CostPoint(other, 0.1)]).axes
    assert circles(costs) == [[[1.0, other.estimation_error]]]
    known = replace(other.problem, alpha=1.0)
    for axes in bayes_figure(
        [BayesPoint(known, 0.1, PosteriorErrors(0.1, 0.2), Optimum(0.1, other, 0.0))]
    ).axes:
        assert len(circles(axes)) == 1
    asked = Problem(1.0, power_law(0.75, 60), 1.0, 0.5)
    stable = scaling_curve(asked, [1e3, 2e3, 4e3])
    points = [
        replace(point, solution=replace(point.solution, status=Status.UNSTABLE)) for point in stable
    ]
    above, below = scaling_figure(asked, [stable[0], *points[1:]]).axes
    assert circles(above) == [[[point.samples, point.risk] for point in points[1:]]]
    assert circles(below) == [[[2e3, points[1].slope]]]
    assert not any(map(circles, scaling_figure(asked, stable).axes))


def test_a_caption_takes_no_stable_point_for_a_broken_one(solved):
    """It named the range from the first broken point to the last, whatever was between."""
    between = [
        replace(one, status=Status.UNSTABLE) if k != 1 else one for k, one in enumerate(solved[:3])
    ]
    first, last = (one.problem.alpha for one in (between[0], between[2]))
    said = caption_of(cost_figure([CostPoint(one, 0.1) for one in between]))
    assert rf"an approximation: $\alpha$ = ${first:g}$, ${last:g}$" in said
    (alone, *_) = between
    assert caption_of(optimal_figure([Optimum(0.1, alone, 0.0)])).endswith(
        "replica symmetry broken, an approximation"
    )


def test_a_spectrum_says_from_python_too_what_it_is_of(solved):
    found = learned_spectrum(solved[0])
    told = r"$\kappa_0 = 0.5$, $\alpha = 0.5$, $\lambda = 0.05$, $\Delta = 0.5$, $T = 2$; arrow: "
    assert caption_of(spectrum_figure(found)).startswith(told)
    unstable = replace(found, solution=replace(solved[0], status=Status.UNSTABLE))
    assert "; replica symmetry broken, an approximation; arrow" in caption_of(
        spectrum_figure(unstable)
    )


def test_masses_at_a_point_are_arrows_and_no_part_of_the_density():
    solution = solve(Problem(1.0, finite_rank((4, 3, 2), 50), 0.1, 0.5))
    spectrum = learned_spectrum(solution)
    figure = spectrum_figure(spectrum)
    (axes,) = figure.axes
    density, *arrows = axes.lines
    np.testing.assert_allclose(density.get_xydata(), np.transpose(spectrum.outline()))
    assert spectrum.zero_mass > 0.5 and len(spectrum.outliers) == 3
    assert all(arrow.get_transform() == axes.get_xaxis_transform() for arrow in arrows)
    assert {float(arrow.get_xdata()[0]) for arrow in arrows} == {
        0.0,
        *(one.value for one in spectrum.outliers),
    }
    caption = caption_of(figure)
    assert (
        r"eigenvalues (and shares) 4 (0.02), 3 (0.02), 2 (0.02), 0 (0.94), $\alpha = 1$, $\lambda "
        r"= 0.1$" in caption
    )
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
    assert {figure.get_figwidth() for figure in figures} == {COLUMN_WIDTH}
    assert optimal_figure([Optimum(0.1, solved[0], 0.0)]).get_figwidth() == PAGE_WIDTH
    pdf, eps = embedded(figures[0], "pdf"), embedded(figures[0], "eps")
    assert b"/CIDFontType2" in pdf and b"/Type3" not in pdf
    assert b"/FontType 42 def" in eps and b"/FontType 3 def" not in eps


def test_legends_stand_off_the_data(solved):
    rows = recovery_table(
        [Fraction(k, 10) for k in range(1, 8)], [Fraction(1), Fraction(1, 2)], [2, 3]
    )
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
    assert (
        left.xaxis.label.get_fontsize() == 20 and own.get_figwidth() == 9 and own._supxlabel is None
    )
    first, second = caption_of(
        own
    ).splitlines()  # of each that was drawn, where the last alone was told
    assert (
        first.startswith(r"$\kappa_0 = 0.5$, $\lambda = 0.05$")
        and second == r"$\kappa_0 = 0.5$, $\Delta = 0.5$, $T = 2$"
    )
    for axes in (left, right):
        curve_figure(solved, ax=axes)
        panel, legend = axes.get_window_extent(), axes.get_legend().get_window_extent()
        highest = max(
            np.nanmax(axes.transData.transform(line.get_xydata())[:, 1]) for line in axes.lines
        )
        assert highest < legend.y0 and legend.y1 < panel.y1 and legend.width <= panel.width
    with pytest.raises(InvalidParameter, match="must be 2 axes"):
        optimal_figure([Optimum(0.1, solved[0], 0.0)], ax=left)


def test_the_legend_of_axes_that_are_handed_over_raises_their_view_alone(solved):
    """What was drawn at sample ratios far below one once ended at one."""
    axes = Figure().subplots()
    few = [replace(one, problem=one.problem.at(one.problem.alpha / 100)) for one in solved]
    curve_figure(few, ax=axes)
    assert axes.dataLim.x1 == pytest.approx(few[-1].problem.alpha)


def test_a_caption_names_no_tokens_of_a_model_that_states_them():
    """T = 2 once stood below figures of quadratic networks, which see one."""
    name = "signed_quadratic_network"
    told = settings(
        Problem(
            1.0, RationalTarget.of(name, kappa0=0.5, positive=0.5, scale=1.0), 0.1, 0.5, model=name
        )
    )
    assert "T = " not in told and told.startswith(r"$\kappa_0$ = ")
    assert "$T = 2$" in settings(Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5))


def test_the_caption_of_recovery_names_another_model():
    rows = recovery_table([Fraction(1, 4), Fraction(1, 3)], [Fraction(1)], [2], "linear_attention")
    assert (
        caption_of(recovery_figure(rows, model="linear_attention"))
        == "no label noise, model linear attention"
    )


def test_where_lines_of_recovery_end_is_said_of_narrow_students_alone():
    for widths, said in (([Fraction(1)], False), ([Fraction(1), Fraction(1, 2)], True)):
        caption = caption_of(
            recovery_figure(recovery_table([Fraction(1, 4), Fraction(1, 3)], widths, [2]))
        )
        assert ("lines end where" in caption) is said


@pytest.mark.parametrize(("gamma", "dim"), [(0.75, 100), (1.0, 6)])
def test_a_power_law_that_was_listed_is_captioned_as_one(gamma, dim):
    law = power_law(gamma, dim)
    listed = Eigenvalues(law.eigenvalues, law.weights)
    told = rf"$\gamma = {gamma:g}$, $d = {dim}$, "
    for target in (law, listed):
        assert settings(Problem(1.0, target, 0.1, 0.5)).startswith(told)
    values = np.array(law.eigenvalues)
    singular = Eigenvalues(np.append(-values, values), np.full(2 * dim, 0.5 / dim))
    assert settings(Problem(1.0, singular, 0.1, 0.5, model="cross_attention")).startswith(told)
    other = Eigenvalues((*law.eigenvalues[:-1], 1.1 * law.eigenvalues[-1]), law.weights)
    assert settings(Problem(1.0, other, 0.1, 0.5)).startswith("eigenvalues ")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("1/d", "1/d"),
        ("sqrt(d)", r"\sqrt{d}"),
        ("d^-0.6", "d^{-0.6}"),
        ("d^(-3/4)", "d^{-3/4}"),
        ("0.5", "0.5"),
    ],
)
def test_a_law_of_weight_decay_is_mathematics(name, told):
    assert decay_in_mathtext(DecayLaw(name)) == told


def test_numbers_in_a_phase_diagram_are_captioned_with_their_theory():
    diagram = phase_diagram(Fraction(3, 4), 100, 0.25, 1)
    said = caption_of(phase_figure(diagram))
    assert r"numbers: local slope at $d = 100$, $\Delta = 0.25$, $T = 2$" in said
    assert "numbers" not in caption_of(phase_figure(phase_diagram(Fraction(3, 4), None, 0.25, 1)))
    assert "numbers" not in caption_of(
        phase_figure(replace(diagram, slopes=()))
    )  # of one that was interrupted


def test_a_cell_has_the_colour_that_the_legend_says():
    diagram = phase_diagram(Fraction(3, 4), None, 0.25, 1)
    (axes,) = phase_figure(diagram).axes
    (image,) = axes.images
    drawn = [
        matplotlib.colors.to_hex(image.cmap(image.norm(k))) for k in range(len(diagram.regimes))
    ]
    assert drawn == [line.get_color() for line in axes.lines] and len(set(drawn)) == len(drawn) > 2


def test_a_style_goes_over_ours(solved, tmp_path):
    file = tmp_path / "own.mplstyle"
    file.write_text("figure.figsize: 5, 3\nlines.linewidth: 3\n")
    try:
        choose_styles(file)
        figure = curve_figure(solved)
        assert figure.get_figwidth() == 5 and figure.axes[0].lines[0].get_linewidth() == 3
        assert (
            figure.axes[0].lines[0].get_color() != curve_figure(solved).axes[0].lines[1].get_color()
        )
        with pytest.raises(
            InvalidParameter, match="style = 'nonesuch': is not a style of matplotlib"
        ):
            choose_styles("nonesuch")
        assert curve_figure(solved).get_figwidth() == 5
    finally:
        choose_styles()
    assert curve_figure(solved).get_figwidth() == COLUMN_WIDTH


def test_larger_text_stays_on_the_sheet(solved):
    """The label of the y axis ran off a sheet as high as ours, captions and legends off its
    sides.
    """
    try:
        choose_styles("fivethirtyeight")
        with style.style_context():
            sheet = decomposition_figure([decompose(one) for one in solved])
            sheet.draw_without_rendering()
            (axes,) = sheet.axes
            for text in (axes.yaxis.label, axes.xaxis.label, axes.get_legend(), sheet._supxlabel):
                extent = text.get_window_extent()
                assert sheet.bbox.min[0] <= extent.x0 and extent.x1 <= sheet.bbox.max[0]
                assert sheet.bbox.min[1] <= extent.y0 and extent.y1 <= sheet.bbox.max[1]
    finally:
        choose_styles()


def test_lines_of_a_caption_break_no_formula():
    with style.style_context():
        sheet = style.Sheet()
        add_caption(
            sheet,
            r"$\lambda = 2 \times 10^{3}$, $d = 200$, $T = 2$; model of mu = 0.5",
            *(["and more"] * 12),
        )
        lines = sheet._supxlabel.get_text().split("\n")
    assert len(lines) > 2 and all(line.count("$") % 2 == 0 for line in lines)
    assert " ".join(lines) == caption_of(sheet)


def middle(_left, _right, place):
    return place


def test_points_are_added_where_a_line_has_a_kink_or_leaves_zero_and_only_there():
    asked = [0.1 * 1.4**k for k in range(14)]
    for at, shown in (
        (0.7, lambda x: (x, max(x / 0.7, 1.0) ** 2)),
        (2.3, lambda x: (x, max(x - 2.3, 0.0))),
    ):
        found = refine_kinks(asked, shown, middle)
        assert set(asked) < set(found) and found == sorted(found) and len(found) <= 1.5 * len(asked)
        below, above = max(x for x in found if x < at), min(x for x in found if x >= at)
        assert above / below < 1.1
    kink = refine_kinks(asked, lambda x: (x, max(x / 0.7, 1.0) ** 2), middle)
    assert all(abs(np.log(x / 0.7)) < 2 * np.log(1.4) for x in set(kink) - set(asked))
    assert (
        refine_kinks(asked, lambda x: (x, 1e-3 * max(x / 0.7, 1.0) ** 2), middle) == kink
    )  # whatever the unit
    assert refine_kinks(asked, lambda x: (x, x / (1 + x), 1 / x), middle) == asked
    beside_another = refine_kinks(
        asked, lambda x: (x, max(x, 3.0) ** 0.5, 1e4 * x), middle
    )  # no turn on the axis of both
    assert beside_another == asked
    lost = refine_kinks(asked, lambda x: (x, max(x / 0.7, 1.0) ** 2), lambda *near: np.nan)
    assert lost == asked
    assert refine_kinks(asked, lambda x: (x, np.nan if x < 1 else x), middle) == asked


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--style", "ggplot"],
            "--style ggplot: requires --plot; add --plot F",
        ),
        (
            ["--style", "nonesuch", "--plot", "a.pdf"],
            "--style nonesuch: is not a style of matplotlib or a style file; use",
        ),
    ],
)
def test_a_style_is_refused_before_any_work(arguments, said, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = ["curve", "--alpha", "1", "--kappa0", ".5", "--lambda", ".1", "--noise", ".5"]
    monkeypatch.setattr(sys, "argv", ["numeric", *given, *arguments])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(main)
    assert stop.value.code == 2 and capsys.readouterr().err.startswith(said)


def test_a_recovery_threshold_is_drawn_to_where_its_width_ends_it(monkeypatch, capsys, tmp_path):
    """At kappa0 = 1/2, which the grid leaves out, and with points between, as lines bend; the table
    has what was asked for.
    """
    drawn = []
    monkeypatch.setattr(
        plotting, "recovery_figure", lambda rows, model: drawn.extend(rows) or Figure()
    )
    given = [
        "recovery",
        "--kappa0",
        "0.2,0.4,0.7",
        "--width",
        "1,1/2",
        "--plot",
        str(tmp_path / "r.png"),
        "--json",
    ]
    monkeypatch.setattr(sys, "argv", ["numeric", *given])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(main)
    assert stop.value.code == 0
    (end,) = [row for row in drawn if row.kappa0 == row.width == Fraction(1, 2)]
    assert end.recovery == end.bayes
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 5
    wide = sorted(row.kappa0 for row in drawn if row.width == 1)
    assert (wide[0], wide[-1]) == (Fraction(1, 5), Fraction(7, 10)) and len(wide) == len(set(wide))
    assert max(b - a for a, b in itertools.pairwise(wide)) < Fraction(1, 60)
    assert max(row.kappa0 for row in drawn if row.width < 1) == Fraction(1, 2)


def test_a_value_within_its_error_bar_of_zero_is_zero_and_one_that_is_none_is_not_drawn(solved):
    one = replace(solved[0], test_error=0.1, train_error=-0.1, estimation_error=0.1001)
    bars = {"test_error": 0.1, "train_error": 0.1, "estimation_error": 0.1}
    assert plotting.curve_coordinates(replace(one, errors=bars)) == (0.5, 0.0, 0.0, 0.1001)
    lost = plotting.curve_coordinates(replace(one, status=Status.INACCURATE))
    assert lost[0] == 0.5 and all(map(math.isnan, lost[1:]))
    assert plotting.cost_coordinates(CostPoint(one, 0.2)) == (0.5, 0.1001, 0.2)
    assert math.isnan(plotting.cost_coordinates(CostPoint(one, None))[2])
    assert math.isnan(
        plotting.cost_coordinates(CostPoint(replace(one, status=Status.STEP_LIMIT), 0.2))[1]
    )


def test_a_faint_line_joins_unstable_points_to_their_neighbours(solved):
    """At four points of which the first is unstable: from it to the second, and no farther."""
    points = [
        replace(solved[0], status=Status.UNSTABLE),
        *solved[1:],
        replace(solved[2], problem=solved[2].problem.at(4.0)),
    ]
    (axes,) = curve_figure(points).axes
    full, faint, marks = axes.lines[:3]
    assert np.isfinite(full.get_ydata()).tolist() == [False, True, True, True]
    assert np.isfinite(faint.get_ydata()).tolist() == [True, True, False, False]
    assert marks.get_xydata().tolist() == [[0.5, points[0].test_error]]
    assert faint.get_alpha() < 1 and faint.get_linewidth() < full.get_linewidth()


def test_optima_are_drawn_where_they_are(solved):
    figure = optimal_figure(
        [Optimum(decay, one, 0.0) for decay, one in zip((0.1, 0.0, 0.3), solved, strict=True)]
    )
    errors, decays = (axes.lines[0] for axes in figure.axes)
    np.testing.assert_allclose(
        errors.get_xydata(), [(one.problem.alpha, one.test_error) for one in solved]
    )
    np.testing.assert_allclose(decays.get_xydata(), [(0.5, 0.1), (1.0, math.nan), (2.0, 0.3)])
    assert r"the optimum is $\lambda \to 0$" in caption_of(figure)
    assert [axes.get_xscale() + axes.get_yscale() for axes in figure.axes] == ["loglog"] * 2


def test_costs_are_drawn_where_they_are(solved):
    (axes,) = cost_figure([CostPoint(one, 0.1 * k) for k, one in enumerate(solved, 1)]).axes
    learned, optimal = axes.lines
    np.testing.assert_allclose(
        learned.get_xydata(), [(one.problem.alpha, one.estimation_error) for one in solved]
    )
    np.testing.assert_allclose(optimal.get_xydata(), [(0.5, 0.1), (1.0, 0.2), (2.0, 0.3)])
    assert (learned.get_label(), optimal.get_label()) == ("learned", "Bayes-optimal")


def test_the_optimum_and_what_is_learned_beside_it_are_drawn_where_they_are(solved):
    points = [
        BayesPoint(one.problem, 0.1 * k, PosteriorErrors(0.2 * k, 0.3 * k), Optimum(0.1, one, 0.0))
        for k, one in enumerate(solved, 1)
    ]
    points[1] = points[1]._replace(learned=None)
    points[2] = points[2]._replace(predictions=None)
    estimation, test = (
        {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
        for axes in bayes_figure(points).axes
    )
    first, _, last = solved
    assert estimation["Bayes-optimal"] == [[0.5, 0.1], [1.0, 0.2]] and test["Bayes-optimal"] == [
        [0.5, 0.2],
        [1.0, 0.4],
    ]
    assert test["label of the posterior mean"] == pytest.approx(np.array([[0.5, 0.3], [1.0, 0.6]]))
    for panel, name in ((estimation, "estimation_error"), (test, "test_error")):
        assert panel[r"learned, best $\lambda$"] == [
            [one.problem.alpha, getattr(one, name)] for one in (first, last)
        ]


def test_recovery_thresholds_have_a_colour_for_each_number_of_tokens_and_a_line_for_each_width():
    """The optimum, which knows no width, is drawn along the widest, where it is known at most
    ranks.
    """
    rows = [
        RecoveryRow(
            Fraction(k, 4),
            Fraction(w, 4),
            tokens,
            str(k / 10 + w / 100 + tokens),
            str(k / 10 + tokens),
        )
        for tokens in (2, 3)
        for w in (1, 2, 4)
        for k in (4, 1, 2)
        if w >= k
    ]
    figure = recovery_figure(rows)
    (axes,) = figure.axes
    lines = [
        (line.get_color(), line.get_linestyle(), line.get_xydata().tolist()) for line in axes.lines
    ]
    for colour, tokens in (("C0", 2), ("C1", 3)):
        for dashes, w in (("-", 4), ("--", 2), ("-.", 1)):
            values = [[k / 4, k / 10 + w / 100 + tokens] for k in (1, 2, 4) if w >= k]
            assert (colour, dashes, [pytest.approx(value) for value in values]) in lines
        assert (colour, ":", [pytest.approx([k / 4, k / 10 + tokens]) for k in (1, 2, 4)]) in lines
    assert len(lines) == 8
    shown = {
        text.get_text(): (line.get_color(), line.get_linestyle())
        for text, line in zip(
            axes.get_legend().texts, axes.get_legend().legend_handles, strict=True
        )
    }
    assert (
        shown["$T=3$"][0] == "C1"
        and shown[r"$\kappa=0.5$"][1] == "--"
        and shown["Bayes-optimal"][1] == ":"
    )
    assert "lines end where" in caption_of(figure)


def test_a_scaling_law_is_drawn_with_its_slopes_exponents_and_where_features_leave_the_bulk(solved):
    problem = Problem(1.0, power_law(0.75, 100), 1e-2, 0.5)
    points = [
        ScalingPoint(
            n,
            100.0,
            replace(solved[0], problem=problem.at(n / 1e4)),
            risk,
            0.0,
            *[1.0] * 6,
            slope,
            0.01,
        )
        for n, risk, slope in (
            (1e3, 0.5, math.nan),
            (1e4, 0.0, -0.2),
            (1e5, 0.1, -0.3),
            (1e6, 0.05, -0.4),
        )
    ]
    recovered = [
        RecoveredFeature(1, 1.0, 900.0, 1000.0),
        RecoveredFeature(2, 0.5, None, 2e3),
        RecoveredFeature(3, 0.4, 1e6, None),
    ]
    figure = scaling_figure(problem, points, recovered)
    above, below = figure.axes
    assert above.get_shared_x_axes().joined(above, below)
    assert above.lines[0].get_xydata().tolist() == [[1e3, 0.5], [1e5, 0.1], [1e6, 0.05]]
    assert above.lines[1].get_xdata().tolist() == [
        1000.0
    ] and "ticks: a feature leaves the bulk" in caption_of(figure)
    assert below.lines[0].get_xydata().tolist() == [[1e5, -0.3], [1e6, -0.4]]
    (bars,) = below.collections
    np.testing.assert_allclose(
        bars.get_segments(), [[[1e5, -0.31], [1e5, -0.29]], [[1e6, -0.41], [1e6, -0.39]]]
    )
    exponents = [float(regime_of(point).exponent("n")) for point in points if point.risk]
    assert below.lines[-1].get_xydata().tolist() == [
        list(pair) for pair in zip((1e3, 1e5, 1e6), exponents, strict=True)
    ]
    assert "ticks" not in caption_of(scaling_figure(problem, points))


def test_a_phase_diagram_is_drawn_in_the_coordinates_of_its_axes():
    """Two half planes, below and above y = x - 1, with one slope in the lower one."""

    def half(name, sign, risk):
        return Regime(f"{name}.noise", name, risk, ((sign, -sign, -sign),), ())

    cells = (
        half("below", Fraction(1), (Fraction(-1), Fraction(0), Fraction(1))),
        half("above", Fraction(-1), (Fraction(0), Fraction(1, 2), Fraction(1))),
    )
    diagram = PhaseDiagram(
        Fraction(3, 4), None, (0.0, 4.0), (-1.0, 1.0), cells, ((3.0, -0.5, -0.25),)
    )
    (axes,) = phase_figure(diagram).axes
    (image,) = axes.images
    assert tuple(image.get_extent()) == (0.0, 4.0, -1.0, 1.0) and image.origin == "lower"
    pixels = image.get_array()
    size = len(pixels)
    for x, y, cell in ((0.1, 0.9, 1), (3.9, 0.9, 0), (1.0, -0.9, 0), (0.1, -0.5, 1)):
        assert pixels[int((y + 1) / 2 * size), int(x / 4 * size)] == cell
    assert diagram.regime(3.0, -0.5).name == "below" and diagram.regime(0.5, 0.5).name == "above"
    (text,) = [text for text in axes.texts if text.get_text() == "−0.25"]
    assert text.get_position() == (3.0, -0.5)
    labels = {line.get_label(): line.get_color() for line in axes.lines}
    assert list(labels) == ["below: −1", "above: 0"]
    for k, colour in enumerate(labels.values()):
        assert matplotlib.colors.to_hex(image.cmap(image.norm(k))) == colour


def test_kinks_of_the_best_decay_are_drawn_and_the_table_has_what_was_asked_for(
    solved, monkeypatch, capsys, tmp_path
):
    """One point of the figure is not found, and left out."""

    def kinked(problem, tolerance, for_):
        if 1 < problem.alpha < 1.2:
            raise NotConverged("no optimum")
        return Optimum(max(problem.alpha, 1.0) ** 3, replace(solved[0], problem=problem), tolerance)

    monkeypatch.setattr(optimal_decay, "optimal_lambda", kinked)
    monkeypatch.setattr(plotting, "optimal_figure", lambda _: Figure())
    given = [
        "--alpha",
        "0.5:2:7",
        "--kappa0",
        ".5",
        "--noise",
        ".5",
        "--plot",
        str(tmp_path / "o.png"),
        "--json",
    ]
    monkeypatch.setattr(sys, "argv", ["numeric", "optimal-lambda", *given])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(main)
    assert stop.value.code == 0
    asked, drawn = (
        {point["alpha"]: point["lambda"] for point in json.loads(text)["points"]}
        for text in (capsys.readouterr().out, (tmp_path / "o.json").read_text())
    )
    assert len(asked) == 7 and set(asked) < set(drawn)
    assert all(0.7 < alpha < 1 and decay == 1 for alpha, decay in drawn.items() - asked.items())


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0"),
        (1e-3, "0.001"),
        (5e-4, r"5 \times 10^{-4}"),
        (9999.9, "10000"),
        (123456, r"1.235 \times 10^{5}"),
        (1e8, "10^{8}"),
        (-2e6, r"-2 \times 10^{6}"),
    ],
)
def test_numbers_have_a_power_of_ten_where_they_would_have_many_zeros(value, told):
    assert in_mathtext(value) == told


def test_settings_in_which_problems_differ_are_not_told(solved):
    one = solved[0].problem
    others = [replace(one, width=0.5), one.at(2.0)]
    assert common_settings([one, *others]) == settings(one, "width", "alpha")
    direct = replace(one, parametrisation=Parametrisation.SYMMETRIC, lambda_=0.1)
    assert common_settings([one, direct], "alpha") == settings(one, "alpha", "lambda_")
    assert "trained" not in common_settings(
        [direct, one]
    ) and "symmetric matrix trained" in common_settings([direct])


@pytest.mark.parametrize(
    "draw",
    [
        curve_figure,
        optimal_figure,
        cost_figure,
        bayes_figure,
        recovery_figure,
        reliability_figure,
    ],
)
def test_nothing_is_no_figure(draw):
    with pytest.raises(InvalidParameter, match="is empty: there is nothing to draw"):
        draw([])


@pytest.mark.parametrize(
    ("draw", "given", "name", "kind"),
    [
        (curve_figure, [3], "solutions[0]", "Solution"),
        (optimal_figure, [3], "found[0]", "Optimum"),
        (cost_figure, [3], "points[0]", "CostPoint"),
        (bayes_figure, [3], "points[0]", "BayesPoint"),
        (reliability_figure, [3], "curves[0]", "ReliabilityCurve"),
        (recovery_figure, [3], "rows[0]", "RecoveryRow"),
        (decomposition_figure, [3], "parts[0]", "Decomposition"),
        (
            partial(scaling_figure, Problem(1.0, power_law(0.75, 50), 0.1, 0.5)),
            [3],
            "points[0]",
            "ScalingPoint",
        ),
        (lambda other: scaling_figure(other, [3]), 3, "problem", "Problem"),
        (spectrum_figure, 3, "spectrum", "LearnedSpectrum"),
        (phase_figure, 3, "diagram", "PhaseDiagram"),
    ],
)
def test_what_a_figure_is_not_of_is_refused_by_name(draw, given, name, kind):
    with pytest.raises(
        InvalidParameter, match=rf"^{re.escape(name)} = 3: must be a {kind}; (give|pass) "
    ):
        draw(given)


def test_one_in_place_of_several_is_no_list_of_points(solved):
    for draw in (
        curve_figure,
        optimal_figure,
        cost_figure,
        bayes_figure,
        recovery_figure,
        reliability_figure,
        decomposition_figure,
    ):
        with pytest.raises(InvalidParameter, match="must be a list"):
            draw(solved[0])


@pytest.mark.parametrize("ax", [3, "axes", [3], Figure()], ids=["number", "text", "list", "figure"])
def test_what_are_no_axes_is_refused(solved, ax):
    for draw in (
        lambda: curve_figure(solved, ax=ax),
        lambda: spectrum_figure(learned_spectrum(solved[0]), ax=ax),
        lambda: optimal_figure([Optimum(0.1, solved[0], 0.0)], ax=ax),
    ):
        with pytest.raises(
            InvalidParameter, match=r"^ax = .*: must be \d axes; create them with subplots"
        ):
            draw()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (IndependentCovariance(MarchenkoPastur(0.5), (0.1, 1.9)), "covariance 0.1 to 1.9"),
        (PowerLawCovariance(0.75, 0.5, 100), "covariance $k^{-0.5}$"),
        (AlignedCovariance((1.0, 0.0), (0.5, 1.5)), "covariance 0.5 to 1.5"),
    ],
)
def test_captions_state_the_covariance(target, words):
    assert words in settings(Problem(1.0, target, 0.1, 0.5))
