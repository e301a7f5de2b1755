"""Whether the loss of a model overflows at the indices of a problem: a cause of failed solves."""

import numpy as np
from numpy.typing import NDArray

from numeric.model import call, draw_values, label_of_classes, structure
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
    finite = np.ones(len(sizes), dtype=bool)
    for label in _labels(problem):
        with np.errstate(all="ignore"):
            arguments = (*[index] * len(variances), *label)
            losses = call(generated.index_loss, arguments, problem.settings)
        finite &= np.isfinite(np.asarray(losses, dtype=float))
    return next((float(size) for size in sizes[~finite]), None)


def _labels(problem: Problem) -> list[NDArray[np.float64]]:
    """Return one label, or labels with every value that a number of them may have."""
    shape, generated = structure(problem.model), problem.generated
    if not shape.draws:
        origin = [0.0] * len(shape.index_variances)
        return [np.atleast_1d(call(generated.index_label, origin, problem.settings))]
    counts = [len(of_class) for of_class in draw_values(problem.model, problem.settings)]
    chosen = ([min(k, count - 1) for count in counts] for k in range(max(counts)))
    return [
        np.array(label_of_classes(problem.model, problem.settings, classes)) for classes in chosen
    ]
