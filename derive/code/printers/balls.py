"""Ball module: functions of python-flint `arb` and `acb` enclosures at the precision of `flint.ctx`."""

from derive.code.printers.python import function_text
from derive.language.step import Step

NAMES = {
    "pi": "arb.pi()",
    "sqrt": "sqrt(",
    "tanh": "tanh(",
    "sin": "sin(",
    "cos": "cos(",
    "imaginary_part": "imaginary_part(",
    "angle_below": "angle_below(",
    "angle_above": "angle_above(",
}

PRELUDE = '''"""{title}: generated functions of python-flint balls; every result encloses the value at every point of its inputs."""

from flint import acb, arb

I = acb(0, 1)


def sqrt(x):
    """Return the square root of a ball or an integer."""
    return arb(x).sqrt()


def tanh(x):
    """Return the hyperbolic tangent of a ball."""
    return x.tanh()


def sin(x):
    """Return the sine of a ball."""
    return x.sin()


def cos(x):
    """Return the cosine of a ball."""
    return x.cos()


def imaginary_part(w):
    """Return Im w."""
    return w.imag


def angle_below(w):
    """Return arg w in [-pi, 0] of w in the closed lower half-plane; i w is in the right half-plane, away from the cut."""
    return (I*w).arg() - arb.pi()/2


def angle_above(w):
    """Return arg w in [0, pi] of w in the closed upper half-plane; -i w is in the right half-plane, away from the cut."""
    return (-I*w).arg() + arb.pi()/2
'''


def module(title: str, steps: tuple[Step, ...]) -> str:
    """Source of the ball module."""
    parts = [PRELUDE.format(title=title)]
    parts += [function_text(function, step.name, NAMES, ()) for step in steps for function in step.functions]
    return "\n\n".join(parts)
