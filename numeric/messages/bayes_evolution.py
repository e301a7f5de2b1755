"""State evolution of Bayes-optimal message passing, one step after the other (theory note, section 5).

A label is D linear measurements of the index, whose noise adds to what is not known of it. So a step is two: the error of the map
sets the noise v of the matrix S0 + delta G that the messages make of the labels, and the posterior mean of that has the next error.
From its first step on m = q, and what is not known of an index per unit is the error.
"""

from numeric.laws.law import ROUNDING
from numeric.messages.stages import FirstMessage, Stage, starting_overlaps
from numeric.model import float64 as generated
from numeric.prediction.posterior_prediction import posterior_errors
from numeric.problem.problem import Problem
from numeric.studies.bayes_estimation_error import cubed_density, require_bayes


def bayes_evolution(problem: Problem, start: FirstMessage, steps: int) -> tuple[Stage, ...]:
    """Follow Bayes-optimal message passing for so many steps; the problem's weight decay, width and beta are not used.

    `test_error` is that of the posterior mean of a fresh label.

    Raises:
        InvalidParameter: a model without a Bayes optimum.
        OutsideDomain: an average over the labels is not resolved.
    """
    require_bayes(problem.model)
    target, stages = problem.target, list[Stage]()
    error = float(generated.estimation_error(problem.q0, *starting_overlaps(start, target)))
    for _ in range(steps):
        v = denoising_noise(problem, error)
        error = float(problem.generated.bayes_error(v, cubed_density(v, target)))
        overlap = problem.q0 - error
        stages.append(
            Stage(overlap, overlap, error, error, posterior_errors(problem, error).optimal)
        )
    return tuple(stages)


def denoising_noise(problem: Problem, error: float) -> float:
    """Noise v that messages about a map of this error leave (both eigenvalue^2).

    It is inversely proportional to the samples. A matrix of no density keeps all of a noise as its error, so that the sample ratio
    which leaves the noise `error` there is known; below rounding of q0 an error is beside the point.
    """
    kept = max(error, ROUNDING * problem.q0)
    unspread = 0.0
    ratio = float(
        problem.generated.bayes_sample_ratio(kept, unspread, problem.noise, problem.label_numbers)
    )
    return kept * ratio / problem.alpha
