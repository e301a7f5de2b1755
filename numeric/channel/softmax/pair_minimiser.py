"""The proximal map of one sample: the global minimiser of its Moreau energy (theory note, section
3).

The energy of a pair u has up to four minima: each component either rests near its field or fits its
label. Everything here is compiled and works on scalars.
"""

from typing import NamedTuple

import numpy as np

from numeric.maths.kernels import inner
from numeric.model import float64 as physics

# largest step from a start, in units of 1/beta: half the width of a sigmoid, so that no barrier is
# jumped
MAX_STEP = 2.0
ROW_CURVATURE = -float(physics.least_row_curvature())  # at beta = 1, whatever the number of tokens


class Setting(NamedTuple):
    """What all samples share."""

    V: float
    beta: float
    beta0: float


class Line(NamedTuple):
    """Fields along a line of g_in: value at x = 0 and slope of each component."""

    w1: float
    w2: float
    w1_slope: float
    w2_slope: float
    z1: float
    z2: float
    z1_slope: float
    z2_slope: float


class Sample(NamedTuple):
    """Student field, target field and labels."""

    w1: float
    w2: float
    z1: float
    z2: float
    p1: float
    p2: float


_label, dual_field = inner(physics.label), inner(physics.dual_field)
_energy, _gradient, _hessian = (
    inner(function)
    for function in (physics.sample_energy, physics.sample_gradient, physics.sample_hessian)
)


@inner
def sample(line: Line, x: float, setting: Setting) -> Sample:
    """Fields and labels at x on a line."""
    z1, z2 = line.z1 + x * line.z1_slope, line.z2 + x * line.z2_slope
    labels = _label(z1, setting.beta0), _label(z2, setting.beta0)
    return Sample(
        line.w1 + x * line.w1_slope, line.w2 + x * line.w2_slope, z1, z2, labels[0], labels[1]
    )


@inner
def energy_at(u1: float, u2: float, at: Sample, setting: Setting) -> float:
    """Moreau energy of u."""
    return _energy(u1, u2, at.w1, at.w2, at.p1, at.p2, setting.V, setting.beta)


@inner
def _newton_step(
    g1: float, g2: float, h11: float, h12: float, h22: float, V: float
) -> tuple[float, float, bool]:
    """Newton's step, or Levenberg and Marquardt's where the Hessian is not positive; and whether it
    is Newton's.
    """
    determinant = h11 * h22 - h12**2
    newton = h11 > 0.0 and determinant > 0.0
    if not newton:
        lowest = 0.5 * (h11 + h22) - np.sqrt(0.25 * (h11 - h22) ** 2 + h12**2)
        shift = (
            0.02 / V - 2.0 * lowest
        )  # new lowest eigenvalue: |old| + a small part of the elastic stiffness ~1/V
        h11, h22 = h11 + shift, h22 + shift
        determinant = h11 * h22 - h12**2
    inverse = 1.0 / determinant
    return (h12 * g2 - h22 * g1) * inverse, (h12 * g1 - h11 * g2) * inverse, newton


@inner
def descend(
    u1: float, u2: float, at: Sample, setting: Setting, reach: float
) -> tuple[float, float]:
    """The local minimiser that Newton's method, safeguarded and with steps of at most `reach`,
    comes to from u.
    """
    V, beta = setting.V, setting.beta
    for _ in range(100):
        g1, g2 = _gradient(u1, u2, at.w1, at.w2, at.p1, at.p2, V, beta)
        h11, h12, h22 = _hessian(u1, u2, at.w1, at.w2, at.p1, at.p2, V, beta)
        d1, d2, newton = _newton_step(g1, g2, h11, h12, h22, V)
        size = abs(d1) + abs(d2)
        if size > reach:
            d1, d2, size = d1 * reach / size, d2 * reach / size, reach
        if (
            size * beta > 1.0
        ):  # beyond the range 1/beta of the quadratic model: backtrack until the energy falls
            ceiling = energy_at(u1, u2, at, setting)
            while size * beta > 1e-6 and energy_at(u1 + d1, u2 + d2, at, setting) > ceiling:
                d1, d2, size = 0.4 * d1, 0.4 * d2, 0.4 * size
        u1, u2 = u1 + d1, u2 + d2
        if newton and size < 1e-6 * (
            1.0 + abs(u1) + abs(u2)
        ):  # quadratic convergence: error now ~1e-12
            break
    return u1, u2


@inner
def single_well(setting: Setting) -> bool:
    """Return whether the energy of every sample is convex: a row sees the difference of its two
    indices, its unit vector times 2^(1/2).
    """
    elastic = _hessian(0.0, 0.0, 0.0, 0.0, 0.5, 0.5, setting.V, 0.0)
    return elastic[0] - abs(elastic[1]) > 0.5 * ROW_CURVATURE * setting.beta**2


@inner
def global_minimiser(u1: float, u2: float, at: Sample, setting: Setting) -> tuple[float, float]:
    """The lowest minimum reached from u and from each component either at rest or fitted (its label
    reproduced).

    Per component the energy has at most these two wells: the elastic one, centred where the other
    component leaves it at rest, and the dip of the loss, which a saturated label widens to a
    half-line with its edge near u = 0.
    """
    V, beta = setting.V, setting.beta
    u1, u2 = descend(u1, u2, at, setting, np.inf)
    if single_well(setting):
        return u1, u2
    far = 4.0 / beta  # starts further out than the edge of the dip would only cost steps
    fit1 = min(max(at.z1 * setting.beta0 / beta, -far), far)
    fit2 = min(max(at.z2 * setting.beta0 / beta, -far), far)
    stiffness1 = dual_field(at.w1 + 1.0, at.w2, at.w1, at.w2, V)[0]
    stiffness2 = dual_field(at.w1, at.w2 + 1.0, at.w1, at.w2, V)[1]
    rest1 = at.w1 - dual_field(at.w1, fit2, at.w1, at.w2, V)[0] / stiffness1
    rest2 = at.w2 - dual_field(fit1, at.w2, at.w1, at.w2, V)[1] / stiffness2
    lowest = energy_at(u1, u2, at, setting)
    for start1, start2 in ((at.w1, at.w2), (fit1, rest2), (rest1, fit2), (fit1, fit2)):
        v1, v2 = descend(start1, start2, at, setting, MAX_STEP / beta)
        energy = energy_at(v1, v2, at, setting)
        if energy < lowest and abs(v1 - u1) + abs(v2 - u2) > 1e-6:
            u1, u2, lowest = v1, v2, energy
    return u1, u2


@inner
def follow(
    x: float, line: Line, u1: float, u2: float, setting: Setting
) -> tuple[float, float, float]:
    """The minimum at x on the branch of u, if it exists there (another one otherwise), and its
    energy.
    """
    at = sample(line, x, setting)
    u1, u2 = descend(u1, u2, at, setting, np.inf)
    return u1, u2, energy_at(u1, u2, at, setting)
