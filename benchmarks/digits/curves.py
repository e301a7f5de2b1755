"""Timings of curve points with many digits against their targets.

Run: python -m benchmarks.digits.curves        (prints a table; a minute)
"""

from fractions import Fraction

from benchmarks.timing import Case, command, report
from numeric.proven_saddle.bounded_point import bounded_point
from numeric.proven_saddle.estimated_point import estimated_point
from numeric.proven_saddle.proven_point import proven_point
from tests.exact_problems import exact

HALF, DECAY, NONE, FEW = Fraction(1, 2), Fraction(1, 20), Fraction(0), Fraction(1, 10)
WHOLE = (
    *("curve", "--model", "quadratic_network", "--alpha", "1/2", "--kappa0", "1/2"),
    *("--lambda", "1/20", "--noise", "1/2", "--digits", "50"),
)
PAIR = exact("tied_attention", Fraction(1), HALF, Fraction(1, 5), HALF)
ENTROPY = exact("cross_attention_cross_entropy", Fraction(1), HALF, DECAY, HALF)


def proven(name: str, alpha: Fraction, decay: Fraction, digits: int = 50) -> None:
    """A point at kappa0 = Delta = 1/2; decay 0 stands for the limit."""
    proven_point(exact(name, alpha, HALF, decay, HALF), digits)


CASES = (
    Case("quadratic network, 50 digits", lambda: proven("quadratic_network", HALF, DECAY), 9, 0.5),
    Case(
        "quadratic network, 1000 digits",
        lambda: proven("quadratic_network", HALF, DECAY, 1000),
        5,
        0.5,
    ),
    Case("linear attention, 50 digits", lambda: proven("linear_attention", HALF, DECAY), 9, 0.5),
    Case(
        "signed quadratic network, 50 digits",
        lambda: proven("signed_quadratic_network", HALF, DECAY),
        9,
        0.5,
    ),
    Case(
        "tied attention, lambda -> 0, 50 digits",
        lambda: proven("tied_attention", FEW, NONE),
        9,
        0.5,
    ),
    Case(
        "cross attention, lambda -> 0, 50 digits",
        lambda: proven("cross_attention", FEW, NONE),
        9,
        0.5,
    ),
    Case("quadratic network, 50 digits, start to exit", lambda: command(*WHOLE), 5, 1.0),
    Case(
        "cross attention with cross-entropy, 12 digits",
        lambda: estimated_point(ENTROPY, 12),
        1,
        2.0,
    ),
    Case(
        "cross attention with cross-entropy, 30 digits",
        lambda: estimated_point(ENTROPY, 30),
        1,
        20.0,
    ),
    Case("tied attention, lambda = .2, 12 digits", lambda: bounded_point(PAIR, 12), 1, 20.0),
)

if __name__ == "__main__":
    report(CASES)
