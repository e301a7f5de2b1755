"""Translation validation: generated code run on SymPy symbols gives back the expressions it was generated from."""

from functools import cache
from types import ModuleType, SimpleNamespace

import sympy as sp

from derive.code.printers.python import Language
from derive.code.proofs.generated_module import load
from derive.language import elementary
from derive.language.step import Step
from derive.pipeline import functions


def symbolic_module(source: str, language: Language) -> tuple[ModuleType, tuple[object, ...]]:
    """The generated module with its elementary functions replaced by SymPy's, and the arguments before the inputs."""
    module, library = load(source), SimpleNamespace()
    for entry in elementary.TABLE:
        if (code := entry.code(language.name)) is None:
            continue
        *of_library, name = code.name.split(".")
        skipped = len(language.leading) if code.definition else 0
        setattr(
            library if of_library else module,
            name,
            lambda *arguments, skipped=skipped, entry=entry: entry.symbolic(*arguments[skipped:]),
        )
    owner, pi = elementary.PI[language.name].split(".")
    library.pi = (lambda: sp.pi) if pi.endswith("()") else sp.pi
    setattr(module, owner, library)
    return module, (library,) * len(language.leading)


def is_equal(left: sp.Expr, right: sp.Expr) -> bool:
    """Exact equality, after expansion where the structures differ."""
    return (
        left == right
        or sp.expand(left) == sp.expand(right)
        or sp.cancel(sp.together(sp.expand(left - right))) == 0
    )


@cache
def wrong_translations(source: str, language: Language, steps: tuple[Step, ...]) -> tuple[str, ...]:
    """Identifiers of the equations whose generated code in the source of a module is not their source expression."""
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
