"""Number D = T(T+1)/2 - 1 of independent real numbers in one label, the rank of the map from a
symmetric index to its softmax (theory note, section 1).
"""

import sympy as sp

from derive.language.notation import sym
from derive.language.step import Display, Step, require_zero, scalar

(T,) = sym("T")


def difference_map(tokens: int) -> sp.Matrix:
    """Return the matrix that maps the entries a <= b of the symmetric index to all differences h_ab
    - h_aa within rows.
    """
    pairs = [(a, c) for a in range(tokens) for c in range(a, tokens)]
    column = {pair: k for k, pair in enumerate(pairs)}
    rows = []
    for a in range(tokens):
        for c in range(tokens):
            if c != a:
                row = [0] * len(pairs)
                row[column[min(a, c), max(a, c)]] += 1
                row[column[a, a]] -= 1
                rows.append(row)
    return sp.Matrix(rows)


def label_numbers() -> sp.Expr:
    """Return D, the rank of the within-row differences of a symmetric T x T index.

    It is computed for T = 2, 3, 4 and interpolated, and checked at 5 and 6. A constant shift of all
    entries is the only direction that the rows do not depend on.
    """
    ranks = {tokens: difference_map(tokens).rank() for tokens in (2, 3, 4, 5, 6)}
    polynomial = sp.interpolate([(tokens, ranks[tokens]) for tokens in (2, 3, 4)], T)
    for tokens in (5, 6):
        require_zero(
            polynomial.subs(T, tokens) - ranks[tokens], f"numbers in a label of {tokens} tokens"
        )
    return sp.expand(polynomial)


def step() -> Step:
    """Return the step for D."""
    return Step(
        "label_numbers",
        "Numbers that one label carries",
        r"The softmax of a row shows differences within it. The differences of all rows "
        r"determine a symmetric $T\times T$ index "
        r"up to one additive constant.",
        (Display("D", label_numbers()),),
        (scalar("label_numbers", "numbers that one label carries", (T,), "D", label_numbers()),),
    )
