"""Figures show the numbers that they are of: what is drawn is read back."""

from dataclasses import replace

import numpy as np

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.plots import curve_figure
from numeric.problem.problem import Problem
from numeric.saddle.curve import learning_curve


def test_a_curve_and_its_error_bands_stand_where_they_belong():
    solved = learning_curve(Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5), [0.5, 1.0, 2.0])
    wide = [replace(one, errors={"test_error": 0.1, "train_error": 0.02, "estimation_error": 0.05}) for one in solved]
    (axes,) = curve_figure(wide).axes
    for line, band, name in zip(
        axes.lines, axes.collections, ("test_error", "train_error", "estimation_error"), strict=True
    ):
        values, error = np.array([getattr(one, name) for one in wide]), wide[0].errors[name]
        np.testing.assert_allclose(line.get_xydata(), np.transpose([[0.5, 1.0, 2.0], values]))
        (path,) = band.get_paths()
        corners = {(x, y) for x, y in np.round(path.vertices, 12).tolist()}
        for alpha, value in zip((0.5, 1.0, 2.0), values, strict=True):
            assert {(alpha, round(value - error, 12)), (alpha, round(value + error, 12))} <= corners
