"""Test errors of Bayes-optimal predictions, from the posterior of the target.

Source: theory note, section 5. Given the data, the index of a fresh sample is Gaussian: its mean is
the index of the posterior mean S, and its variance per unit is the estimation error. A label of the
target is then a label of S with more noise. The best prediction is the mean label over this noise.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from numeric.prediction.prediction import best_prediction, prediction_of
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


class PosteriorErrors(NamedTuple):
    """Test errors, unit loss per sample.

    optimal: error of the posterior mean of the label.
    plug_in: error of the label of the posterior mean.
    """

    optimal: float
    plug_in: float


def posterior_errors(problem: Problem, error: float) -> PosteriorErrors:
    """Return the test errors given the error of the posterior mean.

    Args:
        problem: problem whose beta is not used.
        error: estimation error of the posterior mean, eigenvalue^2.

    Raises:
        OutsideDomain: an average over the labels is not resolved.
    """
    posterior = posterior_problem(problem, error)
    overlaps = Overlaps(posterior.q0, posterior.q0, 0.0)
    optimal = best_prediction(posterior).least_test_error()
    return PosteriorErrors(optimal, prediction_of(posterior).test_error(overlaps).value)


def posterior_problem(problem: Problem, error: float) -> Problem:
    """Return the problem whose target is the posterior mean, with the error as label noise.

    The law of the labels is unchanged.

    Args:
        problem: problem with the true target.
        error: estimation error of the posterior mean, eigenvalue^2.
    """
    variance_of_noise = replace(problem, noise=problem.noise + 1).rho - problem.rho
    return replace(
        problem,
        target=problem.target.scaled(float(np.sqrt(1 - error / problem.q0))),
        noise=problem.noise + error / variance_of_noise,
        beta=problem.beta0,
    )
