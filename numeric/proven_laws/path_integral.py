"""Path integral of the spectral function of a finite law, from the real axis beyond its eigenvalues
to a point u.

The path is a quarter circle around Re u, from the real axis to the vertical line through u, and
then this line down to u. As a function of the logarithm of the height, the integrand is analytic in
a strip of half-width pi/2, because all eigenvalues are real.
"""

from collections.abc import Callable
from typing import Protocol

from flint import acb, arb

from numeric.maths.ball_quadrature import Panel, Values, integrate
from numeric.maths.balls import Ball, ComplexBall, Unresolved, precision
from numeric.model import balls as generated

Position = Callable[[Ball], tuple[ComplexBall, ComplexBall]]
# Bounds of the integrands for |u - centre| <= reach and |G| <= transform.
Bounds = Callable[[Ball, Ball], tuple[Ball, ...]]
I = acb(0, 1)
# Half-width of the strip in use, below pi/2. A larger value increases the bound on the integrand, a
# smaller one the number of nodes.
_STRIP = 1.3
_PANEL = 3.0  # length of a panel in the logarithm of the height
_FAR = 4  # radius of the circle / distance of the farthest eigenvalue


class Transform(Protocol):
    """Stieltjes transform of a law of mass up to one, and distances from its support."""

    def distances(self, centre: Ball) -> tuple[Ball, Ball]:
        """Return bounds of the least and the largest distance of a real point from the support."""

    def stieltjes(self, u: ComplexBall) -> ComplexBall:
        """Return G(u)."""


def path_integral(law: Transform, u: ComplexBall, v: Ball, x: Ball) -> Values:
    """Return the integrals of the generated `finite_integrands` up to u, in their order.

    Args:
        law: Stieltjes transform and support of the law.
        u: end of the path.
        v: variance of the semicircle, eigenvalue^2.
        x: position, eigenvalue.
    """

    def integrand(position: ComplexBall) -> Values:
        return generated.finite_integrands(position, law.stieltjes(position), v, x)

    end = u.mid()
    parts = [integrate(panel, integrand, precision()) for panel in _panels(law, end, v, x)]
    totals = (sum(column, acb(0)) for column in zip(*parts, strict=True))
    last = integrand(u)  # from the centre of the ball u to any of its points
    return tuple(total + (u - end) * edge for total, edge in zip(totals, last, strict=True))


def _panels(law: Transform, end: ComplexBall, v: Ball, x: Ball) -> list[Panel]:
    """Return the panels of the path, from the start of the quarter circle on the real axis to
    `end`.
    """
    centre = end.real
    nearest, farthest = law.distances(centre)
    panels = []

    def bounds(reach: Ball, transform: Ball) -> tuple[Ball, ...]:
        """Return bounds of the integrands for |u - centre| <= reach and |G| <= transform."""
        position, g = _square(reach) + centre, _square(transform)
        return tuple(value.abs_upper() for value in generated.finite_integrands(position, g, v, x))

    height = end.imag
    if height.is_zero():
        if not nearest > 0:
            raise Unresolved("the end of the path is not proven to be outside of the support")
        panels.append(_foot(centre, nearest, bounds))
        height = nearest
    radius = height
    if height < _FAR * farthest:
        radius = _FAR * farthest
        span = (radius / height).log()
        count = int(float(span.abs_upper()) / _PANEL) + 1
        for k in range(count):
            low, high = span * k / count, span * (k + 1) / count
            panels.append(_vertical(centre, height, low, high, bounds))
    panels.append(_quarter(centre, radius, farthest, bounds))
    return panels


def _square(radius: Ball) -> ComplexBall:
    """Return a square around 0 that contains the disc of this radius."""
    return acb(arb(0, radius), arb(0, radius))


def _ellipse(semi_minor: Ball) -> tuple[Ball, Ball]:
    """Return the sum of the semi-axes and the semi-major axis of the Bernstein ellipse with this
    semi-minor axis.
    """
    semi_major = (semi_minor**2 + 1).sqrt()
    return semi_minor + semi_major, semi_major


def _panel(
    position: Position, bounds: Bounds, reach: Ball, distance: Ball, speed: Ball, ellipse: Ball
) -> Panel:
    """Return a panel with bounds of the integrands for |u - centre| <= reach, for eigenvalues that
    are at least at `distance`, and for |du/ds| <= speed.
    """
    values = bounds(reach.abs_upper(), (1 / distance).abs_upper())
    return Panel(position, tuple((value * speed).abs_upper() for value in values), ellipse)


def _vertical(centre: Ball, height: Ball, low: Ball, high: Ball, bounds: Bounds) -> Panel:
    """Return the panel from height exp(high) down to height exp(low), in units of `height`."""
    middle, half = (high + low) / 2, (high - low) / 2
    ellipse, semi_major = _ellipse(_STRIP / half)
    reach = height * (middle + half * semi_major).exp()
    least_height = height * (middle - half * semi_major).exp() * arb(_STRIP).cos()

    def position(node: Ball) -> tuple[ComplexBall, ComplexBall]:
        offset = I * height * (middle - half * node).exp()
        return centre + offset, -half * offset

    return _panel(position, bounds, reach, least_height, half * reach, ellipse)


def _quarter(centre: Ball, radius: Ball, farthest: Ball, bounds: Bounds) -> Panel:
    """Return the panel of the quarter circle from centre + radius to centre + i radius."""
    half = arb.pi() / 4
    room = _STRIP
    if not farthest.is_zero():
        room = min(room, float((radius / farthest).log().lower()) / 2)
    ellipse, _ = _ellipse(room / half)
    reach, distance = radius * arb(room).exp(), radius * arb(-room).exp() - farthest

    def position(node: Ball) -> tuple[ComplexBall, ComplexBall]:
        offset = radius * (I * half * (1 + node)).exp()
        return centre + offset, I * half * offset

    return _panel(position, bounds, reach, distance, half * reach, ellipse)


def _foot(centre: Ball, nearest: Ball, bounds: Bounds) -> Panel:
    """Return the panel from the height `nearest`, the distance of the nearest eigenvalue, down to a
    real point.
    """
    half = nearest / 2
    ellipse, semi_major = _ellipse(arb(1))
    reach = half * (1 + semi_major)

    def position(node: Ball) -> tuple[ComplexBall, ComplexBall]:
        return centre + I * half * (1 - node), -I * half

    return _panel(position, bounds, reach, half, half, ellipse)
