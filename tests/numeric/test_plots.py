"""Figures show the numbers that they are of: what is drawn is read back."""

from dataclasses import replace

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.plots import curve_figure, decomposition_figure, scaling_figure
from numeric.problem.problem import Problem
from numeric.saddle.curve import learning_curve
from numeric.studies.decompose import decompose
from numeric.studies.scaling import scaling_curve, width_curve

ALPHAS = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def solved():
    return learning_curve(Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5), ALPHAS)


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


def test_parts_of_the_test_error_and_what_stays_are_drawn_in_its_units(solved):
    parts = [decompose(one) for one in solved]
    (axes,) = decomposition_figure(parts).axes
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    for name in ("overfitting", "underfitting", "approximation"):
        np.testing.assert_allclose(drawn[name], [part.rate * getattr(part, name) for part in parts])
    np.testing.assert_allclose(drawn["mismatch"], [part.mismatch for part in parts])


def test_what_is_kept_is_said_along_hidden_units_alone():
    asked = Problem(1.0, power_law(0.75, 60), 1.0, 0.5)
    along_samples = scaling_figure(asked, scaling_curve(asked, [1e3, 4e3]))
    along_hidden = scaling_figure(asked, width_curve(asked, [10, 40]), along="hidden")
    assert "$n$ =" not in along_samples.axes[0].get_title()
    assert along_hidden.axes[0].get_title().endswith("$n$ = 3.6e+03")
    np.testing.assert_allclose(along_hidden.axes[0].lines[0].get_xdata(), [10, 40])
