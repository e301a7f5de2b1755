"""Mutations of a module: other arithmetic, comparisons, constants, orders of arguments and signs, one at a time."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "/", "%": "//", "@": "*"}
_COMPARISONS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "in": "not in", "not in": "in", "is": "is not", "is not": "is",
}  # fmt: skip
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.And: "and", ast.Or: "or",
}  # fmt: skip

_SIGNS = {ast.USub: ("sign", 1), ast.Not: ("logic", 3)}

#: Functions whose value is the same for arguments in any order.
_SYMMETRIC = {"max", "min", "maximum", "minimum", "hypot", "gcd", "lcm", "union", "isclose", "Max", "Min", "Add", "Mul"}


@dataclass(frozen=True)
class Mutation:
    """Bytes `start` to `end` of a module, on `line` in `function`, replaced by `new`."""

    kind: str
    function: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def applied(self, source: bytes) -> bytes:
        """The module with this mutation."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutations(source: bytes) -> list[Mutation]:
    """All mutations of a module, in its order. What only describes (annotations, docstrings, decorators) is left alone."""
    return sorted(_Finder(source).found(), key=lambda mutation: (mutation.start, mutation.new))


class _Finder:
    """Walks a syntax tree; an operator has no position of its own there, only what stands on both sides."""

    def __init__(self, source: bytes) -> None:
        self._source, self._tree = source, ast.parse(source)
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def found(self) -> Iterator[Mutation]:
        for child in ast.iter_child_nodes(self._tree):
            yield from self._within(child, "")

    def _within(self, node: ast.AST, function: str) -> Iterator[Mutation]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        yield from self._of(node, function)
        for child in _calculating(node):
            yield from self._within(child, function)

    def _of(self, node: ast.AST, function: str) -> Iterator[Mutation]:
        match node:
            case ast.BinOp(left, operator, right) if type(operator) in _SYMBOLS:
                yield self._between(left, right, operator, _ARITHMETIC, "arithmetic", function)
            case ast.AugAssign(target, operator, value) if type(operator) in _SYMBOLS:
                yield self._between(target, value, operator, _ARITHMETIC, "arithmetic", function)
            case ast.BoolOp(operator, values):
                for left, right in pairwise(values):
                    yield self._between(left, right, operator, {"and": "or", "or": "and"}, "logic", function)
            case ast.Compare(left, operators, others):
                for (before, after), operator in zip(pairwise([left, *others]), operators, strict=True):
                    yield self._between(before, after, operator, _COMPARISONS, "comparison", function)
            case ast.UnaryOp(ast.USub() | ast.Not()):
                start, (kind, length) = self._span(node)[0], _SIGNS[type(node.op)]
                yield self._replaced(kind, function, start, start + length, "")
            case ast.Constant(bool(value)):
                yield self._replaced("constant", function, *self._span(node), str(not value))
            case ast.Constant(int() | float() as value):
                yield self._replaced("constant", function, *self._span(node), repr(value + 1))
            case ast.Call(called, [first, second, *_]) if not _symmetric(called):
                yield from self._swapped(first, second, function)

    def _between(
        self, left: ast.AST, right: ast.AST, operator: ast.AST, others: dict[str, str], kind: str, function: str
    ) -> Mutation:
        symbol = _SYMBOLS[type(operator)]
        first, last = self._span(left)[1], self._span(right)[0]
        pattern = re.escape(symbol).replace(r"\ ", r"\s+").encode()
        matched = re.search(pattern, re.sub(rb"#[^\n]*", lambda c: b" " * len(c[0]), self._source[first:last]))
        assert matched is not None
        return self._replaced(kind, function, first + matched.start(), first + matched.end(), others[symbol])

    def _swapped(self, first: ast.expr, second: ast.expr, function: str) -> Iterator[Mutation]:
        if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
            return
        (a, b), (c, d) = self._span(first), self._span(second)
        one, other = self._source[a:b], self._source[c:d]
        if one != other:
            yield self._replaced("order", function, a, d, (other + self._source[b:c] + one).decode())

    def _replaced(self, kind: str, function: str, start: int, end: int, new: str) -> Mutation:
        line = bisect_right(self._lines, start)
        return Mutation(kind, function, line, start, end, self._source[start:end].decode(), new)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._lines[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            self._lines[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )


def _calculating(node: ast.AST) -> Iterator[ast.AST]:
    """Children that calculate something."""
    left_out: list[ast.AST | None] = []
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            left_out = [node.returns] if isinstance(node, ast.FunctionDef) else []
            left_out += node.decorator_list
        case ast.arg() | ast.AnnAssign():
            left_out = [node.annotation]
        case ast.JoinedStr():  # what is printed; its parts have no position of their own in Python 3.11
            return
    for child in ast.iter_child_nodes(node):
        if not any(child is other for other in left_out):
            yield child


def _symmetric(called: ast.expr) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in _SYMMETRIC
