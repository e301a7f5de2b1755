"""Channel averages of two visible indices by Gauss-Hermite rules over the fields, every sample
minimised: no change of variable.

Of `numeric.proven_saddle` it uses no rule, only the sample: label, loss and the slopes of the loss.
The minimiser is analytic in the fields, so that n nodes a dimension err by about exp(-2 sqrt(n));
the time grows as n^2, as nodes of no weight are left out.
"""

import numpy as np
from scipy.special import roots_hermitenorm

NO_WEIGHT = 1e-22  # of a node: all that are left out, below 10^9, do not reach the twelfth digit
STEPS, SETTLED = 60, 1e-9  # of Newton's method, the square of whose last step is left; six do


def five_sums(channel, nodes):
    """Training loss, R, E f.gamma1, E f.gamma2, test loss, with so many nodes for each of two seen
    and two unseen Gaussians.
    """
    points, weights = roots_hermitenorm(nodes)
    weights = weights / weights.sum()
    plane, mass = (
        np.array(np.meshgrid(points, points)).reshape(2, -1),
        np.outer(weights, weights).ravel(),
    )
    order = np.argsort(-mass)
    plane, mass = plane[:, order], mass[order]
    sample, fields, stiffness = (
        channel.sample,
        channel.fields,
        channel.V * channel.sample.covariance,
    )
    root, total = np.linalg.cholesky(sample.covariance), np.zeros(5)
    for seen, weight in zip(plane.T, mass, strict=True):
        unseen = plane[:, : np.sum(weight * mass > NO_WEIGHT)]
        if not unseen.size:
            break
        index = (root @ seen)[:, None]
        y, w = (
            sample.label(fields.target * index),
            fields.teacher * index + fields.independent * root @ unseen,
        )
        u = minimisers(sample, w, y, stiffness)
        along = -root.T @ sample.gradient(u, y)
        values = (
            sample.loss(u, y),
            channel.V**2 * np.sum(along**2, axis=0),
            seen @ along,
            np.sum(unseen * along, axis=0),
            sample.loss(w, y),
        )
        total += weight * np.array(values) @ mass[: unseen.shape[1]]
    return channel.copies * total


def minimisers(sample, w, y, stiffness):
    """Indices u of least loss and elastic energy at fields w, both of shape (2, samples)."""
    u = w.copy()
    for _ in range(STEPS):
        left, curved = (
            u + stiffness @ sample.gradient(u, y) - w,
            np.tensordot(stiffness, sample.hessian(u, y), 1),
        )
        a, b, c, d = 1 + curved[0, 0], curved[0, 1], curved[1, 0], 1 + curved[1, 1]
        step = np.array([d * left[0] - b * left[1], a * left[1] - c * left[0]]) / (a * d - b * c)
        u = u - step
        if np.max(np.abs(step)) < SETTLED:
            return u
    raise AssertionError("Newton's method does not settle")
