"""Indices of a sample: numbers that are linear in S, defined by the geometry of the tokens."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol, Self

import sympy as sp

from derive.language.errors import ModelError
from derive.language.notation import MAX_ROWS

Entry = tuple[int, int]


def _require_count(name: str, value: object) -> None:
    if not (type(value) is int and 1 <= value <= MAX_ROWS):
        raise ModelError(
            f"index: {name} = {value!r} must be a whole number from 1 to {MAX_ROWS}; try 2"
        )


class Index(Hashable, Protocol):
    """Geometry of the indices h of one sample."""

    def __new__(cls, *given: object) -> Self:
        """Refuse to create an instance; use one of the subclasses.

        Raises:
            ModelError: always.
        """
        raise ModelError(
            "index: Index is not a geometry; give SymmetricScores(tokens), "
            "CrossScores(queries, keys) or MaskedScores(tokens)"
        )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Independent numbers among the indices."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of h."""
        ...

    def entry_at(self, row: int, column: int) -> Entry:
        """Return which independent number is in this row and column of h.

        Args:
            row: row.
            column: column.
        """
        ...

    def variance(self, entry: Entry) -> sp.Integer:
        """Return the variance of this number per unit of overlap."""
        ...

    def is_of_one_token(self, entry: Entry) -> bool:
        """Return whether this number is the score of a token with itself."""
        ...

    def tokens_of(self, entry: Entry) -> tuple[int, int]:
        """Return the numbers of the tokens x_i and x_j of the score x_i^T S x_j."""
        ...


@dataclass(frozen=True)
class SymmetricScores:
    """Symmetric indices h_ab = (x_a^T S x_b - delta_ab tr S)/sqrt(d) of T tokens: T(T+1)/2
    numbers.
    """

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

    def entry_at(self, row: int, column: int) -> Entry:
        """Return the same number above and below the diagonal.

        Args:
            row: row.
            column: column.
        """
        return min(row, column), max(row, column)

    def variance(self, entry: Entry) -> sp.Integer:
        """Return 2 on the diagonal, where one token meets itself, because E (x^T S x - tr S)^2 = 2
        tr S^2; otherwise 1.
        """
        return sp.Integer(2 if self.is_of_one_token(entry) else 1)

    def is_of_one_token(self, entry: Entry) -> bool:
        """Return whether this number is on the diagonal."""
        return entry[0] == entry[1]

    def tokens_of(self, entry: Entry) -> tuple[int, int]:
        """Return the pair itself."""
        return entry


@dataclass(frozen=True)
class CrossScores:
    """Indices h_ab = x_a^T S y_b/sqrt(d) of T queries and T' keys, which are other tokens: T T'
    numbers of variance one.
    """

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

    def entry_at(self, row: int, column: int) -> Entry:
        """Return the pair itself; all numbers are independent.

        Args:
            row: row.
            column: column.
        """
        return row, column

    def variance(self, entry: Entry) -> sp.Integer:
        """Return one: E (x^T S y)^2 = tr S^T S."""
        return sp.Integer(1)

    def is_of_one_token(self, entry: Entry) -> bool:
        """Return False: queries are other tokens than keys."""
        return False

    def tokens_of(self, entry: Entry) -> tuple[int, int]:
        """Return the query, and the key, which is numbered after all queries."""
        return entry[0], self.queries + entry[1]


@dataclass(frozen=True)
class MaskedScores:
    """Indices h_ab = x_a^T S x_b/sqrt(d), a != b, of T tokens, which do not attend to themselves:
    T (T - 1) numbers of variance one.

    For a general S the two scores of a pair are uncorrelated, E h_ab h_ba = tr S^2/d, as long as
    tr S^2/d vanishes. This holds for independent query and key directions.
    """

    tokens: int = 3

    def __post_init__(self) -> None:
        _require_count("tokens", self.tokens)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All pairs of two tokens, row by row."""
        return tuple((a, b) for a in range(self.tokens) for b in range(self.tokens) if a != b)

    @property
    def shape(self) -> tuple[int, int]:
        """T x (T - 1)."""
        return self.tokens, self.tokens - 1

    def entry_at(self, row: int, column: int) -> Entry:
        """Return the pair of the row's token with the other token of this column.

        Args:
            row: row.
            column: column.
        """
        return row, column + 1 if column >= row else column

    def variance(self, entry: Entry) -> sp.Integer:
        """Return one: E (x_a^T S x_b)^2 = tr S^T S."""
        return sp.Integer(1)

    def is_of_one_token(self, entry: Entry) -> bool:
        """Return False: no token meets itself."""
        return False

    def tokens_of(self, entry: Entry) -> tuple[int, int]:
        """Return the pair itself."""
        return entry
