"""Gauss-Legendre quadrature in ball arithmetic with a proven error bound."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from flint import acb, arb

from numeric.maths.balls import Ball, ComplexBall, precision, working

Values = tuple[ComplexBall, ...]


class Panel(NamedTuple):
    """Analytic piece of a path u(s), s in [-1, 1].

    Attributes:
        position: u and du/ds as functions of s.
        bounds: bounds of |integrand du/ds| on a Bernstein ellipse, one for each integrand.
        ellipse: sum of the semi-axes of this ellipse.
    """

    position: Callable[[Ball], tuple[ComplexBall, ComplexBall]]
    bounds: tuple[Ball, ...]
    ellipse: Ball


@lru_cache(maxsize=64)
def rule(count: int, bits: int) -> tuple[tuple[Ball, Ball], ...]:
    """Return nodes and weights on [-1, 1].

    Args:
        count: number of nodes.
        bits: working precision.
    """
    with working(bits):
        return tuple(arb.legendre_p_root(count, k, weight=True) for k in range(count))


def integrate(panel: Panel, integrand: Callable[[ComplexBall], Values], bits: int) -> Values:
    """Return enclosures of the integrals over a panel.

    The error of n nodes is at most 64/15 * bound * ellipse^(-2n)/(1 - ellipse^-2) (Trefethen,
    Approximation Theory and Approximation Practice, Theorem 19.3).

    Args:
        panel: path with bounds of the integrands.
        integrand: values of all integrands at u.
        bits: accuracy in bits relative to the bounds.
    """
    count = int(float(bits * arb.const_log2() / (2 * panel.ellipse.log()))) + 1
    total: list[Any] = [acb(0)] * len(panel.bounds)
    for node, weight in rule(count, precision()):
        u, speed = panel.position(node)
        factor = weight * speed
        for k, value in enumerate(integrand(u)):
            total[k] += factor * value
    truncation = arb(64) / 15 * panel.ellipse ** (-2 * count) / (1 - panel.ellipse**-2)
    radii = (arb(0, (truncation * bound).abs_upper()) for bound in panel.bounds)
    return tuple(value + acb(error, error) for value, error in zip(total, radii, strict=True))
