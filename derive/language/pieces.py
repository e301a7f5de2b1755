"""Functions with kinks and jumps, written with signs: |x| = x sign(x), max(a, b), and Piecewise.

The rest of the derivation knows one function with a jump, `Sign`. Its derivative is 0, so that
slopes are those within a piece.
"""

from functools import reduce
from itertools import product

import sympy as sp

from derive.language.elementary import Sign
from derive.language.errors import ModelError


def in_signs(what: str, expression: sp.Expr) -> sp.Expr:
    """Return an expression with Abs, Max, Min, Heaviside, sign and Piecewise written with Sign.

    Args:
        what: name of the expression, for the error message.
        expression: the expression.

    Raises:
        ModelError: a Piecewise has no last case.
    """
    if not expression.has(sp.Abs, sp.Max, sp.Min, sp.sign, sp.Heaviside, sp.Piecewise, Sign):
        return expression
    for piecewise in expression.atoms(sp.Piecewise):
        _require_last_case(what, piecewise)
    found = (
        expression.replace(sp.Piecewise, lambda *cases: _of_cases(cases))
        .replace(sp.Abs, lambda x: x * Sign(x))
        .replace(sp.sign, Sign)
        .replace(sp.Heaviside, lambda x, *_: _step(x))
        .replace(sp.Max, lambda *values: reduce(lambda a, b: _larger(a, b, 1), values))
        .replace(sp.Min, lambda *values: reduce(lambda a, b: _larger(a, b, -1), values))
    )
    return _unnested(found).replace(
        lambda one: one.is_Pow and isinstance(one.base, Sign) and one.exp.is_Integer,
        lambda power: power.base if power.exp % 2 else sp.Integer(1),
    )


def _unnested(expression: sp.Expr) -> sp.Expr:
    """Return the expression without signs inside signs, as in sign(1 - |x|)."""
    while nested := [one for one in signs_of(expression) if one.args[0].has(Sign)]:
        outer = nested[0]
        (inner, *_) = (one for one in signs_of(outer.args[0]) if not one.args[0].has(Sign))
        sides = (
            (1 + side * inner) / 2 * outer.xreplace({inner: sp.Integer(side)}) for side in (1, -1)
        )
        expression = expression.xreplace({outer: sp.Add(*sides)})
    return expression


def signs_of(*expressions: sp.Basic) -> tuple[Sign, ...]:
    """Return the signs that expressions contain, sorted by their text."""
    return tuple(sorted(sp.Tuple(*expressions).atoms(Sign), key=str))


def pieces(expression: sp.Basic) -> list[tuple[dict[Sign, sp.Integer], sp.Basic]]:
    """Return the expression on each piece, with the values of the signs there."""
    signs = signs_of(expression)
    found = []
    for values in product((sp.Integer(-1), sp.Integer(1)), repeat=len(signs)):
        known = dict(zip(signs, values, strict=True))
        found.append((known, expression.xreplace(known)))
    return found


def _step(x: sp.Expr) -> sp.Expr:
    return (1 + Sign(x)) / 2


def _larger(a: sp.Expr, b: sp.Expr, side: int) -> sp.Expr:
    """Return the larger of two numbers (side 1), or the smaller one (side -1)."""
    return (a + b + side * (a - b) * Sign(a - b)) / 2


def _of_cases(cases: tuple[sp.Tuple, ...]) -> sp.Expr:
    """Return the sum of the cases of a Piecewise, each times 1 where it applies."""
    total, rest = sp.Integer(0), sp.Integer(1)
    for value, condition in cases:
        total += value * rest * _indicator(condition)
        rest *= 1 - _indicator(condition)
    return total


def _indicator(condition: sp.Basic) -> sp.Expr:
    if condition in (True, sp.true):
        return sp.Integer(1)
    if isinstance(condition, sp.And):
        return sp.Mul(*map(_indicator, condition.args))
    if isinstance(condition, sp.Or):
        return 1 - sp.Mul(*(1 - _indicator(one) for one in condition.args))
    if isinstance(condition, sp.Not):
        return 1 - _indicator(condition.args[0])
    if isinstance(condition, sp.Gt | sp.Ge):
        return _step(condition.lhs - condition.rhs)
    if isinstance(condition, sp.Lt | sp.Le):
        return _step(condition.rhs - condition.lhs)
    raise ModelError(
        f"Piecewise: condition {condition} is not a comparison; write it with <, <=, > or >="
    )


def _require_last_case(what: str, piecewise: sp.Piecewise) -> None:
    if piecewise.args[-1][1] != sp.true:
        raise ModelError(
            f"{what}: Piecewise has no last case, and no value where none of its conditions "
            "holds; end it with (value, True)"
        )
