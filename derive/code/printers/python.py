"""Python text of a tree, shared by the float64 and the multiprecision printer; only the names of functions differ."""

from collections.abc import Mapping

from derive.code.expression.tree import PI, Call, Integer, Name, Node, Power, Quotient, Sum, lower, share_subexpressions
from derive.language.step import Function

_SUM, _PRODUCT, _POWER, _ATOM = range(4)


def render(node: Node, names: Mapping[str, str]) -> str:
    """Python expression of `node`; `names` maps pi, and each function to its opening text, bracket included."""
    return _render(node, names)[0]


def _render(node: Node, names: Mapping[str, str]) -> tuple[str, int]:
    match node:
        case Integer(value):
            return str(value), _ATOM
        case Name(name):
            return (names["pi"] if node == PI else name), _ATOM
        case Call(function, argument):
            return f"{names[function]}{_render(argument, names)[0]})", _ATOM
        case Power(base, exponent):
            return f"{_bracket(base, names, _ATOM)}**{exponent}", _POWER
        case Quotient(numerator, denominator):
            top = "*".join(_bracket(factor, names, _POWER) for factor in numerator)
            if not denominator:
                return top, _PRODUCT
            bottom = "*".join(_bracket(factor, names, _POWER) for factor in denominator)
            return (f"{top}/({bottom})" if len(denominator) > 1 else f"{top}/{bottom}"), _PRODUCT
        case Sum(terms):
            text = ""
            for sign, term in terms:
                text += (" - " if sign < 0 else " + ") + _bracket(term, names, _PRODUCT)
            return ("-" + text[3:] if terms[0][0] < 0 else text[3:]), _SUM
    raise TypeError(f"unknown node {node!r}")


def _bracket(node: Node, names: Mapping[str, str], at_least: int) -> str:
    text, level = _render(node, names)
    return text if level >= at_least else f"({text})"


def function_text(function: Function, step: str, names: Mapping[str, str], leading: tuple[str, ...]) -> str:
    """Source of one generated function; `leading` arguments come before the inputs."""
    trees = tuple(lower(output.expression) for output in function.outputs)
    returned = ", ".join(output.name for output in function.outputs)
    arguments = (*leading, *(str(symbol) for symbol in function.inputs))
    return definition(
        function.name, arguments, function.meaning, f"Returns {returned}; derivation step: {step}.", trees, names
    )


def definition(
    name: str, arguments: tuple[str, ...], meaning: str, returns: str, trees: tuple[Node, ...], names: Mapping[str, str]
) -> str:
    """Source of a function that returns the values of `trees`, common subexpressions computed once."""
    temporaries, outputs = share_subexpressions(trees)
    lines = [f"def {name}({', '.join(arguments)}):", f'    """{meaning}.', "", f"    {returns}", '    """']
    lines += [f"    {temporary} = {render(node, names)}" for temporary, node in temporaries]
    lines.append("    return " + ", ".join(render(node, names) for node in outputs))
    return "\n".join(lines) + "\n"
