"""mpmath module: functions `f(mp, ...)` of an explicit context, never of global precision."""

from derive.code.printers.python import Language, functions_text, module_text
from derive.language.step import Step

LANGUAGE = Language("multiprecision", leading=("mp",))

PRELUDE = '"""{title}: generated functions of mpmath numbers; `mp` is the context that fixes the precision."""\n'


def module(title: str, steps: tuple[Step, ...], imports: str = "") -> str:
    """Source of the multiprecision module; `imports` bring in functions of other modules."""
    return module_text(
        PRELUDE.format(title=title), functions_text(steps, LANGUAGE), LANGUAGE, imports
    )
