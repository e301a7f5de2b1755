"""Slopes that are not the exponent of their cell: what is left out, and from which dimension on it
no longer counts.
"""

import math
import re
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime.text_table import WIDTH
from numeric import __main__ as command
from numeric.cli.power_laws.crossovers import PlacedSlope, crossover_line, warn_of_crossovers
from numeric.cli.power_laws.phase_diagram import _placed_slopes
from numeric.studies.regimes import MAX_LOG10_DIM, regime_at

GAMMA = Fraction(3, 4)


def place(x, y, dim=1e4):
    """Logarithms of n = d^x, lambda = d^y and d, and the cell that holds them."""
    log_d = math.log(dim)
    logs = (x * log_d, y * log_d, log_d)
    return regime_at(GAMMA, *logs), logs


@pytest.mark.parametrize(("x", "y"), [(1.4, -1.0), (2.0, 0.12), (2.6, 0.77), (3.2, -1.0)])
def test_a_crossover_ends_where_what_is_left_out_falls_below_a_tenth(x, y):
    regime, logs = place(x, y)
    settled = regime.log10_dim_below(*logs)
    _, there = place(x, y, 10**settled)
    assert regime.correction(*there) == pytest.approx(0.1, rel=1e-6)
    assert regime.correction(*place(x, y, 10 ** (settled + 1))[1]) < 0.1
    assert settled == pytest.approx(
        regime.log10_dim_below(*there)
    )  # wherever on the way it is asked for


def test_on_the_edge_of_a_cell_it_never_ends():
    regime, logs = place(2.0, -1.0)  # n = d^2, where labels begin to determine S
    assert regime.log10_dim_below(*logs) == math.inf


def test_nothing_is_said_to_settle_beyond_what_is_farthest():
    """Towards the edge of a cell it takes longer and longer."""
    ends = [
        place(2.0 - edge, -1.0)[0].log10_dim_below(*place(2.0 - edge, -1.0)[1])
        for edge in np.geomspace(1e-4, 1e-2, 400)
    ]
    finite = [end for end in ends if end < math.inf]
    assert math.inf in ends and 0.98 * MAX_LOG10_DIM < max(finite) <= MAX_LOG10_DIM


def crossing(dims, constant):
    """Slopes along n at growing d that are their exponent plus so many times the derived size of
    what it leaves out.
    """
    for dim in dims:
        regime, logs = place(1.4, -0.52, dim)
        yield PlacedSlope(
            float(regime.exponent("n")) + constant * regime.correction(*logs),
            1e-3,
            regime,
            logs,
            "n",
        )


@pytest.mark.parametrize("constant", [-0.4, 0.3, 2.0])
def test_the_largest_constant_says_where_a_slope_comes_near(constant):
    """Words gave a size "up to a constant", of which nobody could use the rest."""
    slopes = list(crossing([1e4, 1e5, 1e6], constant))
    regime, logs = slopes[0].regime, slopes[0].logs
    assert regime.constant(
        [one.value for one in slopes], [one.logs for one in slopes]
    ) == pytest.approx(abs(constant))
    end = regime.log10_dim_near(abs(constant), *logs)
    (there,) = crossing([10**end], constant)
    assert abs(there.value - there.exponent) == pytest.approx(abs(there.exponent) / 10, rel=1e-6)
    line = crossover_line(slopes)
    beyond = sum(
        abs(one.value - one.exponent) > regime.slope_tolerance() + one.error for one in slopes
    )
    near = f", below 0.033 from d = 1e{math.ceil(end)} on, at the same powers of d"
    (power,) = re.findall(r"corrections go as d\^-([\d.]+), below", line)
    far, farther = (regime.correction(*place(1.4, -0.52, 10**log_d)[1]) for log_d in (250, 300))
    assert math.log10(far / farther) / 50 == pytest.approx(
        float(power), rel=0.05
    )  # two digits of it are printed
    assert line.endswith(near if beyond == 1 else f"{near} (by the farthest of {beyond})")
    assert len(line) <= 2 * WIDTH


def test_no_slope_beyond_is_farther_than_said():
    """A fit to slopes of which the distance first grew said "from d = 1e5 on" beside one at 1e8
    that was 15 % off.
    """
    (regime, *_), dims, distances = (
        place(1.4, -0.52),
        (1e4, 1e8, 1e12, 1e18),
        (0.031, 0.050, 0.030, 0.010),
    )
    logs = [place(1.4, -0.52, dim)[1] for dim in dims]
    constant = regime.constant([float(regime.exponent("n")) - far for far in distances], logs)
    assert 8 < regime.log10_dim_near(constant, *logs[-1]) < math.inf


def test_slopes_that_are_near_say_nothing_of_those_that_are_not():
    """The distance of one that was near already, over the little that is left out there, gave d =
    1e7 where 1e4 was seen to do.
    """
    dims, distances = (1e4, 1e8), (0.05, 0.03)
    regime, logs = place(1.4, -0.52)[0], [place(1.4, -0.52, dim)[1] for dim in dims]
    slopes = [
        PlacedSlope(float(regime.exponent("n")) - far, 1e-3, regime, at, "n")
        for far, at in zip(distances, logs, strict=True)
    ]
    first = 0.05 / regime.correction(*logs[0])
    assert regime.constant([one.value for one in slopes], logs) == pytest.approx(first)
    assert 0.03 / regime.correction(*logs[1]) > first  # once the constant of both
    line = crossover_line(slopes)
    assert (
        line.startswith("1 slope (-0.38) is not yet")
        and f"from d = 1e{math.ceil(regime.log10_dim_near(first, *logs[0]))} on" in line
    )


def test_one_slope_cannot_tell(caplog):
    (slope,) = crossing([1e4], -0.4)
    line = crossover_line([slope])
    assert line.startswith(
        f'1 slope ({slope.value:.2f}) is not yet the exponent -0.333 of "bulk just open; limited '
        'by noise": '
    )
    assert re.search(
        r": corrections go as d\^-0\.11, one slope in a regime is not enough to extrapolate$",
        line,
    )
    regime, logs, exponent = slope.regime, slope.logs, slope.exponent
    with caplog.at_level("WARNING", "numeric"):
        warn_of_crossovers(
            [
                PlacedSlope(exponent + 0.03, 0.0, regime, logs, "n"),
                PlacedSlope(exponent + 0.1, 0.2, regime, logs, "n"),
            ]
        )
        warn_of_crossovers([PlacedSlope(math.nan, math.nan, regime, logs, "n")])
    assert caplog.records == []  # near enough, or not known better


def test_on_the_edge_of_a_cell_slopes_come_near_nowhere():
    regime, logs = place(2.0, -1.0)
    assert "no slope comes within 0.04 of it" in crossover_line(
        [PlacedSlope(-0.1, 0.0, regime, logs, "n")] * 2
    )


def test_a_scaling_curve_says_so(monkeypatch, capsys):
    arguments = "scaling --power-law 3/4 --dim 200 --lambda 1/d --samples 1e3:1e4:6 --noise .5"
    monkeypatch.setattr(sys, "argv", ["numeric", *arguments.split()])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(command.main)
    assert stop.value.code == 0
    said = capsys.readouterr().err
    assert "2 slopes (" in said and "(by the farthest of 2)" in said


def test_slopes_of_a_diagram_are_placed_by_the_logarithms_of_what_they_are_at():
    diagram = SimpleNamespace(slopes=[(1.4, -0.5, -0.3)], regime=lambda x, y: (x, y))
    ((x, y, slope),) = _placed_slopes(diagram, 100, "n")
    assert (x, y) == slope.regime == (1.4, -0.5)
    assert slope.logs == pytest.approx([1.4 * math.log(100), -0.5 * math.log(100), math.log(100)])
