"""Languages of generated code: names of elementary functions, and the head of a module."""

from dataclasses import dataclass

from derive.language import elementary


@dataclass(frozen=True)
class Language:
    """Column of the table of elementary functions, with the head of its modules.

    Attributes:
        name: name of the column.
        prelude: text before the generated functions; "{title}" is the title of the model.
        leading: arguments of every generated function before its inputs.
        has_error_bounds: True if functions that cancel get a bound on their rounding error.
        number: format of a constant that is divided, or is the argument of a function.
    """

    name: str
    prelude: str
    leading: tuple[str, ...] = ()
    has_error_bounds: bool = False
    number: str = "{}"

    def call(self, function: str, argument: str) -> str:
        """Return the call of an elementary function.

        Args:
            function: name of the function in the table.
            argument: source of its argument.
        """
        code = elementary.BY_NAME[function].code(self.name)
        if code is None:
            raise TypeError(f"{self.name} has no {function}")
        return f"{code.name}({', '.join((*(self.leading if code.definition else ()), argument))})"


FLOAT64 = Language(
    "float64",
    '''"""{title}: generated functions of float64 scalars or arrays."""

import numpy as np

# Relative rounding error of one complex operation: 8 units, more than of a division by Smith's
# method.
ROUNDING = 2.0**-50
''',
    has_error_bounds=True,
    number="np.float64({})",
)
BALLS = Language(
    "balls",
    '''"""{title}: generated functions of python-flint balls.

A result encloses the values at all points of the inputs.
"""

from flint import acb, arb

I = acb(0, 1)
''',
    number="arb({})",
)
MULTIPRECISION = Language(
    "multiprecision",
    '"""{title}: generated functions of mpmath numbers; the context `mp` sets the precision."""\n',
    leading=("mp",),
    number="mp.mpf({})",
)
TORCH_IMPORT = "\nimport torch\n"
TORCH = Language(
    "torch",
    '"""{title}: label, loss and gradient of samples, as generated functions of '
    f'tensors."""\n{TORCH_IMPORT}',
    number="torch.as_tensor({}, dtype=torch.float64)",
)
