"""Whether the loss of a model overflows at the indices of a problem: a cause of failed solves."""

import numpy as np

from numeric.model import call, structure
from numeric.problem.problem import Problem

REACH = 10.0  # largest index that is tried, in standard deviations of the noisy target index
SIZES = np.geomspace(1.0, 1e6, 61)  # indices that are tried


def overflow_size(problem: Problem) -> float | None:
    """Return the least size of an index at which the loss is not finite.

    None if the loss is finite at the indices that the problem has.

    Args:
        problem: the problem; a model without a loss of its own, as direct training, gives None.
    """
    generated, variances = problem.generated, structure(problem.model).index_variances
    if not hasattr(generated, "index_loss"):
        return None
    most = REACH * float(np.sqrt(max(variances) * problem.rho))
    sizes = np.repeat(SIZES[most >= SIZES], 2)
    index = sizes * np.resize([-1.0, 1.0], len(sizes))
    label = np.atleast_1d(call(generated.index_label, [0.0] * len(variances), problem.settings))
    with np.errstate(all="ignore"):
        arguments = (*[index] * len(variances), *label)
        losses = np.asarray(call(generated.index_loss, arguments, problem.settings), dtype=float)
    return next((float(size) for size in sizes[~np.isfinite(losses)]), None)
