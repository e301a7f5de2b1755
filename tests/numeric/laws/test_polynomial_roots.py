"""Roots of polynomials that are made of them: to rounding where they are simple, together where
they are double.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import polynomial_roots


def with_roots(*roots: Fraction) -> list[float]:
    """Coefficients of the product of all g - root, highest power first, each rounded once."""
    product: Sequence[Fraction] = [Fraction(1)]
    for root in roots:
        product = [
            here - root * before
            for here, before in zip([*product, Fraction(0)], [Fraction(0), *product], strict=True)
        ]
    return [float(coefficient) for coefficient in product]


def test_roots_of_other_sizes_are_known_to_rounding():
    """Those of the companion matrix are off by some ten roundings.

    Here one of a coefficient moves a root by hardly more than one.
    """
    roots = [Fraction(-(10**5)), Fraction(1, 10**9), Fraction(3), Fraction(10**12)]
    found = polynomial_roots(np.array([with_roots(*roots), with_roots(*(-root for root in roots))]))
    assert not np.any(found.imag)
    expected = np.array([float(root) for root in roots])
    for row, sign in zip(found.real, (1, -1), strict=True):
        assert np.sort(sign * row) == pytest.approx(expected, rel=4 * np.finfo(float).eps, abs=0)


@pytest.mark.parametrize("double", [Fraction(283, 410), Fraction(197, 31), Fraction(1)])
def test_a_double_root_is_not_driven_apart(double):
    """An edge of the support: value and slope are rounding there, and a step by their ratio leads
    up to a tenth away.
    """
    roots = polynomial_roots(np.array([with_roots(double, double, 41 * double)]))[0]
    distances = np.sort(abs(roots / float(double) - 1))
    assert distances[1] < 1e-6  # the root of some ten roundings
    assert distances[2] == pytest.approx(40, rel=1e-14)
