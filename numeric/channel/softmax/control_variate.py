"""A cheap stand-in for the global minimiser of a sample, for a block of samples at once.

Averages over the channel use it as a control variate. Any function of the sample may serve, and a
function closer to the minimiser reduces the variance more. It takes a fixed number of steps from
rest and, unless the energy is convex, from the fit of the label, and returns the lower end. There
is no search, so that a block of samples runs in the vector registers of the processor, in 1/30 of
the time of a global minimiser. The samples of the block are the last axis of arrays.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numeric.channel.softmax import pair_minimiser, sequence_minimiser
from numeric.channel.softmax.pair_minimiser import MAX_STEP
from numeric.channel.softmax.sequence_minimiser import (
    component_displacement,
    component_dual,
    component_energy,
    convexity,
    entry_loss,
    residual_of,
)
from numeric.maths import sobol
from numeric.maths.kernels import digest, entry, inner
from numeric.maths.sobol import BLOCK
from numeric.model import float64 as physics

Array = NDArray[np.float64]

TERMS = 9  #: the first ones of SampleMeans; those of leading features follow
# Weight of the residual in the curvature, step by step: without it steps go down, with it the last
# one is Newton's. The last two are enough where the energy is convex.
RESIDUAL = (0.0, 0.0, 0.0, 1.0)
vectorised = partial(inner, fastmath={"nnan"})  # so that a maximum is one instruction
_slope, _curvature = inner(physics.row_slope), inner(physics.row_curvature)
_curvature_local, _feature_index = inner(physics.row_curvature_local), inner(physics.feature_index)
_SOURCES = digest(physics, pair_minimiser, sequence_minimiser, sobol)


class BatchArrays(NamedTuple):
    """Arrays of one thread: P components, T tokens, L samples, F leading features."""

    gamma1: Array  #: (P, L)
    gamma2: Array  #: (P, L)
    features: Array  #: (F, P, L) their products of Gaussians
    w: Array  #: (P, L) student field
    fit: Array  #: (P, L) an index that reproduces the label
    y: Array  #: (T, T, L) label
    s: Array  #: (T, T, L) softmax
    x: Array  #: (P, L)
    surrogate: Array  #: (P, L)
    energy: Array  #: (L,) of the stand-in
    step: Array  #: (P, L)
    hessian: Array  #: (P, P, L)
    row: Array  #: (T, L)
    one: Array  #: (L,)
    two: Array  #: (L,)
    three: Array  #: (L,)
    terms: Array  #: (TERMS + F, L)


def batch_arrays(tokens: int, components: int, features: int) -> BatchArrays:
    """Fresh arrays."""
    T, P, F, L = tokens, components, features, BLOCK
    return BatchArrays(
        np.empty((P, L)),
        np.empty((P, L)),
        np.zeros((F, P, L)),
        np.empty((P, L)),
        np.empty((P, L)),
        np.empty((T, T, L)),
        np.empty((T, T, L)),
        np.empty((P, L)),
        np.empty((P, L)),
        np.empty(L),
        np.empty((P, L)),
        np.empty((P, P, L)),
        np.empty((T, L)),
        np.empty(L),
        np.empty(L),
        np.empty(L),
        np.empty((TERMS + F, L)),
    )


@partial(vectorised, forceinline=True)
def _exponential(x):
    """exp(x) for x <= 0, to 1e-11 absolutely: Taylor's polynomial of x/64, squared six times.

    Loops over exp have no batch_arrays.
    """
    y = max(x, -40.0) * (1.0 / 64.0)
    power = 1 + y * (1 + y * (1 / 2 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120 + y * (1 / 720))))))
    for _ in range(6):
        power *= power
    return power


@vectorised
def _fill_softmax(x, temperature, index, work, out):
    """Row softmax of temperature * index of the components x (P, L)."""
    tokens, row, highest, total = len(out), work.row, work.one, work.two
    for a in range(tokens):
        for b in range(tokens):
            component, scale = index.component[a, b], index.scale[a, b] * temperature
            for k in range(BLOCK):
                row[b, k] = scale * x[component, k]
            if index.odd[a, b] != 0.0:
                component, scale = index.antisymmetric[a, b], index.odd[a, b] * temperature
                for k in range(BLOCK):
                    row[b, k] += scale * x[component, k]
        for k in range(BLOCK):
            highest[k], total[k] = row[0, k], 0.0
        for b in range(1, tokens):
            for k in range(BLOCK):
                highest[k] = max(highest[k], row[b, k])
        for b in range(tokens):
            for k in range(BLOCK):
                out[a, b, k] = _exponential(row[b, k] - highest[k])
            for k in range(BLOCK):
                total[k] += out[a, b, k]
        for k in range(BLOCK):
            total[k] = 1.0 / total[k]
        for b in range(tokens):
            for k in range(BLOCK):
                out[a, b, k] *= total[k]


@vectorised
def _add_loss(work, out):
    """Add the square losses of the softmax in work.s."""
    s, y = work.s, work.y
    for a in range(len(s)):
        for b in range(len(s)):
            for k in range(BLOCK):
                out[k] += entry_loss(residual_of(s[a, b, k], y[a, b, k]))


@vectorised
def _fill_force(x, spring, stiffness, index, beta, work):
    """Minus the slope of loss + spring * elastic energy into work.step, at x and its softmax in
    work.s.
    """
    s, y, w, step, along, slope = work.s, work.y, work.w, work.step, work.one, work.two
    tokens = len(s)
    for i in range(len(step)):
        for k in range(BLOCK):
            step[i, k] = -component_dual(x[i, k], w[i, k], spring * stiffness[i])
    for a in range(tokens):
        for k in range(BLOCK):
            along[k] = 0.0
        for b in range(tokens):
            for k in range(BLOCK):
                along[k] += s[a, b, k] * residual_of(s[a, b, k], y[a, b, k])
        for b in range(tokens):
            for k in range(BLOCK):
                slope[k] = _slope(s[a, b, k], residual_of(s[a, b, k], y[a, b, k]), along[k], beta)
            component, scale = index.component[a, b], index.scale[a, b]
            for k in range(BLOCK):
                step[component, k] -= scale * slope[k]
            if index.odd[a, b] != 0.0:
                component, scale = index.antisymmetric[a, b], index.odd[a, b]
                for k in range(BLOCK):
                    step[component, k] -= scale * slope[k]


@vectorised
def _fill_curvature(residual, stiffness, index, beta, work):
    """Lower triangle of the curvature of the Moreau energy; without the residual it is Gauss and
    Newton's.
    """
    s, y, H, squares, along, value = work.s, work.y, work.hessian, work.one, work.two, work.three
    start, rows, columns, coefficients = index.curvature
    tokens, pair = len(s), 0
    for i in range(len(H)):
        for j in range(i + 1):
            for k in range(BLOCK):
                H[i, j, k] = stiffness[i] if i == j else 0.0
    for a in range(tokens):
        for k in range(BLOCK):
            squares[k] = along[k] = 0.0
        for b in range(tokens):
            for k in range(BLOCK):
                squares[k] += s[a, b, k] ** 2
                along[k] += residual * s[a, b, k] * residual_of(s[a, b, k], y[a, b, k])
        for b in range(tokens):
            for c in range(b + 1):
                for k in range(BLOCK):
                    e_b = residual * residual_of(s[a, b, k], y[a, b, k])
                    e_c = residual * residual_of(s[a, c, k], y[a, c, k])
                    value[k] = _curvature(
                        s[a, b, k], e_b, s[a, c, k], e_c, along[k], squares[k], beta
                    )
                if c == b:
                    for k in range(BLOCK):
                        e_b = residual * residual_of(s[a, b, k], y[a, b, k])
                        value[k] += _curvature_local(s[a, b, k], e_b, along[k], beta)
                for n in range(start[pair], start[pair + 1]):
                    i, j, coefficient = rows[n], columns[n], coefficients[n]
                    for k in range(BLOCK):
                        H[i, j, k] += coefficient * value[k]
                pair += 1


@vectorised
def _solve(H, stiffness, step):
    """Solve in place by Cholesky's factor, which replaces the lower triangle; no pivot counts as
    less than the stiffness.
    """
    size = len(step)
    for i in range(size):
        for j in range(i):
            for n in range(j):
                for k in range(BLOCK):
                    H[i, j, k] -= H[i, n, k] * H[j, n, k]
            for k in range(BLOCK):
                H[i, j, k] *= H[j, j, k]
        for n in range(i):
            for k in range(BLOCK):
                H[i, i, k] -= H[i, n, k] ** 2
            for k in range(BLOCK):
                step[i, k] -= H[i, n, k] * step[n, k]
        for k in range(BLOCK):
            H[i, i, k] = 1.0 / np.sqrt(max(H[i, i, k], stiffness[i]))
        for k in range(BLOCK):
            step[i, k] *= H[i, i, k]
    for i in range(size - 1, -1, -1):
        for k in range(BLOCK):
            step[i, k] *= H[i, i, k]
        for n in range(i):
            for k in range(BLOCK):
                step[n, k] -= H[i, n, k] * step[i, k]


@vectorised
def _descend(first, stiffness, index, beta, work):
    """Move work.x by steps of at most MAX_STEP, from the first one of RESIDUAL that is asked
    for.
    """
    x, step, fraction, reach = work.x, work.step, work.one, MAX_STEP / beta
    for number in range(first, len(RESIDUAL)):
        _fill_softmax(x, beta, index, work, work.s)
        _fill_force(x, 1.0, stiffness, index, beta, work)
        _fill_curvature(RESIDUAL[number], stiffness, index, beta, work)
        _solve(work.hessian, stiffness, step)
        for k in range(BLOCK):
            fraction[k] = reach
        for i in range(len(x)):
            for k in range(BLOCK):
                fraction[k] = max(fraction[k], abs(step[i, k]))
        for k in range(BLOCK):
            fraction[k] = reach / fraction[k]
        for i in range(len(x)):
            for k in range(BLOCK):
                x[i, k] += fraction[k] * step[i, k]


@vectorised
def _keep_lower(stiffness, index, beta, work):
    """Take work.x for the stand-in where its energy is lower."""
    x, w, lowest, surrogate, energy = work.x, work.w, work.energy, work.surrogate, work.three
    _fill_softmax(x, beta, index, work, work.s)
    for k in range(BLOCK):
        energy[k] = 0.0
    _add_loss(work, energy)
    for i in range(len(x)):
        for k in range(BLOCK):
            energy[k] += component_energy(x[i, k], w[i, k], stiffness[i])
    for i in range(len(x)):
        for k in range(BLOCK):
            surrogate[i, k] = x[i, k] if energy[k] < lowest[k] else surrogate[i, k]
    for k in range(BLOCK):
        lowest[k] = min(lowest[k], energy[k])


@vectorised
def _add_products(sign, symmetric, own, stiffness, work):
    """Add square displacements and products of dual field and Gaussians of the stand-in to the
    terms.
    """
    x, w, force, gamma1, gamma2, features, dual, terms = (
        work.surrogate,
        work.w,
        work.step,
        work.gamma1,
        work.gamma2,
        work.features,
        work.one,
        work.terms,
    )
    for i in range(len(x)):
        odd, soft = i >= symmetric, stiffness[i] < 1.0
        squares, products = terms[3 if odd else 2], terms[6 if odd else 5]
        for k in range(BLOCK):
            # At the minimiser the two are equal; the smaller of the two factors keeps its digits.
            dual[k] = component_dual(x[i, k], w[i, k], stiffness[i]) if soft else force[i, k]
        for k in range(BLOCK):
            squares[k] += component_displacement(dual[k], stiffness[i]) ** 2
            products[k] += sign * dual[k] * gamma2[i, k]
        if not odd:
            for k in range(BLOCK):
                terms[4, k] += dual[k] * gamma1[i, k]
            if own[i]:
                for k in range(BLOCK):
                    terms[7, k] += dual[k] * gamma1[i, k]
                    terms[8, k] += sign * dual[k] * gamma2[i, k]
            for f in range(len(features)):
                for k in range(BLOCK):
                    terms[TERMS + f, k] += dual[k] * features[f, i, k]


@vectorised
def _copy(values, out):
    """Copy components (P, L)."""
    for i in range(len(out)):
        for k in range(BLOCK):
            out[i, k] = values[i, k]


@vectorised
def _fill_features(points, begin, first, index, features):
    """Whitened components of z_a z_b - delta_ab of each leading feature, its Gaussians from place
    `first` of the points on, which are those of the block that begins at `begin`.
    """
    tokens = len(index.scale)
    for f in range(len(features)):
        for a in range(tokens):
            for b in range(a, tokens):
                component, scale, same = (
                    index.component[a, b],
                    index.scale[a, b],
                    1.0 if a == b else 0.0,
                )
                left, right = first + f * tokens + a, first + f * tokens + b
                for k in range(BLOCK):
                    product = _feature_index(
                        points[begin + k, left], points[begin + k, right], same
                    )
                    features[f, component, k] = product / scale


@vectorised
def _add_features(shares, factor, features, out):
    """Add the leading features, by their shares times a factor, to components (P, L)."""
    for f in range(len(features)):
        for i in range(len(out)):
            for k in range(BLOCK):
                out[i, k] += factor * shares[f] * features[f, i, k]


@partial(entry, fastmath={"nnan"})
def add_control_terms(points, channel, group, work, sums, sources=_SOURCES):
    """Add the terms of the control variate to the sums of points, in groups; each point with both
    signs of gamma2.

    Whole blocks of points, shape (blocks * BLOCK, Gaussians).
    """
    index, fields, stiffness, beta, beta0, _ = channel
    components, directions = index.visible.shape
    symmetric = index.symmetric
    even = directions - (components - symmetric)
    gamma1, gamma2, features, w, fit, terms = (
        work.gamma1,
        work.gamma2,
        work.features,
        work.w,
        work.fit,
        work.terms,
    )
    convex = convexity(stiffness, beta) > 1.0
    for first in range(0, len(points), BLOCK):
        for term in range(len(terms)):
            for k in range(BLOCK):
                terms[term, k] = 0.0
        for i in range(symmetric):
            for k in range(BLOCK):
                gamma1[i, k] = gamma2[i, k] = 0.0
            for direction in range(even):
                for k in range(BLOCK):
                    gamma1[i, k] += index.visible[i, direction] * points[first + k, direction]
                    gamma2[i, k] += (
                        index.visible[i, direction] * points[first + k, even + direction]
                    )
        for i in range(symmetric, components):
            for k in range(BLOCK):
                gamma1[i, k], gamma2[i, k] = 0.0, points[first + k, 2 * even + i - symmetric]
        _fill_features(points, first, directions + even, index, features)
        for i in range(components):
            for k in range(BLOCK):
                target = fields.target[i] if i < symmetric else 0.0
                fit[i, k] = target * beta0 / beta * gamma1[i, k]
        _add_features(fields.target_features, beta0 / beta, features, fit)
        _fill_softmax(fit, beta, index, work, work.y)
        for sign in (1.0, -1.0):
            for i in range(components):
                teacher = fields.teacher[i] if i < symmetric else 0.0
                independent = fields.independent[i] if i < symmetric else fields.odd
                for k in range(BLOCK):
                    w[i, k] = teacher * gamma1[i, k] + sign * independent * gamma2[i, k]
            _add_features(fields.student_features, 1.0, features, w)
            _fill_softmax(w, beta, index, work, work.s)
            _add_loss(work, terms[1])
            for k in range(BLOCK):
                work.energy[k] = np.inf
            for start in range(1 if convex else 2):
                _copy(fit if start else w, work.x)
                _descend(2 if convex else 0, stiffness, index, beta, work)
                _keep_lower(stiffness, index, beta, work)
            _fill_softmax(work.surrogate, beta, index, work, work.s)
            _add_loss(work, terms[0])
            _fill_force(work.surrogate, 0.0, stiffness, index, beta, work)
            _add_products(sign, symmetric, index.own, stiffness, work)
        for term in range(len(terms)):
            for k in range(BLOCK):
                sums[(first + k) // group, term] += terms[term, k]
