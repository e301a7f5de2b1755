"""Ball module: functions of python-flint `arb` and `acb` enclosures at the precision of `flint.ctx`."""

from derive.code.printers.python import Language, functions_text, module_text
from derive.language.step import Step

LANGUAGE = Language("balls")

PRELUDE = '''"""{title}: generated functions of python-flint balls; every result encloses the value at every point of its inputs."""

from flint import acb, arb

I = acb(0, 1)
'''


def module(title: str, steps: tuple[Step, ...], imports: str = "") -> str:
    """Source of the ball module; `imports` bring in functions of other modules."""
    return module_text(
        PRELUDE.format(title=title), functions_text(steps, LANGUAGE), LANGUAGE, imports
    )
