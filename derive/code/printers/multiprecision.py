"""mpmath module: functions `f(mp, ...)` of an explicit context, never of global precision."""

from derive.code.printers.python import function_text
from derive.language.step import Step

NAMES = {
    "pi": "mp.pi",
    "sqrt": "mp.sqrt(",
    "tanh": "mp.tanh(",
    "sin": "mp.sin(",
    "cos": "mp.cos(",
    "imaginary_part": "mp.im(",
    "angle_below": "angle_below(mp, ",
    "angle_above": "angle_above(mp, ",
}

PRELUDE = '''"""{title}: generated functions of mpmath numbers; `mp` is the context that fixes the precision."""


def angle_below(mp, w):
    """Return arg w in [-pi, 0] of w in the closed lower half-plane."""
    return -mp.atan2(abs(mp.im(w)), mp.re(w))


def angle_above(mp, w):
    """Return arg w in [0, pi] of w in the closed upper half-plane."""
    return mp.atan2(abs(mp.im(w)), mp.re(w))
'''


def module(title: str, steps: tuple[Step, ...]) -> str:
    """Source of the multiprecision module."""
    parts = [PRELUDE.format(title=title)]
    parts += [function_text(function, step.name, NAMES, ("mp",)) for step in steps for function in step.functions]
    return "\n\n".join(parts)
