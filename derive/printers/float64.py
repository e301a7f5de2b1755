"""NumPy float64 module: functions of scalars or arrays, also compilable with numba."""

from derive.derivation import Step
from derive.printers.python import function_text

NAMES = {
    "pi": "np.pi",
    "sqrt": "np.sqrt(",
    "tanh": "np.tanh(",
    "sin": "np.sin(",
    "cos": "np.cos(",
    "imaginary_part": "np.imag(",
    "angle_below": "angle_below(",
    "angle_above": "angle_above(",
}

PRELUDE = '''"""{title}: generated functions of float64 scalars or arrays."""

import numpy as np


def angle_below(w):
    """Return arg w in [-pi, 0] of w in the closed lower half-plane."""
    return -np.arctan2(np.abs(np.imag(w)), np.real(w))


def angle_above(w):
    """Return arg w in [0, pi] of w in the closed upper half-plane."""
    return np.arctan2(np.abs(np.imag(w)), np.real(w))
'''


def module(title: str, steps: tuple[Step, ...]) -> str:
    """Source of the float64 module."""
    parts = [PRELUDE.format(title=title)]
    parts += [function_text(function, step.name, NAMES, ()) for step in steps for function in step.functions]
    return "\n\n".join(parts)
