"""What all figures share: captions that state every setting, labels that are read at a glance,
legends within their panel.
"""

import io
import struct
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from attention_erm import __version__
from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.laws.rational_target import RationalTarget
from numeric.plotting import style
from numeric.plotting.caption import add_caption, caption_of, in_mathtext, settings
from numeric.plotting.kinks import _intervals_at_kinks, refine_kinks
from numeric.plotting.log_axes import MIN_VISIBLE_FRACTION, keep_in_view, logarithmic
from numeric.plotting.numbers import format_ranges, without_mathtext
from numeric.plotting.style import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    Sheet,
    choose_styles,
    legend_above,
    panels,
)
from numeric.problem.problem import Problem

PLAIN = Problem(0.5, MarchenkoPastur(0.5), 0.1, 0.25)
SAID = r"$\kappa_0 = 0.5$, $\alpha = 0.5$, $\lambda = 0.1$, $\Delta = 0.25$, $T = 2$"


def told(*values, weights=None):
    """What is said of a list of eigenvalues."""
    given = weights or [1 / len(values)] * len(values)
    return settings(replace(PLAIN, target=Eigenvalues(values, given))).partition(r", $\alpha")[0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"width": 0.75}, r"$\kappa = 0.75$"),
        ({"beta": 2.0, "beta0": 3.0}, r"$\beta = 2$, $\beta_0 = 3$"),
        ({"parametrisation": "symmetric"}, "symmetric matrix trained"),
        ({"sample_minimum": "fitted"}, "fitted minimum of each sample"),
    ],
)
def test_a_setting_is_said_where_it_is_not_the_usual_one(changed, said):
    parts = settings(replace(PLAIN, **changed)).split(", ")
    assert sorted(parts) == sorted([*SAID.split(", "), *filter(None, said.split(", "))])


def test_another_model_is_said_and_no_tokens_where_its_file_states_them():
    said = settings(replace(PLAIN, model="tied_attention_cross_entropy"))
    assert said == SAID.replace("$T = 2$", "model tied attention cross entropy")


def test_what_a_figure_varies_is_not_said():
    other = replace(PLAIN, width=0.75)
    assert (
        settings(other, "target", "width", "lambda_") == r"$\alpha = 0.5$, $\Delta = 0.25$, $T = 2$"
    )


def test_a_setting_of_the_model_alone_is_said_by_its_name():
    noisy = replace(PLAIN, model="label_noise_attention", extra=(("label_noise", 0.3),))
    assert "label noise = 0.3, model label noise attention" in settings(noisy)
    assert "label noise =" not in settings(noisy, "label_noise")


def test_a_scale_is_said_where_it_is_one():
    assert settings(replace(PLAIN, target=MarchenkoPastur(0.5, 2.0))).startswith(
        r"$\kappa_0 = 0.5$, scale 2, "
    )


def test_second_moments_but_one_are_said_of_power_laws():
    assert settings(replace(PLAIN, target=power_law(0.75, 50))).startswith(
        r"$\gamma = 0.75$, $d = 50$, $\alpha"
    )
    assert r"$d = 50$, $q_0 = 2.5$, " in settings(replace(PLAIN, target=power_law(0.75, 50, 2.5)))


def test_few_eigenvalues_are_listed_and_the_others_counted():
    assert told(1.0, 2.5) == "eigenvalues (and shares) 2.5 (0.5), 1 (0.5)"
    assert told(1, 2, 3, 5, 8, 13, weights=[0.5, *5 * [0.1]]) == (
        "eigenvalues (and shares) 13 (0.1), 8 (0.1), 5 (0.1), 3 (0.1) and 2 more"
    )


def test_zeros_are_told_however_many_eigenvalues_are_left_out():
    """The one of share .8 was "1 more"."""
    first = "eigenvalues (and shares) 6 (0.05), 5 (0.05), 4 (0.05), 3 (0.05), 0 (0.8)"
    assert told(0, 3, 4, 5, 6, weights=[0.8, *4 * [0.05]]) == first
    assert (
        told(0, 1, 3, 4, 5, 6, weights=[0.75, *5 * [0.05]])
        == first.replace("0.8", "0.75") + " and 1 more"
    )


def test_a_list_is_a_power_law_by_its_weights_as_well():
    """Of five eigenvalues k^-1: with other weights, or with zeros, they are another target, and
    four are told one by one.
    """
    powers = [1 / k for k in range(5, 0, -1)]
    assert told(*powers).startswith(r"$\gamma = 1$, $d = 5$, $q_0 = ")
    assert told(*powers, weights=[0.16, 0.21, 0.21, 0.21, 0.21]).startswith("eigenvalues ")
    assert told(0.0, *powers).startswith("eigenvalues ")
    assert told(*powers[1:]).startswith("eigenvalues ")


def test_the_target_of_another_model_is_said_by_its_own_settings():
    target = RationalTarget("tied_attention_two_bulks", (0.2, 0.3, 1.0, 0.25))
    names = settings(Problem(1.0, target, 0.1, 0.5, model=target.model)).split(", ")[:4]
    assert [name.split(" = ")[1] for name in names] == ["0.2", "0.3", "1", "0.25"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3600, "3600"),
        (0.25, "0.25"),
        (1e5, "10^{5}"),
        (2.5e-7, r"2.5 \times 10^{-7}"),
        (1.0, "1"),
        (-1e-9, r"-1 \times 10^{-9}"),
    ],
)
def test_a_number_in_mathematics(value, text):
    assert in_mathtext(value) == text


def test_a_figure_that_is_saved_from_python_says_which_version_drew_it(tmp_path):
    figure = Sheet()
    figure.savefig(tmp_path / "a.png")
    figure.savefig(tmp_path / "b.png", metadata={"Software": "mine"})
    assert (
        Image.open(tmp_path / "a.png")
        .text["Software"]
        .startswith(f"attention-erm {__version__}, commit ")
    )
    assert Image.open(tmp_path / "b.png").text["Software"] == "mine"


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (r"$\beta = \beta_0 = 0.5$", "beta = beta0 = 0.5"),
        (r"$\lambda \to 0^+$", "lambda -> 0^+"),
        (r"$\lambda = 10^{-5}$", "lambda = 1e-5"),
        (r"$\lambda = 5 \times 10^{-4}$", "lambda = 5e-4"),
        ("factors $W W^T$", "factors W W^T"),
    ],
)
def test_a_label_of_a_figure_can_be_read_in_a_terminal(label, shown):
    """Tables of `verify figure` had dollars and backslashes."""
    assert without_mathtext(label) == shown


@pytest.mark.parametrize("columns", [1, 2])
def test_a_caption_fills_the_lines_of_its_sheet_and_no_more(columns):
    with style.style_context():
        sheet = Sheet(columns)
        sheet.subplots()
        parts = [rf"$\alpha = {k}$ of the $\lambda_{k}$ that is settled" for k in range(12)]
        add_caption(sheet, *parts)
        sheet.draw_without_rendering()
        assert 0.7 < sheet._supxlabel.get_window_extent().width / sheet.bbox.width <= 1
    lines = sheet._supxlabel.get_text().split("\n")
    assert " ".join(lines) == caption_of(sheet) == "; ".join(parts)
    assert not any(line.startswith("=") or line.endswith("=") for line in lines)


def labels(low, high):
    """Labels of a logarithmic axis with these ends, and where minor ticks stand."""
    with style.style_context():
        axes = Sheet().subplots()
        axes.set_xlim(low, high)
        logarithmic(axes.xaxis)
        axes.set_xlim(low, high)
        places = [place for place in axes.xaxis.get_majorticklocs() if low <= place <= high]
        texts = axes.xaxis.get_major_formatter().format_ticks(places)
        return texts, places, axes.xaxis.get_minorticklocs()


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.8, 250), ["1", "3", "10", "30", "100"]),
        ((0.3, 3), ["0.3", "0.5", "1", "2", "3"]),
        ((115, 768), ["150", "200", "300", "500", "700"]),
        ((0.12, 0.165), ["0.12", "0.13", "0.14", "0.15", "0.16"]),
        ((9e-4, 2e3), ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]),
        ((0.9e3, 1.1e4), ["1000", "2000", "3000", "5000", "10000"]),
        (
            (0.9e5, 4e5),
            ["$10^{5}$", r"$1.5 \times 10^{5}$", r"$2 \times 10^{5}$", r"$3 \times 10^{5}$"],
        ),
        (
            (4e-4, 2e-3),
            [
                r"$5 \times 10^{-4}$",
                r"$7 \times 10^{-4}$",
                "$10^{-3}$",
                r"$1.5 \times 10^{-3}$",
                r"$2 \times 10^{-3}$",
            ],
        ),
        ((1e-14, 10), ["$10^{-12}$", "$10^{-9}$", "$10^{-6}$", "$10^{-3}$", "$10^{0}$"]),
    ],
)
def test_labels_of_a_logarithmic_axis_are_round_plain_or_all_with_powers_of_ten(ends, shown):
    assert labels(*ends)[0] == shown


def test_each_decade_has_a_tick_at_each_of_its_units():
    _, places, minor = labels(0.99, 10.1)
    ticks = {*np.round(places, 9), *np.round(minor, 9)}  # a tick that has a label is no minor one
    assert sorted(tick for tick in ticks if 0.99 < tick < 10.1 and tick != 1.5) == list(
        range(1, 11)
    )


def test_a_view_is_cut_where_it_goes_too_far_down_alone():
    axes = Figure().subplots()
    axes.set_yscale("log")
    for bottom, shown in ((1e-2, 1e-2), (1e-12, 5 * MIN_VISIBLE_FRACTION)):
        axes.set_ylim(bottom, 5.0)
        assert keep_in_view(axes) == pytest.approx(shown) and axes.get_ylim() == pytest.approx(
            (shown, 5.0)
        )


def test_no_piece_between_added_points_is_within_the_thickness_of_a_line():
    """Sixteen halvings of the piece with the kink would come down to 1e-6 of the width."""
    asked = np.geomspace(0.1, 10, 40).tolist()
    found = refine_kinks(asked, lambda x: (x, max(x / 0.7, 1.0) ** 2), lambda *near: near[-1])
    steps = np.diff(np.log(found)) / np.log(100)
    assert len(found) > len(asked) and 1e-3 < steps.min() < 6e-3


def test_a_line_that_is_flat_or_one_point_wide_has_no_kink():
    asked = [1.0, 2.0, 3.0, 4.0]
    assert refine_kinks(asked, lambda x: (x, 2.0), lambda *near: near[-1]) == asked
    assert refine_kinks([1.0, 1.0, 1.0], lambda x: (x, x), lambda *near: near[-1]) == [
        1.0,
        1.0,
        1.0,
    ]
    assert refine_kinks(asked, lambda x: (x, 0.0), lambda *near: near[-1]) == asked


def test_both_pieces_that_meet_at_a_kink_are_sharp_and_none_beside_what_is_not_drawn():
    places = [1.0, 2.0, 4.0, 8.0, 16.0]
    kinked = np.array([(x, max(x / 4, 1.0) ** 2) for x in places])
    assert {k for k, _ in _intervals_at_kinks(kinked)} == {1, 2}
    kinked[3, 1] = np.nan
    assert _intervals_at_kinks(kinked) == []
    kinked[2, 1] = 0.0  # which leaves the panel, and is left by what is drawn before it alone
    assert {k for k, _ in _intervals_at_kinks(kinked)} == {1}


def test_points_are_asked_for_between_their_neighbours():
    """At the middle of the two in the logarithm, the left one first."""
    asked, given = [0.1 * 1.4**k for k in range(14)], []

    def between(left, right, place):
        given.append((left, right))
        return place

    found = refine_kinks(asked, lambda x: (x, max(x / 0.7, 1.0) ** 2), between)
    added = sorted(set(found) - set(asked))
    assert sorted((left * right) ** 0.5 for left, right in given) == pytest.approx(added)
    assert all(left < right for left, right in given)


def test_a_sheet_is_printed_with_300_dots_an_inch():
    with style.style_context():
        sheet, file = Sheet(2, 2.0), io.BytesIO()
        sheet.savefig(file, format="png")
    assert struct.unpack(">2I", file.getvalue()[16:24]) == (int(300 * PAGE_WIDTH), 600)


def test_the_height_of_a_sheet_goes_with_the_width_of_its_style(tmp_path):
    file = tmp_path / "own.mplstyle"
    file.write_text("figure.figsize: 5, 3\n")
    assert panels(None, 2, 1, 4.0)[0].get_size_inches() == pytest.approx(
        [6.4, 4.0 * 6.4 / COLUMN_WIDTH]
    )  # matplotlib's
    try:
        choose_styles(file)
        with style.style_context():
            assert Sheet(2, 3.0).get_size_inches() == pytest.approx(
                [5 * PAGE_WIDTH / COLUMN_WIDTH, 3 * 5 / COLUMN_WIDTH]
            )
    finally:
        choose_styles()
    with style.style_context():
        assert Sheet().get_size_inches() == pytest.approx(matplotlib.rcParams["figure.figsize"])


def test_axes_are_handed_over_row_by_row_as_many_as_there_are_panels():
    own = Figure().subplots(2, 1)
    figure, given = panels(own, 2, 1)
    assert given == list(own) and figure is own[0].figure
    with pytest.raises(InvalidParameter, match="must be 4 axes"):
        panels(own, 2, 2)


@pytest.mark.parametrize(("entries", "columns"), [(2, 2), (4, 4), (9, 4)])
def test_a_legend_has_one_row_of_few_entries(entries, columns):
    axes = Sheet().subplots()
    for k in range(entries):
        axes.plot([1, 2], [k, k], label=str(k))
    legend_above(axes)
    assert axes.get_legend()._ncols == columns


@pytest.mark.parametrize("length", [8, 14])
def test_a_legend_within_axes_is_as_wide_as_they_are_and_takes_no_more_height_than_it_needs(length):
    """As many columns as fit; its gap to what is drawn, whose view ended where the legend begins,
    is a tenth of the panel at most.
    """
    for scale in ("linear", "log"):
        axes = Figure(figsize=(4, 4)).subplots()
        axes.set_yscale(scale)
        for k in range(4):
            axes.plot([1, 2], [1, 10], label=f"{k}" * length)
        high, panel = axes.get_ylim()[1], axes.get_window_extent()
        fitting = [
            n for n in range(1, 5) if axes.legend(ncols=n).get_window_extent().width <= panel.width
        ]
        legend_above(axes, 4)
        legend = axes.get_legend().get_window_extent()
        assert axes.get_legend()._ncols == max(fitting)
        gap = legend.y0 - axes.transData.transform((1, high))[1]
        assert 0 < gap < 0.1 * panel.height


def test_a_legend_of_a_sheet_stands_on_its_axes():
    sheet, (axes,) = panels(None)
    axes.plot([1, 2], [1, 10], label="one")
    legend_above(axes)
    sheet.draw_without_rendering()
    gap = axes.get_legend().get_window_extent().y0 - axes.get_window_extent().y1
    assert 0 <= gap < 0.1 * axes.get_window_extent().height


def test_panels_are_in_order_one_if_no_more_are_asked_for():
    with style.style_context():
        sheet, _ = panels(None)
        assert sheet.get_size_inches() == pytest.approx(
            matplotlib.rcParams["figure.figsize"]
        ) and isinstance(sheet, Sheet)
        _, (above, below) = panels(None, 2, 1)
        _, (left, right) = panels(None, 1, 2)
    assert (
        above.get_position().y0 > below.get_position().y1
        and left.get_position().x1 < right.get_position().x0
    )
    whole = Figure()
    within = whole.subfigures(1, 2)[0].subplots()
    assert panels(within)[0] is whole  # which has one caption


def test_text_and_lines_have_the_sizes_of_a_journal():
    """Letters of six to nine points, as its captions; lines from a third of a point to one and a
    quarter.
    """
    with style.style_context():
        sheet, (axes,) = panels(None)
        axes.plot([1, 2], [1, 2], label="one")
        axes.set(xlabel="x", ylabel="y", title="z")
        logarithmic(axes.xaxis)
        legend_above(axes)
        add_caption(sheet, "of this")
        sheet.draw_without_rendering()
    sizes = [text.get_fontsize() for text in sheet.findobj(Text)]
    assert min(sizes) >= 6 and max(sizes) <= 9
    ticks = [
        tick.tick1line.get_markeredgewidth()
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
    ]
    widths = [
        *ticks,
        *(spine.get_linewidth() for spine in axes.spines.values()),
        axes.lines[0].get_linewidth(),
    ]
    assert min(widths) >= 0.35 and max(widths) <= 1.25
    assert [name for name, spine in axes.spines.items() if spine.get_visible()] == [
        "left",
        "bottom",
    ]


def test_ranges_of_points_hold_no_other_point():
    """Unstable points on both sides of stable ones were said to be unstable from the first to the
    last.
    """
    among = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert format_ranges([0.2], among) == "0.2" and format_ranges(among, among) == "0.1 to 0.6"
    assert format_ranges([0.6, 0.1, 0.2, 0.4], among) == "0.1 to 0.2, 0.4, 0.6"
    assert (
        format_ranges([0.1, 0.2, 0.4], among, lambda value: f"<{value}>") == "<0.1> to <0.2>, <0.4>"
    )


def test_of_many_ranges_the_first_are_named_and_the_last_ends():
    among = [float(n) for n in range(12)]
    assert format_ranges([0, 2, 4, 6, 7], among) == "0, 2, 4, 6 to 7"
    assert (
        format_ranges([0, 2, 4, 6, 8, 10, 11], among) == "0, 2, 4 and 3 ranges more, the last to 11"
    )


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
@pytest.mark.parametrize("name", ["classic", "dark_background", "ggplot", "grayscale"])
def test_a_style_of_matplotlib_draws_in_every_format(name, suffix, tmp_path):
    """A style may set the type of fonts, whose change within a file is an error of its backend."""
    style.choose_styles(name)
    try:
        with style.style_context():
            figure = Sheet()
            figure.subplots().plot([1, 2], [1, 2], "o", color=style.ink(0.3), mfc=style.paper())
            add_caption(figure, "settings")
        contrast = np.abs(
            np.array(to_rgb(figure._supxlabel.get_color()))
            - to_rgb(figure._rc_params["figure.facecolor"])
        )
        assert contrast.max() > 0.4
    finally:
        style.choose_styles()
    figure.savefig(tmp_path / f"figure.{suffix}")
    assert (tmp_path / f"figure.{suffix}").stat().st_size > 1000


def test_a_caption_is_left_out_on_request():
    style.choose_styles(captions=False)
    try:
        figure = Sheet()
        add_caption(figure, "settings")
    finally:
        style.choose_styles()
    assert figure._supxlabel is None and caption_of(figure) == "settings"
