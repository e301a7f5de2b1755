"""Dominant balance: exponents of unknown scales, from equations between sums of positive monomials.

Every scale is a power of one large number. Then a sum is as large as its largest term, and an
equation is linear in the exponents once one term on each side is chosen as dominant. A regime lists
equations and the inequalities under which they are valid. Each choice of dominant terms that has a
solution gives exponents, linear in those of the parameters, and the inequalities under which the
chosen terms dominate. Coefficients are exact functions of one symbol, the exponent gamma of a power
law. (Max-plus algebra; theory note, section 8.)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

import sympy as sp
from flint import fmpq_poly

from derive.language.errors import DerivationError
from derive.scaling.rational_functions import Row, in_lowest_terms, over_common_denominator

Form = tuple[
    sp.Expr, ...
]  #: linear form: coefficients of the exponents of the parameters, in their order


@dataclass(frozen=True)
class Balance:
    """Equation left = right between sums of positive monomials, each up to a constant; `name` is
    the equation of the theory.
    """

    name: str
    left: sp.Expr
    right: sp.Expr


@dataclass(frozen=True)
class Regime:
    """Balances that are valid if the first monomial of each of `conditions` is at most the second,
    up to a constant.

    Attributes:
        id: identifier of one word, for programs.
        balances: the equations.
        conditions: pairs of monomials.
        corrections: relative sizes, monomials too, of the terms that the balances neglect.
        name: name for readers.
    """

    id: str
    balances: tuple[Balance, ...]
    conditions: tuple[tuple[sp.Expr, sp.Expr], ...] = ()
    corrections: tuple[sp.Expr, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class System:
    """Given scales `parameters` and unknown scales `unknowns`, for gamma above `least_gamma`.

    The parameters are restricted by `domain`. The last parameter is the large number; the others
    are powers of it. A regime need not contain every unknown.
    """

    parameters: tuple[sp.Symbol, ...]
    unknowns: tuple[sp.Symbol, ...]
    regimes: tuple[Regime, ...]
    gamma: sp.Symbol
    least_gamma: sp.Rational
    domain: tuple[tuple[sp.Expr, sp.Expr], ...] = ()

    def forms(self, conditions: tuple[tuple[sp.Expr, sp.Expr], ...]) -> tuple[Form, ...]:
        """Return conditions on the parameters as forms that are nonnegative if the conditions are
        valid.
        """
        logs = [[logarithm(side, self.parameters) for side in pair] for pair in conditions]
        return tuple(tuple(b - a for a, b in zip(*pair, strict=True)) for pair in logs)


@dataclass(frozen=True)
class Solution:
    """One consistent balance: exponents of the unknowns, and forms that are nonnegative where it is
    valid.

    `dominant` lists the pair of terms that balance in each equation. `corrections` are forms of the
    inverse of each neglected term.
    """

    regime: Regime
    dominant: tuple[tuple[sp.Expr, sp.Expr], ...]
    exponents: Mapping[sp.Symbol, Form]
    margins: tuple[Form, ...]
    corrections: tuple[Form, ...]


def monomials(expression: sp.Expr) -> tuple[sp.Expr, ...]:
    """Return the terms of a sum without their coefficients.

    Raises:
        DerivationError: a term has a negative coefficient, so that it could cancel others.
    """
    terms = []
    for term in sp.Add.make_args(sp.expand(expression)):
        coefficient, rest = term.as_independent(*term.free_symbols, as_Add=False)
        if not coefficient.is_positive:
            raise DerivationError(
                f"{expression}: the term {term} may cancel others; balances need positive terms"
            )
        terms.append(rest)
    return tuple(dict.fromkeys(terms))


@cache
def logarithm(monomial: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> tuple[sp.Expr, ...]:
    """Return the exponents of the symbols in a monomial.

    Args:
        monomial: product of powers of the symbols.
        symbols: the symbols.

    Raises:
        DerivationError: `monomial` is not a product of their powers.
    """
    if monomial in symbols:
        return tuple(sp.Integer(symbol == monomial) for symbol in symbols)
    if monomial.is_Pow:
        return tuple(monomial.exp * power for power in logarithm(monomial.base, symbols))
    if monomial.is_Mul:
        factors = (logarithm(factor, symbols) for factor in monomial.args)
        return tuple(sp.Add(*powers) for powers in zip(*factors, strict=True))
    if monomial.free_symbols:
        raise DerivationError(
            f"{monomial} is not a product of powers of {', '.join(map(str, symbols))}"
        )
    return (sp.Integer(0),) * len(symbols)


def solve(system: System) -> tuple[Solution, ...]:
    """Return the solution for every choice of dominant terms that determines the exponents.

    The margins of a solution state where it is valid. Of choices between terms that are equally
    large everywhere, one is returned.
    """
    found = [solution for regime in system.regimes for solution in _solutions(system, regime)]
    return tuple(a for k, a in enumerate(found) if not any(_same(a, other) for other in found[:k]))


def _same(left: Solution, right: Solution) -> bool:
    return (
        left.regime == right.regime
        and left.exponents == right.exponents
        and set(left.margins) == set(right.margins)
    )


def _solutions(system: System, regime: Regime) -> Iterator[Solution]:
    """Yield the solution for every choice of one dominant term on each side that determines the
    unknowns, in exact functions of gamma.
    """
    symbols, given = (*system.parameters, *system.unknowns), len(system.parameters)
    sides = [(monomials(balance.left), monomials(balance.right)) for balance in regime.balances]
    terms = [
        term
        for pair in (*sides, *(((a,), (b,)) for a, b in regime.conditions))
        for side in pair
        for term in side
    ]
    rows, denominator = _exponents((*terms, *regime.corrections), symbols, system.gamma)
    present = [k for k in range(given, len(symbols)) if any(row[k] for row in rows.values())]
    for choice in product(*(product(left, right) for left, right in sides)):
        equations = [_difference(rows[left], rows[right]) for left, right in choice]
        solved = _eliminate(equations, present, given)
        if solved is None:
            continue
        values, determinant = solved

        def form(
            row: Row, values: list[Row] = values, determinant: fmpq_poly = determinant
        ) -> Form:
            moved = [(row[x], value) for x, value in zip(present, values, strict=True) if row[x]]
            sums = (
                sum((a * value[k] for a, value in moved), row[k] * determinant)
                for k in range(given)
            )
            return tuple(
                in_lowest_terms(value, denominator * determinant, system.gamma) for value in sums
            )

        gaps = [
            _difference(rows[top], rows[other])
            for pair, side in zip(choice, sides, strict=True)
            for top, others in zip(pair, side, strict=True)
            for other in others
            if other != top
        ]
        gaps += [_difference(rows[larger], rows[smaller]) for smaller, larger in regime.conditions]
        yield Solution(
            regime,
            choice,
            {
                symbols[k]: tuple(
                    in_lowest_terms(entry, determinant, system.gamma) for entry in value
                )
                for k, value in zip(present, values, strict=True)
            },
            _distinct(form(row) for row in gaps),
            _distinct(form(tuple(-value for value in rows[term])) for term in regime.corrections),
        )


def _exponents(
    terms: tuple[sp.Expr, ...], symbols: tuple[sp.Symbol, ...], gamma: sp.Symbol
) -> tuple[dict[sp.Expr, Row], fmpq_poly]:
    """Return the exponents of the symbols in each term, over one common denominator."""
    distinct, length = tuple(dict.fromkeys(terms)), len(symbols)
    values = [value for term in distinct for value in logarithm(term, symbols)]
    numerators, denominator = over_common_denominator(values, gamma)
    return {
        term: numerators[k * length : (k + 1) * length] for k, term in enumerate(distinct)
    }, denominator


def _difference(left: Row, right: Row) -> Row:
    return tuple(a - b for a, b in zip(left, right, strict=True))


def _eliminate(
    equations: list[Row], unknowns: list[int], given: int
) -> tuple[list[Row], fmpq_poly] | None:
    """Return each unknown column in terms of the given ones, times a determinant; None unless the
    equations determine all unknowns.

    The rows vanish. The elimination is free of fractions (Bareiss): every division is exact.
    """
    if len(equations) != len(unknowns):
        return None
    rows = [(*(row[k] for k in unknowns), *(-value for value in row[:given])) for row in equations]
    determinant = fmpq_poly([1])
    for k in range(len(rows)):
        found = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if found is None:
            return None
        rows[k], rows[found] = rows[found], rows[k]
        top, last = rows[k], determinant
        determinant = top[k]
        rows = [
            row
            if row is top
            else tuple(
                (determinant * a - row[k] * b) // last for a, b in zip(row, top, strict=True)
            )
            for row in rows
        ]
    return [row[len(rows) :] for row in rows], determinant


def _distinct(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Return the distinct forms in order, without those that are one everywhere."""
    return tuple(dict.fromkeys(form for form in forms if any(form)))
