"""Translation validation: generated code evaluated on SymPy symbols returns its source
expressions.
"""

from functools import cache, partial
from types import ModuleType, SimpleNamespace
from typing import Any

import sympy as sp

from derive.code.printers.languages import Language
from derive.code.proofs.generated_module import load
from derive.language import elementary
from derive.language.step import Step
from derive.pipeline import functions


def symbolic_module(source: str, language: Language) -> tuple[ModuleType, tuple[object, ...]]:
    """Load generated code with the elementary functions of SymPy.

    Args:
        source: source of the module.
        language: language of the module.

    Returns:
        The module, and the arguments that its functions take before the inputs.
    """
    module, library = load(source), _Library()
    for entry in elementary.TABLE:
        if code := entry.code(language.name):
            *prefix, name = code.name.split(".")
            skipped = len(language.leading) if code.definition else 0
            setattr(library if prefix else module, name, partial(_symbolic, entry, skipped))
    owner, pi = elementary.PI[language.name].split(".")
    library.pi = (lambda: sp.pi) if pi.endswith("()") else sp.pi
    setattr(module, owner, library)
    return module, (library,) * len(language.leading)


class _Library(SimpleNamespace):
    """Library of a language, with constants as exact numbers."""

    def __call__(self, number: Any, dtype: object = None) -> sp.Expr:
        return sp.Rational(number) if isinstance(number, float) else sp.sympify(number)

    mpf = float64 = as_tensor = __call__


def _symbolic(entry: elementary.Elementary, skipped: int, *arguments: Any) -> sp.Expr:
    return entry.symbolic(*arguments[skipped:])


def is_equal(left: sp.Expr, right: sp.Expr) -> bool:
    """Return whether two expressions are equal, after expansion if their structures differ.

    Args:
        left: first expression.
        right: second expression.
    """
    return (
        left == right
        or sp.expand(left) == sp.expand(right)
        or sp.cancel(sp.together(sp.expand(left - right))) == 0
    )


@cache
def wrong_translations(source: str, language: Language, steps: tuple[Step, ...]) -> tuple[str, ...]:
    """Return the identifiers of the equations whose generated code differs from their source.

    Args:
        source: source of the generated module.
        language: language of the module.
        steps: steps of the derivation.
    """
    module, leading = symbolic_module(source, language)
    wrong = []
    for _, function in functions(steps):
        values = getattr(module, function.name)(*leading, *function.inputs)
        values = values if isinstance(values, tuple) else (values,)
        for identifier, output, value in zip(
            function.equation_ids(), function.outputs, values, strict=True
        ):
            if not is_equal(sp.sympify(value, rational=True), output.expression):
                wrong.append(identifier)
    return tuple(wrong)
