"""Small ordered expression tree between SymPy and the printers.

Sums and products of SymPy have no fixed order, but the order of a floating-point sum changes its
value. The tree fixes the order, for every printer and every hash seed. Rational constants are exact
(integers divided by integers), so that generated code evaluated on symbols returns its source. The
trees have no branches, so that every common subexpression can be computed first.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sympy as sp

from derive.language.elementary import TABLE


@dataclass(frozen=True)
class Integer:
    """Non-negative integer constant."""

    value: int


@dataclass(frozen=True)
class Name:
    """Name of an input, of a temporary variable, or of the constant pi."""

    name: str


@dataclass(frozen=True)
class Sum:
    """Sum of terms in this order, each with a sign."""

    terms: tuple[tuple[int, "Node"], ...]


@dataclass(frozen=True)
class Quotient:
    """Product of the numerators over the product of the denominators, in this order."""

    numerator: tuple["Node", ...]
    denominator: tuple["Node", ...]


@dataclass(frozen=True)
class Power:
    """Integer power with an exponent of at least 2."""

    base: "Node"
    exponent: int


@dataclass(frozen=True)
class Call:
    """Call of an elementary function of one argument."""

    function: str
    argument: "Node"


Node = Integer | Name | Sum | Quotient | Power | Call

NAMES = {entry.symbolic: entry.name for entry in TABLE}
PI = Name("pi")


def lower(expression: sp.Expr) -> Node:
    """Return the tree of a SymPy expression.

    Raises:
        TypeError: the printers do not support a function of the expression.
    """
    sign, node = _signed(expression)
    return node if sign > 0 else Sum(((-1, node),))


def _signed(expression: sp.Expr) -> tuple[int, Node]:
    """Return a sign and the tree of the rest, so that sums print as a - b, not as a + (-1) b."""
    coefficient, _ = expression.as_coeff_Mul()
    return (-1, _unsigned(-expression)) if coefficient.is_negative else (1, _unsigned(expression))


def _unsigned(expression: sp.Expr) -> Node:
    if expression.is_Integer:
        return Integer(int(expression))
    if expression == sp.pi:
        return PI
    if expression == sp.E:
        return Call("exp", Integer(1))
    if expression.is_Symbol:
        return Name(str(expression))
    if expression.is_Add:
        terms = sorted(
            expression.as_ordered_terms(),
            key=lambda term: term.as_coeff_Mul()[0].is_negative is True,
        )
        return Sum(tuple(_signed(term) for term in terms))
    if (
        expression.is_Mul
        or expression.is_Rational
        or (expression.is_Pow and expression.exp.could_extract_minus_sign())
    ):
        return _quotient(expression)
    if expression.is_Pow:
        return _power(expression)
    if type(expression) in NAMES:
        return Call(NAMES[type(expression)], lower(expression.args[0]))
    raise TypeError(f"the printers do not support {expression.func.__name__} in {expression}")


def _quotient(expression: sp.Expr) -> Node:
    numerator: list[Node] = []
    denominator: list[Node] = []
    for factor in expression.as_ordered_factors():
        base, exponent = factor.as_base_exp()
        if factor.is_Rational:
            numerator += [Integer(factor.p)] if factor.p != 1 else []
            denominator += [Integer(factor.q)] if factor.q != 1 else []
        elif exponent.could_extract_minus_sign():
            denominator.append(lower(base**-exponent))
        else:
            numerator.append(lower(factor))
    return Quotient(tuple(numerator) or (Integer(1),), tuple(denominator))


def _power(expression: sp.Expr) -> Node:
    base, exponent = expression.as_base_exp()
    if exponent == sp.Rational(1, 2):
        return Call("sqrt", lower(base))
    if exponent.is_Integer:
        return Power(lower(base), int(exponent))
    if (2 * exponent).is_Integer:
        return Quotient(
            (lower(base ** (exponent - sp.Rational(1, 2))), Call("sqrt", lower(base))), ()
        )
    raise TypeError(f"the printers do not support the power {expression}")


def children(node: Node) -> Iterator[Node]:
    """Yield the direct subtrees, in order."""
    match node:
        case Sum(terms):
            yield from (term for _, term in terms)
        case Quotient(numerator, denominator):
            yield from (*numerator, *denominator)
        case Power(base, _):
            yield base
        case Call(_, argument):
            yield argument


def leaves(node: Node) -> Iterator[Node]:
    """Yield the constants and names of a tree."""
    if isinstance(node, Integer | Name):
        yield node
    for child in children(node):
        yield from leaves(child)


def is_number(node: Node) -> bool:
    """Return whether a tree contains no names besides pi."""
    return all(isinstance(leaf, Integer) or leaf == PI for leaf in leaves(node))


def replace_children(node: Node, new: tuple[Node, ...]) -> Node:
    """Return a node with its direct subtrees replaced.

    Args:
        node: the node.
        new: as many subtrees, in the order of `children`.
    """
    match node:
        case Sum(terms):
            return Sum(tuple((sign, child) for (sign, _), child in zip(terms, new, strict=True)))
        case Quotient(numerator, _):
            return Quotient(new[: len(numerator)], new[len(numerator) :])
        case Power(_, exponent):
            return Power(new[0], exponent)
        case Call(function, _):
            return Call(function, new[0])
    return node


def substitute(node: Node, values: Mapping[Node, Node]) -> Node:
    """Return the tree with subtrees replaced.

    Args:
        node: the tree.
        values: replacement for each subtree.
    """
    if node in values:
        return values[node]
    return replace_children(node, tuple(substitute(child, values) for child in children(node)))


def share_subexpressions(
    outputs: tuple[Node, ...],
) -> tuple[tuple[tuple[str, Node], ...], tuple[Node, ...]]:
    """Name every subtree that is used more than once, except constants.

    Returns:
        Names and trees of the temporary variables in order of evaluation, and the outputs in terms
        of them.
    """
    uses: Counter[Node] = Counter()

    def count(node: Node) -> None:
        uses[node] += 1
        if uses[node] == 1:
            for child in children(node):
                count(child)

    for output in outputs:
        count(output)
    names: dict[Node, Name] = {}
    temporaries: list[tuple[str, Node]] = []

    def rewrite(node: Node) -> Node:
        if node in names:
            return names[node]
        rewritten = replace_children(node, tuple(rewrite(child) for child in children(node)))
        if (
            uses[node] > 1
            and any(isinstance(leaf, Name) for leaf in leaves(node))
            and not isinstance(node, Name)
        ):
            names[node] = Name(f"x{len(temporaries)}")
            temporaries.append((names[node].name, rewritten))
            return names[node]
        return rewritten

    shared = tuple(rewrite(output) for output in outputs)
    return tuple(temporaries), shared
