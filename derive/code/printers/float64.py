"""NumPy float64 module: functions of scalars or arrays, also compilable with numba."""

from derive.code.expression.rounding import error_bound
from derive.code.expression.tree import Name, Quotient, lower
from derive.code.printers.python import definition, function_text
from derive.language.step import Function, Step

NAMES = {
    "pi": "np.pi",
    "sqrt": "np.sqrt(",
    "tanh": "np.tanh(",
    "sin": "np.sin(",
    "cos": "np.cos(",
    "imaginary_part": "np.imag(",
    "angle_below": "angle_below(",
    "angle_above": "angle_above(",
    "absolute": "np.abs(",
}

PRELUDE = '''"""{title}: generated functions of float64 scalars or arrays."""

import numpy as np

# Rounding of one complex operation: eight units, more than that of a division by Smith's method.
ROUNDING = 2.0**-50


def angle_below(w):
    """Return arg w in [-pi, 0] of w in the closed lower half-plane."""
    return -np.arctan2(np.abs(np.imag(w)), np.real(w))


def angle_above(w):
    """Return arg w in [0, pi] of w in the closed upper half-plane."""
    return np.arctan2(np.abs(np.imag(w)), np.real(w))
'''


def error_text(function: Function) -> str:
    """Source of the bound on the rounding error of a function of one value."""
    (output,) = function.outputs
    bound = Quotient((Name("ROUNDING"), error_bound(lower(output.expression))), ())
    arguments = tuple(str(symbol) for symbol in function.inputs)
    returns = f"Returns {function.name}_error; first order in the unit roundoff, arguments taken as exact."
    return definition(
        f"{function.name}_error", arguments, f"bound on the rounding error of {function.name}", returns, (bound,), NAMES
    )


def module(title: str, steps: tuple[Step, ...]) -> str:
    """Source of the float64 module."""
    parts = [PRELUDE.format(title=title)]
    for step in steps:
        for function in step.functions:
            parts.append(function_text(function, step.name, NAMES, ()))
            if function.cancels:
                parts.append(error_text(function))
    return "\n\n".join(parts)
