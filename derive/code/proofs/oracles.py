"""Oracles: values with 50 digits of every equation at three reference points, evaluated by SymPy
from the source expressions.
"""

from collections.abc import Iterable
from typing import TypedDict

import sympy as sp

from derive.language.elementary import expand_custom_functions
from derive.language.setting import notation_of
from derive.language.step import Function, Step
from derive.pipeline import functions

DIGITS = 50
_WORKING = DIGITS + 30  # closed forms lose at most a few digits at the reference points
POINTS = 3


class Oracle(TypedDict):
    """Stored value: exact inputs by name, and the value of an equation there as decimal text."""

    inputs: dict[str, str]
    value: str


def sample(function: Function, point: int) -> list[sp.Expr]:
    """Return the exact inputs of a function at a reference point.

    Args:
        function: the function.
        point: index of the reference point.
    """
    return list(reference(function.inputs, point).values())


def reference(symbols: Iterable[sp.Symbol], point: int) -> dict[sp.Symbol, sp.Expr]:
    """Return the exact values of symbols at a reference point.

    Args:
        symbols: the symbols.
        point: index of the reference point.
    """
    return {symbol: notation_of(symbol).samples[point] for symbol in symbols}


def evaluate(expression: sp.Expr, values: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Return the numerical value of an expression, with 80 digits.

    Args:
        expression: the expression.
        values: value of each symbol.
    """
    exact = expand_custom_functions(expression.xreplace(values), lambda w: w.evalf(_WORKING))
    return sp.N(exact, _WORKING)


def table(steps: tuple[Step, ...]) -> dict[str, list[Oracle]]:
    """Return the oracles of each equation."""
    result: dict[str, list[Oracle]] = {}
    for _, function in functions(steps):
        points = [reference(function.inputs, point) for point in range(POINTS)]
        named = [{str(symbol): str(x) for symbol, x in values.items()} for values in points]
        for identifier, output in zip(function.equation_ids(), function.outputs, strict=True):
            exact = (sp.N(evaluate(output.expression, values), DIGITS) for values in points)
            texts = (sp.printing.sstr(value, full_prec=False) for value in exact)
            result[identifier] = [
                {"inputs": inputs, "value": text} for inputs, text in zip(named, texts, strict=True)
            ]
    return result
