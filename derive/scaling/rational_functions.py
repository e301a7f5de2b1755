"""Rational functions of gamma as quotients of FLINT polynomials, which are exact and fast."""

from collections.abc import Iterable
from functools import lru_cache
from math import gcd

import sympy as sp
from flint import fmpq, fmpq_poly, fmpz_poly

Row = tuple[fmpq_poly, ...]


def over_common_denominator(values: Iterable[sp.Expr], gamma: sp.Symbol) -> tuple[Row, fmpq_poly]:
    """Return the numerators of rational functions of gamma, and their common denominator.

    Args:
        values: the rational functions.
        gamma: the variable.
    """
    quotients, common = [_quotient(value, gamma) for value in values], fmpq_poly([1])
    for _, denominator in quotients:
        common = common * denominator // common.gcd(denominator)
    return tuple(
        numerator * (common // denominator) for numerator, denominator in quotients
    ), common


@lru_cache(maxsize=4096)
def _quotient(value: sp.Expr, gamma: sp.Symbol) -> tuple[fmpq_poly, fmpq_poly]:
    """Return numerator and denominator in lowest terms."""
    element = sp.QQ.frac_field(gamma).from_sympy(value)
    numerator, denominator = (
        fmpq_poly([fmpq(int(c.numerator), int(c.denominator)) for c in reversed(side.to_dense())])
        for side in (element.numer, element.denom)
    )
    return numerator, denominator


Integers = tuple[int, ...]  #: coefficients of a polynomial, lowest first


def integers(polynomial: fmpz_poly) -> Integers:
    """Return the coefficients of a FLINT polynomial, which has no hash, as a key for caches."""
    return tuple(map(int, polynomial.coeffs()))


def in_lowest_terms(numerator: fmpq_poly, denominator: fmpq_poly, gamma: sp.Symbol) -> sp.Expr:
    """Return the quotient as an expression whose coefficients are coprime integers.

    Args:
        numerator: numerator.
        denominator: denominator.
        gamma: the variable.
    """
    common = numerator.gcd(denominator)
    above, below = numerator // common, denominator // common
    sides = above.numer() * below.denom(), below.numer() * above.denom()
    return _expression(*map(integers, sides), gamma)


@lru_cache(maxsize=4096)
def _expression(numerator: Integers, denominator: Integers, gamma: sp.Symbol) -> sp.Expr:
    factor = gcd(*numerator, *denominator) * (1 if denominator[-1] > 0 else -1)
    above, below = (
        sum(c // factor * gamma**k for k, c in enumerate(side)) for side in (numerator, denominator)
    )
    return sp.sympify(above) / below
