"""Dominant balance: exponents of unknown scales from equations between sums of positive monomials, whatever they describe.

Every scale is a power of one large number, so that a sum is as large as its largest term and an equation is linear in exponents once
one term on either side is taken as dominant. A regime lists equations and the inequalities under which they hold; each choice of
dominant terms that has a solution gives exponents, linear in those of the parameters, and the inequalities under which the chosen
terms dominate. Coefficients are exact functions of one symbol, the exponent gamma of a power law. (Max-plus algebra; theory note,
section 8.)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import sympy as sp

from derive.language.step import DerivationError

Form = tuple[sp.Expr, ...]  #: linear form in the exponents of the parameters, in their order


@dataclass(frozen=True)
class Balance:
    """left = right, both sums of positive monomials, each up to a constant; `name` says which equation of the theory it is."""

    name: str
    left: sp.Expr
    right: sp.Expr


@dataclass(frozen=True)
class Regime:
    """Balances that hold where each first monomial of `conditions` is at most the second, up to a constant.

    `corrections` are the relative sizes, monomials too, of what the balances leave out beside the terms they name.
    """

    name: str
    balances: tuple[Balance, ...]
    conditions: tuple[tuple[sp.Expr, sp.Expr], ...] = ()
    corrections: tuple[sp.Expr, ...] = ()


@dataclass(frozen=True)
class System:
    """Scales `parameters` that are given, as far as `domain` holds, and `unknowns` that follow, for gamma above `least_gamma`.

    The last parameter is the large number whose powers the others are. An unknown may be absent from a regime.
    """

    parameters: tuple[sp.Symbol, ...]
    unknowns: tuple[sp.Symbol, ...]
    regimes: tuple[Regime, ...]
    gamma: sp.Symbol
    least_gamma: sp.Rational
    domain: tuple[tuple[sp.Expr, sp.Expr], ...] = ()

    def forms(self, conditions: tuple[tuple[sp.Expr, sp.Expr], ...]) -> tuple[Form, ...]:
        """Conditions on the parameters as forms that are not negative where they hold."""
        logs = [[logarithm(side, self.parameters) for side in pair] for pair in conditions]
        return tuple(tuple(b - a for a, b in zip(*pair, strict=True)) for pair in logs)


@dataclass(frozen=True)
class Solution:
    """One consistent balance: exponents of the unknowns, and forms that are not negative where it holds.

    `dominant` names the terms that balance, one pair per equation; `corrections` are forms of one over what the regime leaves out.
    """

    regime: Regime
    dominant: tuple[tuple[sp.Expr, sp.Expr], ...]
    exponents: Mapping[sp.Symbol, Form]
    margins: tuple[Form, ...]
    corrections: tuple[Form, ...]


def monomials(expression: sp.Expr) -> tuple[sp.Expr, ...]:
    """The terms of a sum without their coefficients.

    Raises:
        DerivationError: a term has a negative coefficient, so that it could cancel others.
    """
    terms = []
    for term in sp.Add.make_args(sp.expand(expression)):
        coefficient, rest = term.as_independent(*term.free_symbols, as_Add=False)
        if not coefficient.is_positive:
            raise DerivationError(f"{expression}: the term {term} may cancel others; balances need positive terms")
        terms.append(rest)
    return tuple(dict.fromkeys(terms))


def logarithm(monomial: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> tuple[sp.Expr, ...]:
    """Exponents of the symbols in a monomial.

    Raises:
        DerivationError: it is no product of their powers.
    """
    powers = sp.expand_power_base(sp.powsimp(monomial), force=True).as_powers_dict()
    exponents = dict.fromkeys(symbols, sp.Integer(0))
    for base, exponent in powers.items():
        inner = logarithm(base, symbols) if base.is_Pow or base.is_Mul else None
        for k, symbol in enumerate(symbols):
            if base == symbol:
                exponents[symbol] += exponent
            elif inner is not None:
                exponents[symbol] += exponent * inner[k]
        if base not in symbols and inner is None and base.free_symbols:
            raise DerivationError(f"{monomial}: {base} is no power of {', '.join(map(str, symbols))}")
    return tuple(exponents.values())


def solve(system: System) -> tuple[Solution, ...]:
    """Every choice of dominant terms that determines the exponents; where each holds is left to its margins.

    Of choices between terms that are equally large everywhere one is kept.
    """
    found = [solution for regime in system.regimes for solution in _solutions(system, regime)]
    return tuple(a for k, a in enumerate(found) if not any(_same(a, other) for other in found[:k]))


def _same(left: Solution, right: Solution) -> bool:
    return left.regime == right.regime and left.exponents == right.exponents and set(left.margins) == set(right.margins)


def _solutions(system: System, regime: Regime) -> Iterator[Solution]:
    symbols = (*system.parameters, *system.unknowns)

    def row(monomial: sp.Expr) -> sp.Matrix:
        return sp.Matrix([logarithm(monomial, symbols)])

    sides = [(monomials(balance.left), monomials(balance.right)) for balance in regime.balances]
    known = {
        term: row(term)
        for pair in (*sides, *(((a,), (b,)) for a, b in regime.conditions))
        for side in pair
        for term in side
    } | {term: row(term) for term in regime.corrections}
    present = [
        x for k, x in enumerate(system.unknowns, len(system.parameters)) if any(r[k] != 0 for r in known.values())
    ]
    columns = [symbols.index(x) for x in present]
    given = list(range(len(system.parameters)))
    for choice in product(*(product(left, right) for left, right in sides)):
        equations = sp.Matrix.vstack(*(known[left] - known[right] for left, right in choice))
        matrix = equations.extract(list(range(equations.rows)), columns)
        if matrix.rows != matrix.cols or sp.cancel(matrix.det(method="berkowitz")) == 0:
            continue
        inverse = -matrix.inv(method="ADJ") * equations.extract(list(range(equations.rows)), given)
        exponents = {x: tuple(map(sp.cancel, inverse.row(k))) for k, x in enumerate(present)}
        total = sp.Matrix.vstack(
            sp.eye(len(given)), sp.Matrix([exponents.get(x, (0,) * len(given)) for x in system.unknowns])
        )
        gaps = [
            known[top] - known[other]
            for pair, side in zip(choice, sides, strict=True)
            for top, terms in zip(pair, side, strict=True)
            for other in terms
            if other != top
        ]
        gaps += [known[larger] - known[smaller] for smaller, larger in regime.conditions]

        def forms(rows: Iterable[sp.Matrix], total: sp.Matrix = total) -> tuple[Form, ...]:
            found = (tuple(map(sp.cancel, row * total)) for row in rows)
            return tuple(dict.fromkeys(form for form in found if any(form)))

        yield Solution(regime, choice, exponents, forms(gaps), forms(-known[term] for term in regime.corrections))
