"""Averages over the output channel of tied attention at two tokens, on the fitted branch: the
minimum connected to the sample's label.

With the student field w at an index u0 that reproduces the label, u0 is the minimum. From there the
field moves on a ray, and with it the minimum, up to a fold where it merges with a saddle and slides
into another one. One ray gives the minimisers of all samples on it:

1. Labels: the target field z, Gauss-Hermite on one quadrant (averages are invariant under exchange
   of the tokens and change of all signs).
2. Directions of w - u0: trapezoidal rule in the angle, exponentially accurate where nothing folds.
3. Along a ray: Gauss-Legendre on panels in which the minimum moves by at most 1/beta; towards a
   fold, where it moves like the root of the distance, panels shrink with that distance. Behind the
   fold the integral goes on.

Source: docs/explanation/weak_decay.md. Formulas come from generated/tied_attention (theory.md,
sections 1-3).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from numeric.channel.softmax import fitted_minimiser, pair_minimiser
from numeric.channel.softmax.fitted_minimiser import CONTRACTION, MAX_FIRST_STEP
from numeric.channel.softmax.gauss_hermite import gauss_hermite
from numeric.channel.softmax.pair_minimiser import MAX_STEP, Sample, Setting, descend, dual_field
from numeric.maths.domain import OutsideDomain
from numeric.maths.kernels import digest, entry, inner, over_blocks
from numeric.model import float64 as physics

Array = NDArray[np.float64]

CUT = 6.5  # standard deviations of the field kept; the rest has probability 7e-10
STEP_TOLERANCE = 1e-9  # step in units of 1/beta + |u| after which nothing is left but rounding
RESTART = 0.02  # standard deviations: first step behind a fold
MIN_LABEL_PROBABILITY = 1e-10  # probability below which a label is left out
# Relative curvature of the Moreau energy below which it counts as this much: at a fold the square
# of the response diverges, and its mean like a logarithm. Among n samples the least curvature is of
# order n^-1/2; these are 10^4.
MIN_CURVATURE = 0.01
MASS = 1e-4  # by which the probabilities of all samples may miss 1

_loss, _loss_gradient, _dual_energy = (
    inner(physics.sample_loss),
    inner(physics.loss_gradient),
    inner(physics.dual_energy),
)
_gradient, _hessian, _response = (
    inner(physics.sample_gradient),
    inner(physics.sample_hessian),
    inner(physics.pair_response),
)
_loss_hessian, _label = inner(physics.loss_hessian), inner(physics.label)


class FittedAverages(NamedTuple):
    """Averages per sample: losses at the minimiser and at the field, f^T Sigma f, f.gamma1,
    f.gamma2 with f the dual field.

    response: E||L^T (df/dw) L||^2, cut off at MIN_CURVATURE; lost: probability of samples beyond a
    fold, whose minimum is no longer that of the label.
    """

    train: float
    test: float
    dual: float
    F1: float
    F2: float
    response: float
    lost: float


@dataclass(frozen=True)
class Resolution:
    """Node counts.

    labels: Gauss-Hermite nodes per component of z, even (no node on the symmetry axes)
    angles: directions, more by how far the label's index is from the mean of the field
    nodes: Gauss-Legendre nodes per panel, at most `longest` standard deviations of the field long
    shortest: the same, distance from a fold at which panels end
    """

    labels: int
    angles: int
    nodes: int
    longest: float
    shortest: float

    def __post_init__(self) -> None:
        if self.labels < 2 or self.labels % 2:
            raise ValueError(
                f"labels must be even and positive (no node on the axes), got {self.labels!r}"
            )

    def refined(self) -> "Resolution":
        """About one and a half times the nodes in each direction."""
        return Resolution(
            labels=self.labels + 2 * ((self.labels + 2) // 4),
            angles=self.angles + (self.angles + 1) // 2,
            nodes=self.nodes + 1,
            longest=self.longest / 1.25,
            shortest=self.shortest / 4,
        )


COARSE = Resolution(labels=32, angles=16, nodes=4, longest=1.0, shortest=1e-6)


class Ray(NamedTuple):
    """Fields (u1 + r g1, u2 + r g2), r > 0, whose density is that of (r + along)^2 and of what the
    rays share.
    """

    u1: float
    u2: float
    g1: float
    g2: float
    along: float
    z1: float
    z2: float
    p1: float
    p2: float


@inner
def _at(ray: Ray, r: float) -> Sample:
    """The sample at r."""
    return Sample(ray.u1 + r * ray.g1, ray.u2 + r * ray.g2, ray.z1, ray.z2, ray.p1, ray.p2)


@inner
def _newton_minimum(
    u1: float, u2: float, at: Sample, setting: Setting
) -> tuple[float, float, bool]:
    """The minimum near u by Newton's method, and whether it was so near that no other was meant."""
    V, beta, allowed = setting.V, setting.beta, MAX_FIRST_STEP
    for _ in range(20):
        d1, d2 = _gradient(u1, u2, at.w1, at.w2, at.p1, at.p2, V, beta)
        h11, h12, h22 = _hessian(u1, u2, at.w1, at.w2, at.p1, at.p2, V, beta)
        determinant = h11 * h22 - h12**2
        if not (h11 > 0.0 and determinant > 0.0):
            return u1, u2, False
        s1, s2 = (h12 * d2 - h22 * d1) / determinant, (h12 * d1 - h11 * d2) / determinant
        size = beta * max(abs(s1), abs(s2))
        if not size <= allowed:
            return u1, u2, False
        u1, u2 = u1 + s1, u2 + s2
        floor = STEP_TOLERANCE * (1.0 + beta * max(abs(u1), abs(u2)))
        if size < floor:
            return u1, u2, True
        allowed = max(CONTRACTION * size, floor)
    return u1, u2, False


@inner
def _add_panel(left, a1, a2, right, b1, b2, ray, setting, field, rule, lost, weight, total):
    """Add the integral over a panel with these minimisers at its ends."""
    mean, spread, root_rho = field
    nodes, weights = rule
    half, most = 0.5 * (right - left), (MIN_CURVATURE * setting.V) ** -2
    for k in range(len(nodes)):
        part = 0.5 * (1.0 + nodes[k])
        r = left + (right - left) * part
        at = _at(ray, r)
        u1, u2, _ = _newton_minimum(a1 + part * (b1 - a1), a2 + part * (b2 - a2), at, setting)
        f1, f2 = dual_field(u1, u2, at.w1, at.w2, setting.V)
        if (
            setting.V < 1.0
        ):  # the same number without the cancellation in (u - w)/V, as u is stationary
            slope1, slope2 = _loss_gradient(u1, u2, at.p1, at.p2, setting.beta)
            f1, f2 = -slope1, -slope2
        density = weight * half * weights[k] * r * np.exp(-0.5 * ((r + ray.along) / spread) ** 2)
        first = (f1 * at.z1 + f2 * at.z2) / root_rho
        total[0] += density
        total[1] += density * _loss(u1, u2, at.p1, at.p2, setting.beta)
        total[2] += density * _loss(at.w1, at.w2, at.p1, at.p2, setting.beta)
        total[3] += density * _dual_energy(f1, f2)
        total[4] += density * first
        total[5] += density * (f1 * at.w1 + f2 * at.w2 - mean * first) / spread
        H11, H12, H22 = _loss_hessian(u1, u2, at.p1, at.p2, setting.beta)
        total[6] += density * min(_response(H11, H12, H22, setting.V), most)
        total[7] += density * lost


@inner
def _integrate_ray(ray, setting, field, rule, longest, shortest, weight, total):
    """Follow the minimum from the label along a ray, and add the integrals over the part of it that
    the field reaches.
    """
    spread = field[1]
    first, last = max(0.0, -ray.along - CUT * spread), -ray.along + CUT * spread
    r, u1, u2, step, lost = 0.0, ray.u1, ray.u2, last, 0.0
    least = shortest * spread
    while r < last:
        right = min(r + (min(step, longest * spread) if r >= first else step), last)
        if r < first:
            right = min(right, first)
        at = _at(ray, right)
        v1, v2, found = _newton_minimum(u1, u2, at, setting)
        if found:
            if r >= first:
                _add_panel(r, u1, u2, right, v1, v2, ray, setting, field, rule, lost, weight, total)
            r, u1, u2, step, least = right, v1, v2, 2.0 * (right - r), shortest * spread
        elif right - r > least:
            step = 0.5 * (right - r)
        else:
            u1, u2 = descend(u1, u2, at, setting, MAX_STEP / setting.beta)
            r, step, lost, least = right, RESTART * spread, 1.0, 2.0 * least


_SOURCES = digest(physics, pair_minimiser, fitted_minimiser)


@entry
def _add_labels(
    first,
    last,
    axes,
    field,
    setting,
    labels,
    label_weights,
    rule,
    angles,
    longest,
    shortest,
    sums,
    sources=_SOURCES,
):
    """Add the averages of each target field, `first` to `last`, to its row of `sums`: probability,
    and those of FittedAverages.
    """
    L11, L12, L21, L22 = axes
    mean, spread, root_rho = field
    for number in range(first, last):
        i, j = number // len(labels), number % len(labels)
        weight = label_weights[i] * label_weights[j]
        if weight < MIN_LABEL_PROBABILITY:
            continue
        # Whitened by L: the label's index, and its distance from the mean of the field.
        x, y = root_rho * labels[i], root_rho * labels[j]
        gain = setting.beta0 / setting.beta
        dx, dy = (gain - mean / root_rho) * x, (gain - mean / root_rho) * y
        distance, towards = np.hypot(dx, dy), np.arctan2(-dy, -dx)
        z1, z2 = L11 * x + L12 * y, L21 * x + L22 * y
        p1, p2 = _label(z1, setting.beta0), _label(z2, setting.beta0)
        count = int(np.ceil(angles * (1.0 + distance / spread)))
        for k in range(count):
            angle = towards + 2.0 * np.pi * (k + 0.5) / count
            ex, ey = np.cos(angle), np.sin(angle)
            along = dx * ex + dy * ey
            across = max(distance**2 - along**2, 0.0)
            if across + max(along, 0.0) ** 2 > (CUT * spread) ** 2:
                continue
            ray = Ray(
                gain * z1,
                gain * z2,
                L11 * ex + L12 * ey,
                L21 * ex + L22 * ey,
                along,
                z1,
                z2,
                p1,
                p2,
            )
            share = weight * np.exp(-0.5 * across / spread**2) / (count * spread**2)
            _integrate_ray(ray, setting, field, rule, longest, shortest, share, sums[number])


def fitted_average(
    m: float, q: float, V: float, rho: float, beta: float, beta0: float, resolution: Resolution
) -> FittedAverages:
    """Averages on the fitted branch at overlaps m, q (eigenvalue^2) that a pair of matrices has and
    V (index^2/loss), T = 2.

    Args: as `pair_average.average`.

    Raises:
        OutsideDomain: the probabilities found do not add up to 1.
    """
    field = tuple(map(float, physics.field_coefficients(m, q, rho)))
    setting, axes = (
        Setting(float(V), float(beta), float(beta0)),
        tuple(map(float, physics.principal_axes())),
    )
    labels, weights, rule = _rule(resolution)
    sums = np.zeros((len(labels) ** 2, 1 + len(FittedAverages._fields)))

    def work(first: int, last: int) -> None:
        _add_labels(
            first,
            last,
            axes,
            field,
            setting,
            labels,
            weights,
            rule,
            resolution.angles,
            resolution.longest,
            resolution.shortest,
            sums,
        )

    over_blocks(work, len(sums))
    mass, *averages = sums.sum(axis=0).tolist()
    if not abs(mass - 1.0) < MASS:
        raise OutsideDomain(
            f"samples of probability {1 - mass:.1e} not found at m = {m!r}, q = {q!r}, V = {V!r}"
        )
    return FittedAverages(*averages)


@lru_cache(maxsize=16)
def _rule(resolution: Resolution) -> tuple[Array, Array, tuple[Any, Any]]:
    """Nodes and weights of the quadrant of z, and along a panel."""
    nodes, weights = gauss_hermite(resolution.labels)
    quadrant = nodes > 0.0
    return nodes[quadrant], 2.0 * weights[quadrant] / weights.sum(), leggauss(resolution.nodes)
