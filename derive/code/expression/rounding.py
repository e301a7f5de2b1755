"""Running error analysis: a bound on the rounding error of a tree, as another tree (Higham 2002,
section 3.3).

The bound is to first order, in units of the rounding error of one operation, for exact inputs.
Generated float64 code evaluates it to detect a value that has lost its digits by cancellation.
"""

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
    """Return a bound on |computed - exact| of `node`, over the rounding error of one operation."""
    match node:
        case Integer():
            return _ZERO
        case Name():
            return _size(node) if node == PI else _ZERO
        case Sum(terms):
            return _sum(*(error_bound(term) for _, term in terms), _size(node))
        case Power(base, exponent):
            power = _size(base) if exponent == 2 else Power(_size(base), exponent - 1)
            amplified = _product(Integer(exponent), power, error_bound(base))
            return _sum(amplified, _product(Integer(exponent), _size(node)))
        case Quotient(numerator, denominator):
            return _quotient_bound(node, numerator, denominator)
        case Call(function, argument):
            known, inherited = BY_NAME[function].error, error_bound(argument)
            bound = lower(known.subs(ERROR, 0) if inherited == _ZERO else known)
            sizes = {ERROR: inherited, ARGUMENT: _size(argument), VALUE: _size(node)}
            return substitute(bound, {Name(str(symbol)): size for symbol, size in sizes.items()})
    raise TypeError(f"unknown node {node!r}")


def _quotient_bound(node: Node, numerator: tuple[Node, ...], denominator: tuple[Node, ...]) -> Node:
    """Return the bound of a quotient: errors of the factors and of the operations.

    Errors are absolute in the numerator, where a factor may vanish, and relative in the
    denominator.
    """
    below = tuple(_size(factor) for factor in denominator)
    above = [
        _product(
            error_bound(factor), *(_size(other) for j, other in enumerate(numerator) if j != k)
        )
        for k, factor in enumerate(numerator)
    ]
    relative = [_quotient(error_bound(factor), (_size(factor),)) for factor in denominator]
    operations = Integer(len(numerator) + len(denominator))
    errors = [_quotient(term, below) for term in above]
    return _sum(*errors, _product(_size(node), _sum(*relative, operations)))


def _size(node: Node) -> Node:
    return node if isinstance(node, Integer) else Call("absolute", node)


def _sum(*terms: Node) -> Node:
    nonzero = tuple((1, term) for term in terms if term != _ZERO)
    if not nonzero:
        return _ZERO
    return nonzero[0][1] if len(nonzero) == 1 else Sum(nonzero)


def _product(*factors: Node) -> Node:
    if _ZERO in factors:
        return _ZERO
    return factors[0] if len(factors) == 1 else Quotient(factors, ())


def _quotient(numerator: Node, denominator: tuple[Node, ...]) -> Node:
    return Quotient((numerator,), denominator) if denominator and numerator != _ZERO else numerator
