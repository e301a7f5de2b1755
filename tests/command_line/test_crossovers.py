"""Slopes that are not the exponent of their cell: what is left out, and from which dimension on it no longer counts."""

import math
import sys
from fractions import Fraction

import pytest

from numeric import __main__ as command
from numeric.cli.arguments import run
from numeric.cli.power_laws.crossovers import PlacedSlope, crossover_line, tell_crossovers
from numeric.studies.regimes import regime_at

GAMMA = Fraction(3, 4)


def place(x, y, dim=1e4):
    """Logarithms of n = d^x, lambda = d^y and d, and the cell that holds them."""
    log_d = math.log(dim)
    logs = (x * log_d, y * log_d, log_d)
    return regime_at(GAMMA, *logs), logs


@pytest.mark.parametrize(("x", "y"), [(1.4, -1.0), (2.0, 0.12), (2.6, 0.77), (3.2, -1.0)])
def test_a_crossover_ends_where_what_is_left_out_falls_below_a_tenth(x, y):
    regime, logs = place(x, y)
    settled = regime.settled(*logs)
    _, there = place(x, y, 10**settled)
    assert regime.correction(*there) == pytest.approx(0.1, rel=1e-6)
    assert regime.correction(*place(x, y, 10 ** (settled + 1))[1]) < 0.1
    assert settled == pytest.approx(regime.settled(*there))  # wherever on the way it is asked for


def test_on_the_edge_of_a_cell_it_never_ends():
    regime, logs = place(2.0, -1.0)  # n = d^2, where labels begin to determine S
    assert regime.settled(*logs) == math.inf


def test_words_beside_slopes_say_how_far_off_and_until_when(caplog):
    regime, logs = place(1.4, -0.52)
    exponent = float(regime.exponent("n"))
    line = crossover_line(
        [PlacedSlope(-0.398, 0.001, regime, logs, "n"), PlacedSlope(-0.377, 0.001, regime, logs, "n")]
    )
    assert '2 slopes (-0.40 to -0.38) are not yet the exponent -0.333 of "bulk just open; limited by noise"' in line
    size, end = regime.correction(*logs), round(regime.settled(*logs))
    assert f"is {size:.2f} here" in line and f"falls below 1/10 from d = 1e{end} on" in line
    with caplog.at_level("WARNING", "numeric"):
        tell_crossovers(
            [PlacedSlope(exponent + 0.01, 0.0, regime, logs, "n"), PlacedSlope(exponent + 0.1, 0.2, regime, logs, "n")]
        )
    assert caplog.records == []  # near enough, or not known better


def test_a_scaling_curve_says_so(monkeypatch, capsys):
    arguments = "scaling --power-law 3/4 --dim 200 --lambda 1/d --samples 1e3:1e4:6 --noise .5"
    monkeypatch.setattr(sys, "argv", ["numeric", *arguments.split()])
    with pytest.raises(SystemExit) as stop:
        run(command.main)
    assert stop.value.code == 0
    assert "2 slopes (" in (said := capsys.readouterr().err) and "the crossover is slow" in said
