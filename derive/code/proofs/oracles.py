"""Oracles: 50-digit values of every equation at three in-domain points, evaluated by SymPy from the source expressions."""

from collections.abc import Iterable
from typing import TypedDict

import sympy as sp

from derive.language.elementary import expand_custom_functions
from derive.language.setting import notation_of
from derive.language.step import Function, Step
from derive.pipeline import functions

DIGITS = 50
_WORKING = (
    DIGITS + 30
)  # guard digits: the closed forms cancel by at most a few digits at the reference points
POINTS = 3


class Oracle(TypedDict):
    """One stored value: exact inputs by name, and the decimal text of what an equation gives there."""

    inputs: dict[str, str]
    value: str


def sample(function: Function, point: int) -> list[sp.Expr]:
    """Exact values of the inputs at reference point `point`."""
    return list(reference(function.inputs, point).values())


def reference(symbols: Iterable[sp.Symbol], point: int) -> dict[sp.Symbol, sp.Expr]:
    """Exact values of symbols at reference point `point`."""
    return {symbol: notation_of(symbol).samples[point] for symbol in symbols}


def evaluate(expression: sp.Expr, values: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Numerical value with the functions that SymPy does not know spelled out."""
    return sp.N(
        expand_custom_functions(expression.xreplace(values), lambda w: w.evalf(_WORKING)), _WORKING
    )


def table(steps: tuple[Step, ...]) -> dict[str, list[Oracle]]:
    """The values of each equation at the reference points."""
    result: dict[str, list[Oracle]] = {}
    for _, function in functions(steps):
        for identifier, output in zip(function.equation_ids(), function.outputs, strict=True):
            result[identifier] = []
            for point in range(POINTS):
                inputs = sample(function, point)
                value = evaluate(output.expression, dict(zip(function.inputs, inputs, strict=True)))
                named = {
                    str(symbol): str(exact)
                    for symbol, exact in zip(function.inputs, inputs, strict=True)
                }
                result[identifier].append(
                    {
                        "inputs": named,
                        "value": sp.printing.sstr(sp.N(value, DIGITS), full_prec=False),
                    }
                )
    return result
