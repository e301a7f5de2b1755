"""Forms of outputs and losses that neither overflow nor cancel, each proven equal to what the model
file states.

A sum of exponentials under a logarithm becomes a chain of softplus functions, its inverse a
logistic function or a row of a softmax, and a difference of exponentials a hyperbolic tangent. So
1/(1 + exp(-h)) and log((exp(x) + exp(-x))/2) may be written as they stand.
"""

from functools import reduce
from itertools import permutations

import sympy as sp

from derive.language.elementary import Logistic, Softplus, expand_custom_functions

_DIGITS, _EQUAL = 40, 1e-30  # of the values that are compared at one point
_HYPERBOLIC = (sp.cosh, sp.sinh, sp.sech, sp.csch, sp.coth)

Terms = list[tuple[sp.Expr, sp.Expr]]  #: pairs (c, u) of a sum of c exp(u)


def stable_form(expression: sp.Expr) -> sp.Expr:
    """Return an equal expression without overflow where one is known and proven; else the same."""
    written = expression.rewrite(_HYPERBOLIC, sp.exp)
    if not written.has(sp.exp, sp.log):
        return expression
    found = _rewritten(written)
    return found if found == expression or _vanishes(expression - found) else expression


def _rewritten(expression: sp.Expr) -> sp.Expr:
    if not expression.args:
        return expression
    expression = expression.func(*map(_rewritten, expression.args))
    if isinstance(expression, sp.log):
        return _log(expression)
    if expression.is_Add:
        return _difference(expression)
    if expression.is_Mul or expression.is_Pow:
        return _quotient(expression)
    return expression


def _split(product: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return (c, u) of a product c exp(u)."""
    factors = sp.Mul.make_args(product)
    powers = [factor.args[0] for factor in factors if isinstance(factor, sp.exp)]
    rest = (factor for factor in factors if not isinstance(factor, sp.exp))
    return sp.Mul(*rest), sp.Add(*powers)


def _exponentials(expression: sp.Expr) -> Terms:
    """Return the terms of a sum of positive multiples of exponentials; empty if it is none."""
    found: Terms = []
    for term in sp.Add.make_args(expression):
        coefficient, power = _split(term)
        if coefficient.has(sp.exp) or coefficient.is_positive is not True:
            return []
        found.append((coefficient, power))
    return found if any(power != 0 for _, power in found) else []


def _log_of_sum(terms: Terms) -> sp.Expr:
    last = sorted(terms, key=lambda term: term[1] == 0)  # log(1 + exp(u)) is softplus(u)
    logs = [power + sp.log(coefficient) for coefficient, power in last]
    return reduce(lambda total, one: one + Softplus(total - one), logs)


def _log(logarithm: sp.Expr) -> sp.Expr:
    """Return a logarithm as a sum over the factors of its argument, if these are positive."""
    total = sp.Integer(0)
    for factor in sp.Mul.make_args(logarithm.args[0]):
        base, exponent = factor.as_base_exp()
        if isinstance(factor, sp.exp):
            total += factor.args[0]
        elif isinstance(base, Logistic):
            total -= exponent * Softplus(-base.args[0])
        elif terms := _exponentials(base):
            total += exponent * _log_of_sum(terms)
        elif factor.is_positive:
            total += sp.log(factor)
        else:
            return logarithm
    return total


def _difference(total: sp.Expr) -> sp.Expr:
    """Return a sum in which 1 - logistic(x) and exp(a) - exp(b) do not cancel."""
    terms = list(total.args)
    for number, term in permutations(terms, 2):
        if number.is_number and isinstance(one := -term / number, Logistic):
            rest = (other for other in terms if other is not number and other is not term)
            return sp.Add(number * Logistic(-one.args[0]), *rest)
    for left, right in permutations(terms, 2):
        (plus, a), (minus, b) = _split(left), _split(-right)
        if plus.is_positive and plus == minus and a != b:
            pair = plus * (sp.exp(a) + sp.exp(b)) * sp.tanh((a - b) / 2)
            rest = sp.Add(*(term for term in terms if term is not left and term is not right))
            return pair + (_difference(rest) if rest.is_Add else rest)
    return total


def _quotient(product: sp.Expr) -> sp.Expr:
    """Return exp(v)/sum of exponentials as a logistic function or an entry of a softmax."""
    coefficient, numerator = _split(product)
    factors = sp.Mul.make_args(coefficient)
    for factor in factors:
        base, exponent = factor.as_base_exp()
        rest = sp.Mul(*(one for one in factors if one is not factor))
        if isinstance(factor, Logistic) and factor.args[0] + numerator == 0:  # exp(v)/(1 + exp(v))
            return rest * Logistic(numerator)
        if exponent != -1 or not (terms := _exponentials(base)):
            continue
        shifted = [(coefficient, power - numerator) for coefficient, power in terms]
        ones = [coefficient for coefficient, power in shifted if power == 0]
        if not ones:
            return product
        if len(shifted) == 2:
            ((other, power),) = [pair for pair in shifted if pair[1] != 0]
            return rest / ones[0] * Logistic(-power - sp.log(other / ones[0]))
        return rest / sp.Add(*(coefficient * sp.exp(power) for coefficient, power in shifted))
    return product


def _vanishes(expression: sp.Expr) -> bool:
    """Return whether an expression is zero, by proof: a rational function of exponentials that
    cancels; or zero at one point, with first derivatives that vanish.
    """
    written = expand_custom_functions(expression).rewrite((sp.tanh, *_HYPERBOLIC), sp.exp)
    if not written.has(sp.log):
        return _cancels(written)
    symbols = sorted(written.free_symbols, key=str)
    point = {symbol: sp.Rational(k + 1, 3 + 2 * k) for k, symbol in enumerate(symbols)}
    if not abs(written.subs(point).evalf(_DIGITS)) < _EQUAL:
        return False
    return all(_vanishes(sp.diff(expression, symbol)) for symbol in symbols)


def _cancels(expression: sp.Expr) -> bool:
    try:
        return sp.cancel(sp.together(_in_powers(expression))) == 0
    except sp.PolynomialError:
        return False


def _in_powers(expression: sp.Expr) -> sp.Expr:
    """Return the expression with exp(k u) as the power k of one symbol for each u."""
    names: dict[sp.Expr, tuple[sp.Symbol, sp.Rational]] = {}
    exponents = [power.args[0] for power in expression.atoms(sp.exp)]
    for exponent in exponents:
        for term in sp.Add.make_args(sp.expand(exponent)):
            size, part = term.as_coeff_Mul()
            name, unit = names.get(part, (sp.Dummy(positive=True), size))
            names[part] = (name, sp.gcd(unit, size))

    def power(exponent: sp.Expr) -> sp.Expr:
        parts = (term.as_coeff_Mul() for term in sp.Add.make_args(sp.expand(exponent)))
        return sp.Mul(*(names[part][0] ** (size / names[part][1]) for size, part in parts))

    return expression.replace(sp.exp, power)
