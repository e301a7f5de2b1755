"""Gauss-Legendre quadrature in ball arithmetic with a proven error."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from flint import acb, arb

from numeric.maths.balls import Ball, ComplexBall, precision, working

Values = tuple[ComplexBall, ...]


class Panel(NamedTuple):
    """An analytic piece of a path: u(s), s in [-1, 1], with du/ds, and |integrand du/ds| <= `bounds` on the Bernstein ellipse
    whose semi-axes add up to `ellipse`.
    """

    position: Callable[[Ball], tuple[ComplexBall, ComplexBall]]
    bounds: tuple[Ball, ...]
    ellipse: Ball


@lru_cache(maxsize=64)
def rule(count: int, bits: int) -> tuple[tuple[Ball, Ball], ...]:
    """Nodes and weights on [-1, 1]."""
    with working(bits):
        return tuple(arb.legendre_p_root(count, k, weight=True) for k in range(count))


def integrate(panel: Panel, integrand: Callable[[ComplexBall], Values], bits: int) -> Values:
    """Enclosures of the integrals over the panel, truncated at about `bits` bits below the bounds.

    The error of n nodes is at most 64/15 * bound * ellipse^(-2n)/(1 - ellipse^-2) (Trefethen, Approximation Theory and
    Approximation Practice, Theorem 19.3).
    """
    count = int(float(bits * arb.const_log2() / (2 * panel.ellipse.log()))) + 1
    total: list[Any] = [acb(0)] * len(panel.bounds)
    for node, weight in rule(count, precision()):
        u, speed = panel.position(node)
        factor = weight * speed
        for k, value in enumerate(integrand(u)):
            total[k] += factor * value
    truncation = arb(64) / 15 * panel.ellipse ** (-2 * count) / (1 - panel.ellipse**-2)
    return tuple(
        value
        + acb(arb(0, (truncation * bound).abs_upper()), arb(0, (truncation * bound).abs_upper()))
        for value, bound in zip(total, panel.bounds, strict=True)
    )
