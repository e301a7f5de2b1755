"""State evolution of Bayes-optimal message passing (theory note, section 5).

A label consists of D linear measurements of the index; their noise adds to the uncertainty of the
index. A step has two parts. The error of the map determines the noise v of the matrix
S0 + delta G that the messages extract from the labels. The posterior mean given this matrix has the
next error. After the first step m = q, and the error is the uncertainty of an index per unit.
"""

from numeric.messages.stages import FirstMessage, Stage, starting_overlaps
from numeric.model import float64 as generated
from numeric.prediction.posterior_prediction import posterior_errors
from numeric.problem.problem import Problem
from numeric.studies.bayes_estimation_error import cubed_density, message_noise, require_bayes


def bayes_evolution(problem: Problem, start: FirstMessage, steps: int) -> tuple[Stage, ...]:
    """Return the order parameters of Bayes-optimal message passing after each step.

    `test_error` refers to the posterior mean of a fresh label.

    Args:
        problem: problem whose weight decay, width and beta are not used.
        start: initial map.
        steps: number of steps.

    Raises:
        InvalidParameter: the model has no Bayes optimum.
        OutsideDomain: an average over the labels is not resolved.
    """
    require_bayes(problem.model)
    problem.require_isotropic("message passing")
    target, stages = problem.target, list[Stage]()
    error = float(generated.estimation_error(problem.q0, *starting_overlaps(start, target)))
    for _ in range(steps):
        v = message_noise(problem, error)
        error = float(generated.bayes_error(v, cubed_density(v, target)))
        overlap = problem.q0 - error
        test_error = posterior_errors(problem, error).optimal
        stages.append(Stage(overlap, overlap, error, error, test_error))
    return tuple(stages)
