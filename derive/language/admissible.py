"""Numerical check that the loss of a sample has a minimum, along rays of the index, at labels of
the model itself.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import mpmath
import sympy as sp

from derive.language.elementary import Logistic, Sign, Softplus
from derive.language.errors import ModelError
from derive.language.notation import family
from derive.language.setting import notation_of

_FAR = 2  # distance of a noisy label from its place without noise, along each of its numbers
_LABELS, _RAYS = 3, 4  # number of labels, and of rays besides the axes
_SIZES = tuple(10**k for k in range(7))  # norms of the index along a ray
_LAST = 4  # an unbounded loss falls in each of these last steps by at least half of the step before
_ROUNDING = 1e-9  # relative rounding error of values with 15 digits
_MP = mpmath.mp  # exponents have no bound
_FUNCTIONS = {
    Logistic.__name__: lambda x: 1 / (1 + _MP.exp(-x)),
    Softplus.__name__: lambda x: _MP.log1p(_MP.exp(x)),
    Sign.__name__: _MP.sign,
}


def require_bounded_loss(
    loss: sp.Expr,
    index: tuple[sp.Symbol, ...],
    label: tuple[sp.Expr, ...],
    noisy: bool = False,
    classes: tuple[tuple[sp.Expr, ...], ...] = (),
) -> None:
    """Check that a loss is real and bounded below.

    Args:
        loss: loss as a function of the index and of the label y1, y2, ...
        index: symbols of the index.
        label: label as a function of the target's index.
        noisy: whether noise is added to the label, which may then have any value.
        classes: values of a label that has no others.

    Raises:
        ModelError: the loss is not real, or falls without bound.
    """
    cost = _at_samples(loss, (*index, *family("y", len(label))))
    numbers = _at_samples(sp.Tuple(*label), index)
    places = (_values(numbers, z) for z in _points(len(index), _LABELS))
    for known in classes or places:
        shifts = ((_FAR * one for one in shift) for shift in _axes(len(label))) if noisy else ()
        shifted = [[y + more for y, more in zip(known, shift, strict=True)] for shift in shifts]
        rays = (*_axes(len(index)), *_points(len(index), _RAYS))
        for one, ray in product((known, *shifted), rays):
            values = [_values(cost, [*(size * x for x in ray), *one]) for size in _SIZES]
            _require_no_fall([_real(value) for value in values], loss)


def _require_no_fall(along: Sequence[mpmath.mpf], loss: sp.Expr) -> None:
    falls = [before - after for before, after in pairwise(along)][-_LAST:]
    rounding = _ROUNDING * max(map(abs, along))
    if falls[0] > rounding and all(2 * later > fall for fall, later in pairwise(falls)):
        raise ModelError(
            f"channel: loss {loss} is not bounded below: it falls to "
            f"{mpmath.nstr(along[-1], 3)} at an index of size {_SIZES[-1]}; give a loss that is "
            "bounded below, also at labels with noise where noise is added"
        )


def _at_samples(expression: sp.Basic, arguments: tuple[sp.Symbol, ...]) -> Any:
    """Return a function of the arguments, with all settings at the first of their reference
    values.
    """
    values = {s: notation_of(s).samples[0] for s in expression.free_symbols - set(arguments)}
    return sp.lambdify(arguments, expression.subs(values), modules=[_FUNCTIONS, "mpmath"])


def _values(function, point):  # type: ignore[no-untyped-def]
    try:
        return function(*point)
    except (ZeroDivisionError, ValueError):
        return _MP.nan


def _real(value: object) -> mpmath.mpf:
    number = _MP.mpmathify(value)
    if _MP.im(number) != 0 or _MP.isnan(number):
        raise ModelError(
            "channel: the loss is not a real number at some index; give an output and a loss "
            "that are "
            "defined everywhere"
        )
    return _MP.re(number)


def _axes(count: int) -> Iterator[list[int]]:
    for k in range(count):
        for sign in (1, -1):
            yield [sign * (i == k) for i in range(count)]


def _points(count: int, points: int) -> Iterator[list[mpmath.mpf]]:
    rng = random.Random(points)
    for _ in range(points):
        yield [_MP.mpf(rng.uniform(-2, 2)) for _ in range(count)]
