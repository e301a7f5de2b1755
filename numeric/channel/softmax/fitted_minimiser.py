"""The fitted branch of one sample: the minimum of its Moreau energy that is connected to the
sample's own label.

With the field at an index that reproduces the label that index is the minimum, of energy 0, at any
V. The field is moved from there to the sample's own on a straight line, w(t) = h + t (w - h), and
the minimum followed. Where it merges with a saddle (a fold) it is gone, and the path goes on from
the minimum that the energy slides into; what was seen says so.
"""

from numeric.channel.softmax.pair_minimiser import MAX_STEP
from numeric.channel.softmax.sequence_minimiser import (
    cholesky,
    component_dual,
    copy,
    descend,
    fill_loss_gradient,
    fill_loss_hessian,
    loss_of,
    solve_with,
)
from numeric.maths.kernels import inner

# Of Newton's steps to the next point of a path, in units of 1/beta: a first one so short stays in
# its basin, each is to be so much shorter than the one before.
MAX_FIRST_STEP, CONTRACTION = 1.0, 0.25
STEP_TOLERANCE = 1e-7  # step in units of 1/beta + |x| after which the error is its square
# Step of t below which the minimum is taken to end: a safeguarded descent finds it again where it
# does not.
MIN_STEP = 1e-3


@inner
def _newton_minimum(x, w, stiffness, index, beta, work):
    """Move x, in place, to the minimum nearby at field w by Newton's method; whether it was so near
    that no other was meant.
    """
    hessian, step, gradient = work.hessian, work.step, work.gradient
    allowed = MAX_FIRST_STEP
    for _ in range(20):
        loss_of(x, index, beta, work)
        fill_loss_gradient(index, beta, work)
        fill_loss_hessian(index, beta, 1.0, work)
        for i in range(len(x)):
            hessian[i, i] += stiffness[i]
        if not cholesky(hessian, work.factor):
            return False
        for i in range(len(x)):
            step[i] = -(gradient[i] + component_dual(x[i], w[i], stiffness[i]))
        solve_with(work.factor, step)
        size, extent = 0.0, 0.0
        for i in range(len(x)):
            size, extent = max(size, beta * abs(step[i])), max(extent, beta * abs(x[i]))
        if not size <= allowed:
            return False
        for i in range(len(x)):
            x[i] += step[i]
        if size < STEP_TOLERANCE * (1.0 + extent):
            return True
        allowed = max(CONTRACTION * size, STEP_TOLERANCE)
    return False


@inner
def fitted_minimiser(label, w, stiffness, index, beta, work):
    """Leave the minimum connected to the label's index, components (P,), in work.x; returns how
    often it ended on the way.
    """
    x, field, rival = work.x, work.field, work.rival
    copy(label, x)
    t, step, folds = 0.0, 1.0, 0
    while t < 1.0:
        there = min(1.0, t + step)
        for i in range(len(x)):
            field[i] = label[i] + there * (w[i] - label[i])
        copy(x, rival)
        if _newton_minimum(rival, field, stiffness, index, beta, work):
            copy(rival, x)
            t, step = there, 2.0 * step
        elif step > MIN_STEP:
            step *= 0.5
        else:
            folds += 1
            descend(x, field, stiffness, index, beta, MAX_STEP / beta, work)
            t, step = there, 0.01
    return folds
