"""NumPy float64 module: functions of scalars or arrays, also compilable with numba."""

from collections.abc import Iterator

from derive.code.expression.rounding import error_bound
from derive.code.expression.tree import Name, Quotient, lower
from derive.code.printers.python import Language, definition, function_text, module_text
from derive.language.step import Function, Step

LANGUAGE = Language("float64")

PRELUDE = '''"""{title}: generated functions of float64 scalars or arrays."""

import numpy as np

# Rounding of one complex operation: eight units, more than that of a division by Smith's method.
ROUNDING = 2.0**-50
'''


def error_text(function: Function) -> str:
    """Source of the bound on the rounding error of a function of one value."""
    (output,) = function.outputs
    bound = Quotient((Name("ROUNDING"), error_bound(lower(output.expression))), ())
    arguments = tuple(str(symbol) for symbol in function.inputs)
    returns = f"Returns {function.name}_error; first order in the unit roundoff, arguments taken as exact."
    return definition(
        f"{function.name}_error",
        arguments,
        f"bound on the rounding error of {function.name}",
        returns,
        (bound,),
        LANGUAGE,
    )


def module(title: str, steps: tuple[Step, ...], imports: str = "") -> str:
    """Source of the float64 module: `imports`, every function, and the bound on its rounding error if it cancels."""
    return module_text(PRELUDE.format(title=title), _texts(steps), LANGUAGE, imports)


def _texts(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        for function in step.functions:
            yield function_text(function, step.name, LANGUAGE)
            if function.cancels:
                yield error_text(function)
