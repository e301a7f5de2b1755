"""Compiled kernels for the Marchenko-Pastur law: physical root of the resolvent cubic, and the
closed forms at it.

The physical root is the one below the real axis; if there is none, it is the real root at which
z(g) decreases (theory note, section 4).
"""

import numpy as np
from numba.extending import register_jitable

from numeric.maths.kernels import digest, entry, inner
from numeric.model import float64 as physics

_REAL = 1e-9  # a double root has an error sqrt(eps) ~ 1e-8; smaller imaginary parts are rounding
_NEWTON = 6  # maximum number of steps; two suffice from the five digits of the start at v >= 1e-14
_LEAST_NOISE = (
    1e-14  # of the second moment; below a tenth of it 2 % of points near zero got a wrong root
)

register_jitable(physics.angle_below)  # the closed forms call them
register_jitable(physics.angle_above)
_polynomial, _moments = inner(physics.resolvent_polynomial), inner(physics.target_moments)
_position, _slope = inner(physics.inverse_stieltjes), inner(physics.resolvent_slope)
_J, _J_v, _J_b = inner(physics.spectral_J), inner(physics.spectral_J_v), inner(physics.spectral_J_b)
_J_bv, _mass = inner(physics.spectral_J_bv), inner(physics.spectral_mass)
_J_error, _J_v_error = inner(physics.spectral_J_error), inner(physics.spectral_J_v_error)
_J_b_error, _J_bv_error = inner(physics.spectral_J_b_error), inner(physics.spectral_J_bv_error)
_mass_error = inner(physics.spectral_mass_error)


@inner
def _polished(g, a3, a2, a1, a0):
    """Improve the root near g by Newton steps, as long as they make the polynomial smaller.

    Where two roots meet, further steps would be rounding errors.
    """
    value = ((a3 * g + a2) * g + a1) * g + a0
    for _ in range(_NEWTON):
        step = value / ((3.0 * a3 * g + 2.0 * a2) * g + a1)
        following = ((a3 * (g - step) + a2) * (g - step) + a1) * (g - step) + a0
        if not abs(following) < abs(value):
            break
        g, value = g - step, following
    return g


@inner
def root(v, b, kappa0, r):
    """Return the Stieltjes transform of the noisy law at b, approached from above.

    It uses Cardano's formula for 1/g. As |g| is at most 1/sqrt(v), its inverse is not lost in the
    rounding errors of the other roots.
    """
    a3, a2, a1, a0 = _polynomial(v, b, kappa0, r)
    A, B, C = a1 / a0, a2 / a0, a3 / a0
    unit = max(abs(A), np.sqrt(abs(B)), np.cbrt(abs(C)))  # unit of 1/g; avoids overflow
    A, B, C = A / unit, B / unit / unit, C / unit / unit / unit
    Q, R = (A * A - 3.0 * B) / 9.0, ((2.0 * A * A - 9.0 * B) * A + 27.0 * C) / 54.0
    if R * R > Q * Q * Q:
        S = -np.copysign(np.cbrt(abs(R) + np.sqrt(R * R - Q * Q * Q)), R)
        T = Q / S
        inverse = complex(-0.5 * (S + T) - A / 3.0, 0.5 * np.sqrt(3.0) * abs(S - T))
        g = _polished(1.0 / (unit * inverse), a3, a2, a1, a0)
        if g.imag < -_REAL * abs(g):
            return g
    theta = np.arccos(min(1.0, max(-1.0, R / np.sqrt(Q * Q * Q)))) if Q > 0.0 else 0.0
    best, least = complex(np.nan, 0.0), np.inf
    for k in range(3):
        inverse = -2.0 * np.sqrt(max(Q, 0.0)) * np.cos((theta + 2.0 * np.pi * k) / 3.0) - A / 3.0
        g = complex(_polished(1.0 / (unit * inverse), a3, a2, a1, a0), 0.0)
        slope = _slope(g.real, v, kappa0, r)
        if slope < least:
            best, least = g, slope
    return best


@inner
def edge(v, kappa0, r):
    """Return the upper end of the noisy law: the minimum of z(g), which is convex between its poles
    0 and r.
    """
    low, high = 0.0, r
    while True:
        g = 0.5 * (low + high)
        if not low < g < high:
            return _position(g, v, kappa0, r)
        if _slope(g, v, kappa0, r) < 0.0:
            low = g
        else:
            high = g


@inner
def values(g, v, b, kappa0, r):
    """Return J, J_v, J_b and mass above b, and proven bounds on their rounding errors, at the
    physical root g.

    The bounds are infinite below the edge if v is so small that rounding may have selected another
    root.
    """
    if 0.0 < v < _LEAST_NOISE * _moments(kappa0, r)[1]:
        error = 0.0 if b >= edge(v, kappa0, r) else np.inf
        return (0.0, 0.0, 0.0, 0.0), (error, error, error, error)
    if g.imag == 0.0 and 0.0 < g.real < r:  # b is beyond the upper edge
        return (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
    return (
        _J(g, v, b, kappa0, r),
        _J_v(g, v, b, kappa0, r),
        _J_b(g, v, b, kappa0, r),
        _mass(g, v, b, kappa0, r),
    ), (
        _J_error(g, v, b, kappa0, r),
        _J_v_error(g, v, b, kappa0, r),
        _J_b_error(g, v, b, kappa0, r),
        _mass_error(g, v, b, kappa0, r),
    )


@inner
def mixed(g, v, b, kappa0, r):
    """Return J_bv and the proven bound on its rounding error. It is needed only if the rank limit
    acts.
    """
    if g.imag == 0.0 and 0.0 < g.real < r:
        return 0.0, 0.0
    return _J_bv(g, v, b, kappa0, r), _J_bv_error(g, v, b, kappa0, r)


_SOURCES = digest(physics)


@entry
def at_point(v, b, kappa0, r, sources=_SOURCES):
    """Return J, J_v, J_b, J_bv and mass above b, and proven bounds on their rounding errors."""
    g = root(v, b, kappa0, r)
    (J, J_v, J_b, mass), (J_error, J_v_error, J_b_error, mass_error) = values(g, v, b, kappa0, r)
    J_bv, J_bv_error = mixed(g, v, b, kappa0, r)
    return (J, J_v, J_b, J_bv, mass), (J_error, J_v_error, J_b_error, J_bv_error, mass_error)


@entry
def fill_roots(v, b, kappa0, r, found, sources=_SOURCES):
    """Write the complex roots at points (v, b, kappa0, r), each of shape (points,), to `found`."""
    for k in range(len(v)):
        found[k] = root(v[k], b[k], kappa0[k], r[k])


@entry
def fill_points(first, last, v, b, kappa0, r, found, errors, sources=_SOURCES):
    """Write columns `first` to `last` of J, J_v, J_b, mass and of their error bounds, both of shape
    (4, points).
    """
    for k in range(first, last):
        value, error = values(root(v[k], b[k], kappa0, r), v[k], b[k], kappa0, r)
        for j in range(4):
            found[j, k], errors[j, k] = value[j], error[j]


@entry
def upper_edge(v, kappa0, r, sources=_SOURCES):
    """Return the upper end of the noisy law."""
    return edge(v, kappa0, r)
