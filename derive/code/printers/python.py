"""Python source of a derivation, in each language of generated code."""

import re
from collections.abc import Iterator

from derive.code.expression.rounding import error_bound
from derive.code.expression.tree import (
    PI,
    Call,
    Integer,
    Name,
    Node,
    Power,
    Quotient,
    Sum,
    is_number,
    lower,
    share_subexpressions,
)
from derive.code.printers.languages import Language
from derive.language import elementary
from derive.language.step import Function, Step

_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # precedence of an operator


def module(title: str, steps: tuple[Step, ...], language: Language, imports: str = "") -> str:
    """Return the source of a module with all functions of the steps.

    It defines the elementary functions that it calls and the language lacks.

    Args:
        title: title of the model.
        steps: steps of the derivation.
        language: language of the code.
        imports: source that imports functions of other modules.
    """
    functions = [
        text
        for step in steps
        for function in step.functions
        for text in _function_texts(function, step.name, language)
    ]
    calls, prelude = "\n".join(functions), language.prelude.format(title=title)
    definitions = []
    for entry in elementary.TABLE:
        code = entry.code(language.name)
        if code and code.definition and re.search(rf"(?<![\w.]){code.name}\(", calls):
            arguments = ", ".join((*language.leading, code.definition.argument))
            definitions.append(
                f'def {code.name}({arguments}):\n    """Return {code.definition.meaning}."""\n'
                f"    return {code.definition.body}\n"
            )
    head = f"{prelude}\n{imports}" if imports else prelude
    return "\n\n".join((head, *definitions, *functions))


def _function_texts(function: Function, step: str, language: Language) -> Iterator[str]:
    """Yield the source of a function, and that of the bound on its rounding error."""
    name, arguments = function.name, tuple(map(str, function.inputs))
    trees = tuple(lower(output.expression) for output in function.outputs)
    returned = ", ".join(output.name for output in function.outputs)
    returns = f"Returns {returned}; derivation step: {step}."
    yield _definition(name, arguments, f"{function.meaning}.\n\n    {returns}", trees, language)
    if language.has_error_bounds and function.cancels:
        (tree,) = trees
        bound = Quotient((Name("ROUNDING"), error_bound(tree)), ())
        meaning = f"bound on the rounding error of {name}"
        returns = (
            f"Returns {name}_error; to first order in the rounding error, for exact arguments."
        )
        yield _definition(
            f"{name}_error", arguments, f"{meaning}.\n\n    {returns}", (bound,), language
        )


def _definition(
    name: str,
    arguments: tuple[str, ...],
    docstring: str,
    trees: tuple[Node, ...],
    language: Language,
) -> str:
    """Return the source of a function of several values, with common subexpressions computed
    once.
    """
    temporaries, outputs = share_subexpressions(trees)
    return "\n".join(
        (
            f"def {name}({', '.join((*language.leading, *arguments))}):",
            f'    """{docstring}',
            '    """',
            *(f"    {temporary} = {render(node, language)}" for temporary, node in temporaries),
            f"    return {', '.join(render(node, language) for node in outputs)}\n",
        )
    )


def render(node: Node, language: Language) -> str:
    """Return a tree as a Python expression.

    Args:
        node: the tree.
        language: language of the code.
    """
    return _render(node, language)[0]


def _render(node: Node, language: Language) -> tuple[str, int]:
    match node:
        case Integer(value):
            return str(value), _ATOM
        case Name(name):
            return (elementary.PI[language.name] if node == PI else name), _ATOM
        case Call(function, argument):
            text = render(argument, language)
            if is_number(argument) and function != "sqrt":  # whose definitions take integers
                text = language.number.format(text)
            return language.call(function, text), _ATOM
        case Power(base, exponent):
            return f"{_bracket(base, language, _ATOM)}**{exponent}", _POWER
        case Quotient(numerator, denominator):
            top, bottom = (
                "*".join(_bracket(factor, language, _POWER) for factor in factors)
                for factors in (numerator, denominator)
            )
            if not denominator:
                return top, _PRODUCT
            if _is_rounded(numerator, denominator):
                top = language.number.format(top)  # Python would divide in float64
            return (f"{top}/({bottom})" if len(denominator) > 1 else f"{top}/{bottom}"), _PRODUCT
        case Sum(terms):
            text = ""
            for sign, term in terms:
                text += (" - " if sign < 0 else " + ") + _bracket(term, language, _PRODUCT)
            return ("-" + text[3:] if terms[0][0] < 0 else text[3:]), _SUM
    raise TypeError(f"unknown node {node!r}")


def _is_rounded(numerator: tuple[Node, ...], denominator: tuple[Node, ...]) -> bool:
    """Return whether a quotient is of integers, and not by a power of two: float64 rounds it."""
    values = [factor.value for factor in denominator if isinstance(factor, Integer)]
    only_integers = all(isinstance(factor, Integer) for factor in (*numerator, *denominator))
    return only_integers and any(value & (value - 1) for value in values)


def _bracket(node: Node, language: Language, lowest: int) -> str:
    """Return the source of a node, in brackets if its precedence is below `lowest`."""
    text, precedence = _render(node, language)
    return text if precedence >= lowest else f"({text})"
