"""Error bars: of closed channels against proven digits, where large terms cancel too; of others
against solving again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
from exact_problems import exact

from numeric.channel.averages import Averages
from numeric.channel.closed import ClosedRule
from numeric.maths.replicates import half_width
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import QUANTITIES
from numeric.proven_saddle.proven_point import proven_point
from numeric.saddle.equations import SaddleMap
from numeric.saddle.error_bars import error_bars, linear_response
from numeric.saddle.solve import solve
from numeric.saddle.unknowns.coordinates import Logarithms

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("alpha", "decay", "noise"),
    [
        (1, Fraction(1, 20), HALF),
        (4, Fraction(1, 10**4), Fraction(1, 10**6)),
        (10, Fraction(1, 10**6), Fraction(1, 10**7)),
    ],
    ids=["large errors", "small errors", "tiny errors"],
)
@pytest.mark.parametrize(
    "model", ["quadratic_network", "linear_attention", "signed_quadratic_network"]
)
def test_bars_hold_the_proven_value_of_every_quantity(model, alpha, decay, noise):
    """The sixth digit of ||S - S0||^2/d = 7e-10 is rounding, as is the eighth of qh: bars once
    claimed twelve and nine digits.
    """
    problem = exact(model, Fraction(alpha), HALF, decay, noise)
    digits, found = proven_point(problem, 25).values, solve(problem.rounded).unwrap()
    for name in QUANTITIES:
        value, bar = getattr(found, name), found.errors[name]
        assert abs(value - float(digits[name])) <= bar, name
        assert bar <= 0.1 * abs(value), name  # what is claimed is still worth something


PROBLEM = exact("quadratic_network", Fraction(1), HALF, Fraction(1, 20), HALF).rounded
AVERAGES = Averages._fields[:6]  # those of a channel without antisymmetric part and features


@dataclass(frozen=True)
class Off:
    """The closed channel with relative errors of its averages in each replicate, shape (replicates,
    averages).
    """

    errors: tuple[tuple[float, ...], ...]
    independent: bool
    roughness: float = 1e-9

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Off by the errors."""
        exact = np.array(ClosedRule().average(overlaps, problem)[:6])
        nothing = np.zeros(len(self.errors))
        return Averages(
            *exact * (1 + np.array(self.errors).T),
            *(nothing, nothing, np.zeros((len(nothing), 0)), nothing, nothing),
        )


def at_root(errors: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Unknowns and quantities where the channel has these errors."""
    saddle, start = SaddleMap(PROBLEM, Off((errors,), True)), solve(PROBLEM).conjugates.pack()
    root = scipy.optimize.root(lambda x: saddle(x) - x, start, tol=1e-13).x
    at = saddle.denoised(root)
    return root, saddle.quantities(at, saddle.averages(at))[0]


def bars_of(
    errors: Sequence[tuple[float, ...]], coarser: tuple[float, ...], independent: bool
) -> np.ndarray:
    """Those of `error_bars`, at the root of the mean."""
    saddle, rough = (
        SaddleMap(PROBLEM, Off(tuple(rows), independent)) for rows in (errors, [coarser])
    )
    root, _ = at_root(tuple(np.mean(errors, axis=0)))
    at, unknowns = saddle.denoised(root), Logarithms(PROBLEM)
    response = linear_response(saddle, unknowns, root)
    return error_bars(saddle, unknowns, root, at, saddle.averages(at), rough.averages(at), response)


@pytest.mark.parametrize("place", range(6), ids=AVERAGES)
def test_the_bar_of_one_wrong_average_is_what_its_error_moves(place):
    """Solved again with it: linear response is right to the size of the error, and differences to
    that of their step.
    """
    wrong = tuple(1e-6 * (place == k) for k in range(6))
    moved = np.abs(at_root(wrong)[1] - at_root((0.0,) * 6)[1])
    if AVERAGES[place] == "train_error":  # of M the two parts change, and cancel
        moved[QUANTITIES.index("free_entropy")] = (
            2 * PROBLEM.alpha * 1e-6 * solve(PROBLEM).train_error
        )
    assert bars_of([(0.0,) * 6], wrong, False) == pytest.approx(moved, rel=1e-4, abs=1e-11)


def test_bars_of_replicates_are_those_of_the_solutions_of_each():
    """And what the mean of a coarser rule moves beside them, with its sign."""
    rows = 1e-6 * np.random.default_rng(1).standard_normal((8, 6))
    runs = np.array([at_root(tuple(row))[1] for row in rows])
    coarser = tuple(1e-6 * k for k in (1.0, -2.0, 3.0, -1.0, 2.0, -3.0))
    moved = np.abs(at_root(coarser)[1] - at_root(tuple(rows.mean(axis=0)))[1])
    assert bars_of(list(map(tuple, rows)), coarser, True) == pytest.approx(
        half_width(runs) + moved, rel=1e-4, abs=1e-11
    )
