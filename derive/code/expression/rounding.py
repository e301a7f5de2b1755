"""Running error analysis: a bound on the rounding error of a tree, itself a tree (Higham 2002, section 3.3).

The bound is in units of the rounding of one operation, to first order in it, for inputs taken as exact. It is what generated
float64 code can evaluate beside a value to know when the value has cancelled away.
"""

import sympy as sp

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
    substitute,
)
from derive.language.elementary import ARGUMENT, BY_NAME, ERROR, VALUE

_ZERO = Integer(0)


def error_bound(node: Node) -> Node:
    """Bound on |computed - exact| of `node`, over the rounding of one operation."""
    match node:
        case Integer():
            return _ZERO
        case Name():
            return _size(node) if node == PI else _ZERO
        case Sum(terms):
            return _sum(*(error_bound(term) for _, term in terms), _size(node))
        case Power(base, exponent):
            amplified = _product(
                Integer(exponent), _power(_size(base), exponent - 1), error_bound(base)
            )
            return _sum(amplified, _product(Integer(exponent), _size(node)))
        case Quotient(numerator, denominator):
            return _quotient_bound(node, numerator, denominator)
        case Call(function, argument):
            return _call_bound(node, BY_NAME[function].error, argument)
    raise TypeError(f"unknown node {node!r}")


def _call_bound(node: Node, known: sp.Expr, argument: Node) -> Node:
    inherited = error_bound(argument)
    bound = lower(known.subs(ERROR, 0) if inherited == _ZERO else known)
    sizes = {ERROR: inherited, ARGUMENT: _size(argument), VALUE: _size(node)}
    return substitute(bound, {Name(str(symbol)): size for symbol, size in sizes.items()})


def _quotient_bound(node: Node, numerator: tuple[Node, ...], denominator: tuple[Node, ...]) -> Node:
    """Errors of the factors, absolute above the line where a factor may vanish, relative below it, and of the operations."""
    below = tuple(_size(factor) for factor in denominator)
    above = [
        _product(
            error_bound(factor), *(_size(other) for j, other in enumerate(numerator) if j != k)
        )
        for k, factor in enumerate(numerator)
    ]
    relative = [_over(error_bound(factor), _size(factor)) for factor in denominator]
    operations = Integer(len(numerator) + len(denominator))
    errors = [Quotient((term,), below) if below and term != _ZERO else term for term in above]
    return _sum(*errors, _product(_size(node), _sum(*relative, operations)))


def _size(node: Node) -> Node:
    return node if isinstance(node, Integer) else Call("absolute", node)


def _sum(*terms: Node) -> Node:
    kept = tuple((1, term) for term in terms if term != _ZERO)
    if not kept:
        return _ZERO
    return kept[0][1] if len(kept) == 1 else Sum(kept)


def _product(*factors: Node) -> Node:
    if _ZERO in factors:
        return _ZERO
    return factors[0] if len(factors) == 1 else Quotient(factors, ())


def _over(numerator: Node, denominator: Node) -> Node:
    return _ZERO if numerator == _ZERO else Quotient((numerator,), (denominator,))


def _power(base: Node, exponent: int) -> Node:
    return base if exponent == 1 else Power(base, exponent)
