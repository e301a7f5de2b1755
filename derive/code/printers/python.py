"""Python text of a tree, shared by all printers of code; only the names of functions differ."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from derive.code.expression.tree import (
    PI,
    Call,
    Integer,
    Name,
    Node,
    Power,
    Quotient,
    Sum,
    lower,
    share_subexpressions,
)
from derive.language import elementary
from derive.language.step import Function, Step

_SUM, _PRODUCT, _POWER, _ATOM = range(4)


@dataclass(frozen=True)
class Language:
    """One column of the table of elementary functions; `leading` arguments come before those of every generated function."""

    name: str
    leading: tuple[str, ...] = ()

    def opening(self, function: str) -> str:
        """Text of a call up to its argument."""
        code = elementary.BY_NAME[function].code(self.name)
        if code is None:
            raise TypeError(f"{self.name} has no {function}")
        return f"{code.name}(" + "".join(
            f"{argument}, " for argument in self.leading if code.definition
        )

    def definitions(self, calls: str) -> tuple[str, ...]:
        """Source of the elementary functions that the language lacks and this source calls."""
        codes = (entry.code(self.name) for entry in elementary.TABLE)
        return tuple(
            _elementary_text(code.name, code.definition, self.leading)
            for code in codes
            if code and code.definition and re.search(rf"(?<![\w.]){code.name}\(", calls)
        )


def _elementary_text(name: str, definition: elementary.Definition, leading: tuple[str, ...]) -> str:
    arguments = ", ".join((*leading, definition.argument))
    return f'def {name}({arguments}):\n    """Return {definition.meaning}."""\n    return {definition.body}\n'


def render(node: Node, language: Language) -> str:
    """Python expression of `node`."""
    return _render(node, language)[0]


def _render(node: Node, language: Language) -> tuple[str, int]:
    match node:
        case Integer(value):
            return str(value), _ATOM
        case Name(name):
            return (elementary.PI[language.name] if node == PI else name), _ATOM
        case Call(function, argument):
            return f"{language.opening(function)}{_render(argument, language)[0]})", _ATOM
        case Power(base, exponent):
            return f"{_bracket(base, language, _ATOM)}**{exponent}", _POWER
        case Quotient(numerator, denominator):
            top = "*".join(_bracket(factor, language, _POWER) for factor in numerator)
            if not denominator:
                return top, _PRODUCT
            bottom = "*".join(_bracket(factor, language, _POWER) for factor in denominator)
            return (f"{top}/({bottom})" if len(denominator) > 1 else f"{top}/{bottom}"), _PRODUCT
        case Sum(terms):
            text = ""
            for sign, term in terms:
                text += (" - " if sign < 0 else " + ") + _bracket(term, language, _PRODUCT)
            return ("-" + text[3:] if terms[0][0] < 0 else text[3:]), _SUM
    raise TypeError(f"unknown node {node!r}")


def _bracket(node: Node, language: Language, at_least: int) -> str:
    text, level = _render(node, language)
    return text if level >= at_least else f"({text})"


def module_text(prelude: str, texts: Iterable[str], language: Language, imports: str = "") -> str:
    """Source of a module: its head, the elementary functions that it calls and the language lacks, the generated functions."""
    functions = tuple(texts)
    return "\n\n".join(
        (
            f"{prelude}\n{imports}" if imports else prelude,
            *language.definitions("\n".join(functions)),
            *functions,
        )
    )


def functions_text(steps: tuple[Step, ...], language: Language) -> Iterable[str]:
    """Source of every generated function of a derivation, in order."""
    return (
        function_text(function, step.name, language)
        for step in steps
        for function in step.functions
    )


def function_text(function: Function, step: str, language: Language) -> str:
    """Source of one generated function."""
    trees = tuple(lower(output.expression) for output in function.outputs)
    returned = ", ".join(output.name for output in function.outputs)
    arguments = tuple(str(symbol) for symbol in function.inputs)
    return definition(
        function.name,
        arguments,
        function.meaning,
        f"Returns {returned}; derivation step: {step}.",
        trees,
        language,
    )


def definition(
    name: str,
    arguments: tuple[str, ...],
    meaning: str,
    returns: str,
    trees: tuple[Node, ...],
    language: Language,
) -> str:
    """Source of a function that returns the values of `trees`, common subexpressions computed once."""
    temporaries, outputs = share_subexpressions(trees)
    lines = [
        f"def {name}({', '.join((*language.leading, *arguments))}):",
        f'    """{meaning}.',
        "",
        f"    {returns}",
        '    """',
    ]
    lines += [f"    {temporary} = {render(node, language)}" for temporary, node in temporaries]
    lines.append("    return " + ", ".join(render(node, language) for node in outputs))
    return "\n".join(lines) + "\n"
