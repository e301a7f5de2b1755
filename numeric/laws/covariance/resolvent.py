"""Compiled kernels for a free Poisson target whose eigenvectors are independent of the covariance.

The law is that of C^{1/2} S0 C^{1/2} + shift C + b (1 - C^{-1}) + sqrt(v) G. Its Stieltjes
transform g and the transform h weighted by C solve g = E_c[1/D], h = E_c[c/D] with the denominator
D of the step `token_covariance`. In the upper half-plane they are the only solution with negative
imaginary parts. It is followed by Newton steps from far above the real axis, where g and h are 1/z.

`c` are the eigenvalues of the covariance, `w` their weights, both of shape (K,); `rate` and `r`
are the parameters of the target law, and the `shift` adds to its R-transform.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from numeric.maths.kernels import digest, entry, inner
from numeric.model import float64 as physics

Array = NDArray[np.float64]
REORDERED = {"reassoc", "contract"}  # sums over positive weights
compiled = partial(inner, fastmath=REORDERED)
_denominator, _strength = inner(physics.covariance_denominator), inner(physics.r_transform)
_integrands = inner(physics.density_integrands)
EPS = 2.0**-52
PANEL = 3.0  # length of a panel in the logarithm of the height
FAR = 4.0  # start of a path / size of the law; radius of the quarter circle / distance of the edge
LOWEST = 1e-15  # height at which a path ends / its radius; integrands are bounded below it
NEAR = 1e-9  # largest last step of a solution that is accepted from a neighbouring position
_STEPS = 80  # Newton needs fewer than 10 from the neighbouring point
_LEVELS = 56  # halvings of the height on the way down to the real axis


@compiled
def solve_at(z, v, b, c, w, rate, r, shift, g, h):
    """Return g, h and the size of the last step, by Newton's method from a start.

    A step that leaves the lower half-plane is replaced by one application of the map, which keeps
    it.
    """
    moved = np.inf
    for _ in range(_STEPS):
        strength, slope = _strength(h, rate, r)
        strength += shift
        s0, s1, p0, p1, p2 = 0j, 0j, 0j, 0j, 0j
        for k in range(len(c)):
            inverse = 1.0 / _denominator(z - v * g, strength, b, c[k])
            term = w[k] * inverse
            square = term * inverse
            s0 += term
            s1 += c[k] * term
            p0 += square
            p1 += c[k] * square
            p2 += c[k] * c[k] * square
        a11, a12, a21, a22 = 1.0 - v * p0, -slope * p1, -v * p1, 1.0 - slope * p2
        determinant = a11 * a22 - a12 * a21
        f0, f1 = s0 - g, s1 - h
        dg, dh = (a22 * f0 - a12 * f1) / determinant, (a11 * f1 - a21 * f0) / determinant
        if (z.imag > 0.0 and ((g + dg).imag >= 0.0 or (h + dh).imag >= 0.0)) or not (
            np.isfinite(dg.real) and np.isfinite(dh.real)
        ):
            dg, dh = 0.5 * f0, 0.5 * f1
        last = moved
        moved = abs(dg) / abs(g) + abs(dh) / abs(h)
        g, h = g + dg, h + dh
        if moved < 4 * EPS or (moved < 1e-11 and moved >= 0.5 * last):
            break
    return g, h, moved


@compiled
def descend(z, size, v, b, c, w, rate, r, shift):
    """Return g, h and the last step at z, from far above it."""
    height = FAR * size
    g = h = 1.0 / (z + 1j * height)
    for _ in range(_LEVELS):
        g, h, _ = solve_at(z + 1j * height, v, b, c, w, rate, r, shift, g, h)
        if height < 0.5 * z.imag:
            break
        height *= 0.5
    return solve_at(z, v, b, c, w, rate, r, shift, g, h)


@compiled
def _add(total, errors, z, speed, g, h, moved, v, x, b, c, w, rate, r, shift):
    """Add the integrands at z times dz = speed: J, J_v, J_b, J_vv, J_bv, mass, then J_b and the
    mass of the densities weighted by 1/c and by c; the last is that of h.
    """
    strength, _ = _strength(h, rate, r)
    strength += shift
    weighted = 0j
    for k in range(len(c)):
        weighted += w[k] / (c[k] * _denominator(z - v * g, strength, b, c[k]))
    rounding = moved + (16.0 + np.sqrt(len(c))) * EPS
    for k, value in enumerate(_integrands(z, g, x)):
        total[k] += value * speed
        errors[k] += rounding * abs(value * speed)
    for number, transform in enumerate((weighted, h)):
        of_weighted = _integrands(z, transform, x)
        for k, value in enumerate((of_weighted[2], of_weighted[5])):
            total[6 + 2 * number + k] += value * speed
            errors[6 + 2 * number + k] += rounding * abs(value * speed)


_SOURCES = digest(physics)


@partial(entry, fastmath=REORDERED)
def _fill_energies(
    v,
    x,
    b,
    side,
    radius,
    size,
    c,
    w,
    rate,
    r,
    shift,
    nodes,
    weights,
    total,
    errors,
    sources=_SOURCES,
):
    top = complex(x, radius)
    g, h, moved = descend(top, size, v, b, c, w, rate, r, shift)
    g0, h0 = g, h
    # From the real axis beyond the edge to the top: nodes are visited from the top downwards.
    for k in range(len(nodes)):
        angle = 0.25 * np.pi * (1.0 - nodes[k])
        offset = radius * complex(side * np.cos(angle), np.sin(angle))
        g, h, moved = solve_at(x + offset, v, b, c, w, rate, r, shift, g, h)
        speed = 0.25j * np.pi * weights[k] * offset * side
        _add(total, errors, x + offset, speed, g, h, moved, v, x, b, c, w, rate, r, shift)
    g, h = g0, h0
    span = -np.log(LOWEST)
    count = int(span / PANEL) + 1
    for panel in range(count):
        for k in range(len(nodes)):
            y = radius * np.exp(-span * (panel + 0.5 * (1.0 + nodes[k])) / count)
            z = complex(x, y)
            g, h, moved = solve_at(z, v, b, c, w, rate, r, shift, g, h)
            speed = complex(0.0, -0.5 * span / count * weights[k] * y)
            _add(total, errors, z, speed, g, h, moved, v, x, b, c, w, rate, r, shift)


def energies(
    v: float,
    x: float,
    b: float,
    side: int,
    reach: tuple[float, float],
    covariance: tuple[Array, Array],
    law: tuple[float, float, float],
    rule: tuple[Array, Array],
) -> tuple[NDArray[np.complex128], Array]:
    """Return the path integrals of the noisy law on one side of x, and estimates of their errors.

    The order is J, J_v, J_b, J_vv, J_bv, mass, then J_b and the mass of the densities weighted
    by 1/c and by c. `finite_value` converts them to real numbers.

    Args:
        v: variance of the semicircle, eigenvalue^2.
        x: position, eigenvalue.
        b: threshold of the law, eigenvalue.
        side: 1 for the part above x, -1 for the part below.
        reach: radius of the path around x, and size of the law, eigenvalue.
        covariance: eigenvalues and weights, shape (K,) each.
        law: parameters of the target, and shift.
        rule: nodes and weights of a quadrature on [-1, 1].
    """
    total, errors = np.zeros(10, dtype=np.complex128), np.zeros(10)
    _fill_energies(v, x, b, float(side), *reach, *covariance, *law, *rule, total, errors)
    return -side * total, errors


@partial(entry, fastmath=REORDERED)
def _fill_transforms(x, v, b, size, c, w, rate, r, shift, found, sources=_SOURCES):
    g = h = 0j
    for k in range(len(x)):
        z = complex(x[k], 0.0)
        moved = np.inf
        if g.imag < 0.0 and h.imag < 0.0:  # inside a bulk the neighbour is a start
            g, h, moved = solve_at(z, v, b, c, w, rate, r, shift, g, h)
        if not (moved < NEAR and g.imag < -NEAR * abs(g) and h.imag < 0.0):  # or a real root
            g, h, _ = descend(z, size, v, b, c, w, rate, r, shift)
        found[k] = g


def transforms(
    x: Array,
    v: float,
    b: float,
    size: float,
    covariance: tuple[Array, Array],
    law: tuple[float, float, float],
) -> NDArray[np.complex128]:
    """Return the Stieltjes transforms of the noisy law at real positions x, shape (n,).

    Args:
        x: positions, eigenvalue.
        v: variance of the semicircle, eigenvalue^2.
        b: threshold of the law, eigenvalue.
        size: size of the law, eigenvalue.
        covariance: eigenvalues and weights, shape (K,) each.
        law: parameters of the target, and shift.
    """
    found = np.empty(len(x), dtype=np.complex128)
    _fill_transforms(x, v, b, size, *covariance, *law, found)
    return found
