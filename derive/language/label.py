"""Labels with finitely many values: signs, the largest score, classes drawn at random, and flips.

Such a label consists of draws. Given the noisy index of the target, each draw has one of a few
values, with probabilities that are derived from the model file; the draws of a sample are
independent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import sympy as sp

from derive.language.errors import ModelError
from derive.language.pieces import pieces, signs_of
from derive.language.setting import notation_of

_PLACES, _DIGITS, _EQUAL = 5, 30, sp.Rational(1, 10**20)


@dataclass(frozen=True)
class Draw:
    """Numbers of a label that are drawn together.

    Attributes:
        numbers: which numbers of the label, from 0.
        values: their values in each class.
        probabilities: probability of each class as a function of the noisy target index.
    """

    numbers: tuple[int, ...]
    values: tuple[tuple[sp.Expr, ...], ...]
    probabilities: tuple[sp.Expr, ...]

    def flipped(self, share: sp.Expr) -> "Draw":
        """Return the draw if a share of its values is replaced by another one, each as likely.

        Args:
            share: share of the labels that are replaced.
        """
        others = len(self.values) - 1
        changed = ((1 - share) * p + share * (1 - p) / others for p in self.probabilities)
        return Draw(self.numbers, self.values, tuple(changed))

    def of(self, known: dict[sp.Expr, sp.Expr]) -> "Draw":
        """Return the draw with these replacements in its probabilities."""
        changed = (p.subs(known, simultaneous=True) for p in self.probabilities)
        return Draw(self.numbers, self.values, tuple(changed))


def drawn_classes(
    probabilities: Sequence[sp.Expr], symbols: tuple[sp.Symbol, ...]
) -> tuple[Draw, ...]:
    """Return the draws of one-hot labels; each has successive probabilities that add up to 1.

    Args:
        probabilities: probability that each number of the label is 1.
        symbols: symbols of the index.

    Raises:
        ModelError: the probabilities of the last draw do not add up to 1, or one is not in [0, 1].
    """
    places = list(_places(sp.Tuple(*probabilities), symbols))
    for k, p in enumerate(probabilities):
        if not all(0 <= _value(p, at) <= 1 for at in places):
            raise ModelError(
                f"channel: drawn: number {k + 1}, {p}, is not a probability; give numbers of "
                "[0, 1], such as softmax"
            )
    found, first = [], 0
    for last in range(1, len(probabilities) + 1):
        if _is_one_at(places, probabilities[first:last]):
            found.append(_one_hot(first, probabilities[first:last]))
            first = last
    if first < len(probabilities):
        raise ModelError(
            f"channel: drawn: probabilities {list(probabilities[first:])} do not add up to 1; "
            "give those of all classes, as softmax does"
        )
    return tuple(found)


def finite_values(
    label: Sequence[sp.Expr], symbols: tuple[sp.Symbol, ...]
) -> tuple[Draw, ...] | None:
    """Return the draws of a label with finitely many values, None if it has others.

    Successive numbers that are 0 or 1 and add up to 1 are one draw: the largest of several scores.
    Any other number is a draw of its own.

    Args:
        label: numbers of the label as functions of the index.
        symbols: symbols of the index.
    """
    places = list(_places(sp.Tuple(*label), symbols))
    found, first = [], 0
    while first < len(label):
        ends = (k for k in range(first + 2, len(label) + 1) if _is_one_at(places, label[first:k]))
        last = next(ends, first + 1)
        group = label[first:last]
        is_bit = all(_value(p * (1 - p), at) == 0 for p in group for at in places)
        if last > first + 1 and is_bit and all(map(signs_of, group)):
            found.append(_one_hot(first, group))
        elif (draw := _draw_of_number(first, label[first], symbols)) is not None:
            found.append(draw)
            last = first + 1
        else:
            return None
        first = last
    return tuple(found)


def _draw_of_number(number: int, entry: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> Draw | None:
    """Return the draw of one number of a label, None if it is not constant on its pieces."""
    found: dict[sp.Expr, sp.Expr] = {}
    for signs, value in pieces(entry):
        if value.free_symbols & set(symbols):
            return None
        inside = sp.Mul(*((1 + side * sign) / 2 for sign, side in signs.items()))
        found[value] = found.get(value, sp.Integer(0)) + inside
    if len(found) < 2:
        return None
    values = sorted(found, key=sp.default_sort_key)
    return Draw((number,), tuple((v,) for v in values), tuple(found[v] for v in values))


def _one_hot(first: int, probabilities: Sequence[sp.Expr]) -> Draw:
    size = len(probabilities)
    values = (tuple(sp.Integer(int(i == k)) for i in range(size)) for k in range(size))
    return Draw(tuple(range(first, first + size)), tuple(values), tuple(probabilities))


def _places(
    expression: sp.Basic, symbols: tuple[sp.Symbol, ...]
) -> Iterator[dict[sp.Symbol, sp.Expr]]:
    """Yield generic values of the index, with all settings at the first of their reference
    values.
    """
    settings = {s: notation_of(s).samples[0] for s in expression.free_symbols - set(symbols)}
    primes = map(sp.prime, count(1))
    for _ in range(_PLACES):
        roots = [sp.sqrt(next(primes)) for _ in symbols]
        yield settings | {s: 2 * (x % 1) - 1 for s, x in zip(symbols, roots, strict=True)}


def _value(expression: sp.Expr, at: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
    return expression.subs(at).evalf(_DIGITS)


def add_up_to_one(numbers: Sequence[sp.Expr], symbols: tuple[sp.Symbol, ...]) -> bool:
    """Return whether numbers add up to one at generic values of the index.

    Args:
        numbers: functions of the index.
        symbols: symbols of the index.
    """
    return _is_one_at(list(_places(sp.Tuple(*numbers), symbols)), numbers)


def _is_one_at(places: list[dict[sp.Symbol, sp.Expr]], numbers: Sequence[sp.Expr]) -> bool:
    return all(abs(sum(_value(number, at) for number in numbers) - 1) < _EQUAL for at in places)
