"""Timings of proven thresholds against their targets, and against direct quadrature of the density,
as ratios in one run.

Run: python -m benchmarks.digits.thresholds
    # prints a table; about two minutes, most of them the direct quadrature
"""

import time
from fractions import Fraction

from benchmarks.timing import Case, command, report
from numeric.proven_laws.finite import exact_list
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery
from tests.oracles.interpolation_by_quadrature import interpolation_by_quadrature

HALF, NOISE, WEAK = Fraction(1, 2), Fraction(1), Fraction(2, 10**5)
QUADRATURE_DIGITS = 50


def atoms(count: int):
    """Equally spaced eigenvalues of equal weight."""
    return exact_list([Fraction(k, count) for k in range(count)], [Fraction(1, count)] * count)


def narrow(digits: int, noise: Fraction = Fraction(1, 5), width: Fraction = Fraction(3, 10)):
    """Interpolation with all roots, kappa0 = 1/5."""
    return interpolation(exact_marchenko_pastur(Fraction(1, 5)), noise, 2, digits, width)


THRESHOLD = ("threshold", "interpolation", "--kappa0", "1/2", "--noise", "1", "--digits")
CASES = (
    Case("interpolation, 50 digits, start to exit", lambda: command(*THRESHOLD, "50"), 9, 0.5),
    Case(
        "interpolation, 100 digits",
        lambda: interpolation(exact_marchenko_pastur(HALF), NOISE, 2, 100),
        9,
        0.02,
    ),
    Case(
        "interpolation, 1000 digits",
        lambda: interpolation(exact_marchenko_pastur(HALF), NOISE, 2, 1000),
        9,
        0.05,
    ),
    Case(
        "interpolation, 10000 digits",
        lambda: interpolation(exact_marchenko_pastur(HALF), NOISE, 2, 10_000),
        5,
        1.0,
    ),
    Case("width 3/10, 100 digits, with completeness", lambda: narrow(100), 5, 0.2),
    Case(
        "width 1/4, Delta = 2e-5: three roots, completeness",
        lambda: narrow(100, WEAK, Fraction(1, 4)),
        1,
        2.0,
    ),
    Case("100 eigenvalues, 50 digits", lambda: interpolation(atoms(100), NOISE, 2, 50), 5, 0.5),
    Case("1000 eigenvalues, 50 digits", lambda: interpolation(atoms(1000), NOISE, 2, 50), 3, 3.0),
    Case("recovery, 1000 digits", lambda: recovery(exact_marchenko_pastur(HALF), 2, 1000), 9, 0.01),
)


def against_quadrature() -> None:
    """Print how many times faster the proven route is than mpmath quadrature of the density, at the
    same digits.
    """
    started = time.perf_counter()
    direct = interpolation_by_quadrature(Fraction(1, 2), NOISE, 2, QUADRATURE_DIGITS)
    slow = time.perf_counter() - started
    started = time.perf_counter()
    proven = interpolation(exact_marchenko_pastur(HALF), NOISE, 2, QUADRATURE_DIGITS)
    fast = time.perf_counter() - started
    same = abs(Fraction(str(direct)) - Fraction(proven.value)) < Fraction(
        1, 10 ** (QUADRATURE_DIGITS - 1)
    )
    print(
        f"direct quadrature, {QUADRATURE_DIGITS} digits: {slow:.1f} s, {slow / fast:.0f} times "
        f"slower; same digits: {same}"
    )


if __name__ == "__main__":
    report(CASES)
    against_quadrature()
