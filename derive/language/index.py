"""What a sample shows of S: indices, each linear in S, by the geometry of the tokens."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol, Self

import sympy as sp

from derive.language.errors import ModelError
from derive.language.notation import MOST_ROWS

Entry = tuple[int, int]


def _require_count(name: str, value: object) -> None:
    if not (type(value) is int and 1 <= value <= MOST_ROWS):
        raise ModelError(f"index: {name} = {value!r} must be a whole number from 1 to {MOST_ROWS}; try 2")


class Index(Hashable, Protocol):
    """Geometry of the indices h of one sample."""

    def __new__(cls, *given: object) -> Self:
        """None by this name: it is what the geometries have in common.

        Raises:
            ModelError: always.
        """
        raise ModelError(
            "index: Index is no geometry itself; state SymmetricScores(tokens) or CrossScores(queries, keys)"
        )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The independent numbers among them."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of h."""
        ...

    def place(self, row: int, column: int) -> Entry:
        """Which independent number stands in this row and column of h."""
        ...

    def variance(self, entry: Entry) -> sp.Integer:
        """Variance of this number per unit of overlap."""
        ...


@dataclass(frozen=True)
class SymmetricScores:
    """h_ab = (x_a^T S x_b - delta_ab tr S)/sqrt(d) of T tokens: symmetric, T(T+1)/2 numbers."""

    tokens: int = 2

    def __post_init__(self) -> None:
        _require_count("tokens", self.tokens)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The pairs a <= b, row by row."""
        return tuple((a, b) for a in range(self.tokens) for b in range(a, self.tokens))

    @property
    def shape(self) -> tuple[int, int]:
        """T x T."""
        return self.tokens, self.tokens

    def place(self, row: int, column: int) -> Entry:
        """The same above and below the diagonal."""
        return min(row, column), max(row, column)

    def variance(self, entry: Entry) -> sp.Integer:
        """Twice as much on the diagonal, where one token meets itself: E (x^T S x - tr S)^2 = 2 tr S^2."""
        return sp.Integer(2 if entry[0] == entry[1] else 1)


@dataclass(frozen=True)
class CrossScores:
    """h_ab = x_a^T S y_b/sqrt(d) of T queries against T' keys, other tokens: T T' numbers of variance one."""

    queries: int = 2
    keys: int = 2

    def __post_init__(self) -> None:
        for name in ("queries", "keys"):
            _require_count(name, getattr(self, name))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All pairs, row by row."""
        return tuple((a, b) for a in range(self.queries) for b in range(self.keys))

    @property
    def shape(self) -> tuple[int, int]:
        """Queries x keys."""
        return self.queries, self.keys

    def place(self, row: int, column: int) -> Entry:
        """Each its own."""
        return row, column

    def variance(self, entry: Entry) -> sp.Integer:
        """One: E (x^T S y)^2 = tr S^T S."""
        return sp.Integer(1)
