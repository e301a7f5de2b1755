"""One sample at any number of tokens: Moreau energy, its derivatives, and the global minimiser
(theory note, section 3).

Whitened components x (P,) of the index; energy = sum (x - w)^2/(2 V) + sum_ab (softmax(beta h)_ab -
y_ab)^2. Everything is compiled; `Workspace` holds the arrays of one thread.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numeric.channel.softmax.pair_minimiser import MAX_STEP, ROW_CURVATURE
from numeric.maths.kernels import inner
from numeric.model import float64 as physics

Array = NDArray[np.float64]

inlined = partial(
    inner, forceinline=True
)  # a call would copy the hundred-odd words of workspace and index
residual_of, entry_loss = inner(physics.residual), inner(physics.entry_loss)
component_energy, component_dual = inner(physics.component_energy), inner(physics.component_dual)
component_displacement = inner(physics.component_displacement)
_slope, _curvature = inner(physics.row_slope), inner(physics.row_curvature)
_curvature_local = inner(physics.row_curvature_local)

# distance of two minimisers in units of 1/beta below which they are one: Newton leaves ~1e-12
SAME = 1e-5


class Workspace(NamedTuple):
    """Arrays of one thread: P components, T tokens, F leading features."""

    h: Array  #: (T, T) index
    s: Array  #: (T, T) softmax
    e: Array  #: (T, T) residual
    y: Array  #: (T, T) label
    fit: Array  #: (T, T) an index that reproduces the label
    rest: Array  #: (T, T) the index of w
    hessian: Array  #: (P, P)
    curvature: Array  #: (P, P) of the loss
    factor: Array  #: (P, P)
    gradient: Array  #: (P,)
    step: Array  #: (P,)
    x: Array  #: (P,) the minimiser
    trial: Array  #: (P,)
    rival: Array  #: (P,)
    gamma1: Array  #: (P,)
    gamma2: Array  #: (P,)
    w: Array  #: (P,) student field
    z: Array  #: (P,) target field
    field: Array  #: (P,) student field on the way
    features: Array  #: (F, P) their products of Gaussians


def workspace(tokens: int, components: int, features: int) -> Workspace:
    """Fresh arrays, all zero."""
    T, P = tokens, components
    shapes = [*[(T, T)] * 6, *[(P, P)] * 3, *[(P,)] * 10, (features, P)]
    return Workspace(*map(np.zeros, shapes))


@inlined
def copy(values, out):
    """Copy a vector."""
    for i in range(len(out)):
        out[i] = values[i]


@inlined
def scale_by(factor, table):
    """Multiply a table by a factor."""
    for a in range(len(table)):
        for b in range(len(table)):
            table[a, b] *= factor


@inlined
def fill_index(x, index, out):
    """H_ab of components x; components beyond those given are zero."""
    tokens = len(out)
    for a in range(tokens):
        for b in range(tokens):
            value = index.scale[a, b] * x[index.component[a, b]]
            if index.odd[a, b] != 0.0:
                value += index.odd[a, b] * x[index.antisymmetric[a, b]]
            out[a, b] = value


@inlined
def fill_softmax(h, temperature, out):
    """Row softmax of temperature * h."""
    tokens = len(h)
    for a in range(tokens):
        highest = h[a, 0]
        for b in range(1, tokens):
            highest = max(highest, h[a, b])
        total = 0.0
        for b in range(tokens):
            out[a, b] = np.exp(temperature * (h[a, b] - highest))
            total += out[a, b]
        share = 1.0 / total
        for b in range(tokens):
            out[a, b] *= share


@inlined
def loss_of(x, index, beta, work):
    """Square loss at x; leaves softmax and residual in the workspace."""
    h, s, e, y = work.h, work.s, work.e, work.y
    fill_index(x, index, h)
    fill_softmax(h, beta, s)
    total = 0.0
    tokens = len(y)
    for a in range(tokens):
        for b in range(tokens):
            gap = residual_of(s[a, b], y[a, b])
            e[a, b] = gap
            total += entry_loss(gap)
    return total


@inlined
def energy_of(x, w, stiffness, index, beta, work):
    """Moreau energy of x."""
    total = loss_of(x, index, beta, work)
    for i in range(len(x)):
        total += component_energy(x[i], w[i], stiffness[i])
    return total


@inlined
def fill_loss_gradient(index, beta, work):
    """Slope of the loss in the components, at the softmax in the workspace."""
    s, e, gradient = work.s, work.e, work.gradient
    tokens = len(s)
    for i in range(len(gradient)):
        gradient[i] = 0.0
    for a in range(tokens):
        se = 0.0
        for b in range(tokens):
            se += s[a, b] * e[a, b]
        for b in range(tokens):
            slope = _slope(s[a, b], e[a, b], se, beta)
            gradient[index.component[a, b]] += index.scale[a, b] * slope
            if index.odd[a, b] != 0.0:
                gradient[index.antisymmetric[a, b]] += index.odd[a, b] * slope


@inlined
def fill_loss_hessian(index, beta, with_residual, work):
    """Lower triangle of the curvature of the loss; without the residual it is Gauss and Newton's,
    never negative.
    """
    s, e, H = work.s, work.e, work.hessian
    start, rows, columns, coefficients = index.curvature
    tokens, pair = len(s), 0
    for i in range(len(H)):
        for j in range(i + 1):
            H[i, j] = 0.0
    for a in range(tokens):
        se, ss = 0.0, 0.0
        for b in range(tokens):
            se += s[a, b] * e[a, b] * with_residual
            ss += s[a, b] ** 2
        for b in range(tokens):
            s_b, e_b = s[a, b], e[a, b] * with_residual
            for c in range(b + 1):
                value = _curvature(s_b, e_b, s[a, c], e[a, c] * with_residual, se, ss, beta)
                if c == b:
                    value += _curvature_local(s_b, e_b, se, beta)
                for k in range(start[pair], start[pair + 1]):
                    H[rows[k], columns[k]] += coefficients[k] * value
                pair += 1


@inlined
def cholesky(matrix, factor):
    """Lower factor of the lower triangle, with inverse diagonal; whether the matrix is positive."""
    size = len(matrix)
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if total <= 1e-14 * matrix[i, i]:
                    return False
                factor[i, i] = 1.0 / np.sqrt(total)
            else:
                factor[i, j] = total * factor[j, j]
    return True


@inlined
def solve_with(factor, vector):
    """Solve in place with a factor of `cholesky`."""
    size = len(vector)
    for i in range(size):
        value = vector[i]
        for k in range(i):
            value -= factor[i, k] * vector[k]
        vector[i] = value * factor[i, i]
    for i in range(size - 1, -1, -1):
        value = vector[i] * factor[i, i]
        vector[i] = value
        for k in range(i):
            vector[k] -= factor[i, k] * value


@inlined
def _fill_newton_step(x, w, stiffness, index, beta, work):
    """Newton's step, or Gauss and Newton's where the curvature is not positive; and whether it is
    Newton's.
    """
    hessian, factor, step, gradient = work.hessian, work.factor, work.step, work.gradient
    fill_loss_gradient(index, beta, work)
    newton, with_residual = True, 1.0
    while True:
        fill_loss_hessian(index, beta, with_residual, work)
        for i in range(len(x)):
            hessian[i, i] += stiffness[i]
        if cholesky(hessian, factor) or not newton:
            break
        newton, with_residual = False, 0.0
    for i in range(len(x)):
        step[i] = -(gradient[i] + component_dual(x[i], w[i], stiffness[i]))
    solve_with(factor, step)
    return newton


@inner
def descend(x, w, stiffness, index, beta, reach, work):
    """Move x, in place, to the local minimiser that safeguarded Newton steps of at most `reach`
    come to; returns its energy.
    """
    step, trial = work.step, work.trial
    energy = energy_of(x, w, stiffness, index, beta, work)
    for _ in range(100):
        newton = _fill_newton_step(x, w, stiffness, index, beta, work)
        size, extent = 0.0, 0.0
        for i in range(len(x)):
            size, extent = max(size, abs(step[i])), max(extent, abs(x[i]))
        fraction = min(1.0, reach / size) if size > 0.0 else 1.0
        while True:
            for i in range(len(x)):
                trial[i] = x[i] + fraction * step[i]
            lower = energy_of(trial, w, stiffness, index, beta, work)
            # Below a thousandth of 1/beta the quadratic model holds and energies differ by rounding
            # alone. Written so that a step that is not finite ends the search too.
            if lower <= energy or not fraction * size * beta >= 1e-3:
                break
            fraction *= 0.4
        copy(trial, x)
        energy = lower
        if (
            newton and fraction == 1.0 and size < 1e-5 * (1.0 / beta + extent)
        ):  # quadratic convergence: error now ~1e-10
            break
    return energy


@inner
def _fit_row(x, row, index, towards, work):
    """Move the row's components, in place, as little as possible so that its differences are those
    of `towards` (T, T).
    """
    tokens = len(towards)
    fill_index(x, index, work.h)
    shift, total = 0.0, 0.0
    for b in range(tokens):
        weight = 1.0 / (index.scale[row, b] ** 2 + index.odd[row, b] ** 2)
        shift += weight * (work.h[row, b] - towards[row, b])
        total += weight
    shift /= total
    for b in range(tokens):
        gap = towards[row, b] + shift - work.h[row, b]
        norm = index.scale[row, b] ** 2 + index.odd[row, b] ** 2
        x[index.component[row, b]] += gap * index.scale[row, b] / norm
        if index.odd[row, b] != 0.0:
            x[index.antisymmetric[row, b]] += gap * index.odd[row, b] / norm


@inner
def convexity(stiffness, beta):
    """Least elastic curvature over the most negative one of the loss: above 1 the energy of every
    sample is convex.

    The curvature of a row's loss along a unit vector of its indices is at least -ROW_CURVATURE
    beta^2, and a unit vector of components has rows of total square at most 2.
    """
    least = np.inf
    for value in stiffness:
        least = min(least, value)
    return least / (2.0 * ROW_CURVATURE * beta**2)


@partial(inner, inline="always")  # it has one caller, in whose code it is compiled once
def global_minimiser(w, stiffness, index, beta, work):
    """Leave the lowest minimiser found in work.x; returns its energy and what the search saw.

    `work.y` holds the label and `work.fit` an index that reproduces it. Starts are rest (x = w) and
    the fit of all rows; then rows are fitted and put to rest one at a time while that lowers the
    energy. What was seen: 0 one minimum, 1 several with rest the lowest, 2 several with another the
    lowest.
    """
    convex = convexity(stiffness, beta) > 1.0
    reach = np.inf if convex else MAX_STEP / beta
    copy(w, work.x)
    lowest, seen = descend(work.x, w, stiffness, index, beta, reach, work), 0
    if convex:
        return lowest, seen
    fill_index(w, index, work.rest)
    tokens, improved = len(work.y), False
    for move in range(
        -1, 2 * tokens * tokens
    ):  # at most `tokens` rounds of 2 `tokens` moves each, after a first one
        if move < 0:
            copy(w, work.rival)
            for row in range(2 * tokens):  # twice, as rows share components
                _fit_row(work.rival, row % tokens, index, work.fit, work)
        else:
            if move % (2 * tokens) == 0:
                if not improved:
                    break
                improved = False
            copy(work.x, work.rival)
            _fit_row(
                work.rival,
                move // 2 % tokens,
                index,
                work.fit if move % 2 == 0 else work.rest,
                work,
            )
        energy = descend(work.rival, w, stiffness, index, beta, reach, work)
        if not _differ(work.rival, work.x, beta):
            continue
        seen = max(seen, 1)
        improved = (
            improved or move < 0
        )  # where rest and fit lead to one minimum, no row has been found to have another
        if energy < lowest:
            seen, lowest, improved = 2, energy, True
            copy(work.rival, work.x)
    return lowest, seen


@inlined
def _differ(first, second, beta):
    """Return whether two minimisers are not one and the same."""
    distance = 0.0
    for i in range(len(first)):
        distance = max(distance, abs(first[i] - second[i]))
    return not distance * beta < SAME  # what is not a number differs from everything
