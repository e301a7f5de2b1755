"""Error bars of closed channels against proven digits: what rounding leaves, also where large terms cancel."""

from fractions import Fraction

import pytest
from exact_problems import exact

from numeric.problem.solution import QUANTITIES
from numeric.proven_saddle.proven_point import proven_point
from numeric.saddle.solve import solve

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
@pytest.mark.parametrize("model", ["quadratic_network", "linear_attention", "signed_quadratic_network"])
def test_bars_hold_the_proven_value_of_every_quantity(model, alpha, decay, noise):
    """The sixth digit of ||S - S0||^2/d = 7e-10 is rounding, as is the eighth of qh: bars once claimed twelve and nine digits."""
    problem = exact(model, Fraction(alpha), HALF, decay, noise)
    digits, found = proven_point(problem, 25).values, solve(problem.rounded).unwrap()
    for name in QUANTITIES:
        value, bar = getattr(found, name), found.errors[name]
        assert abs(value - float(digits[name])) <= bar, name
        assert bar <= 0.1 * abs(value), name  # what is claimed is still worth something
