"""Test errors where the target is known by its posterior (theory note, section 5).

Given the data, the index of a fresh sample is Gaussian: its mean is the index of the posterior mean S, its variance per unit the
estimation error. So a label of the target is one of S with more noise, and the best prediction is the mean of the label over that
noise.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from numeric.prediction.prediction import best_prediction, prediction_of
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem


class PosteriorErrors(NamedTuple):
    """Test errors (unit loss per sample): of the posterior mean of the label, and of the label of the posterior mean."""

    optimal: float
    plug_in: float


def posterior_errors(problem: Problem, error: float) -> PosteriorErrors:
    """At a posterior whose mean has this estimation error (eigenvalue^2); the problem's beta is not used.

    Raises:
        OutsideDomain: an average over the labels is not resolved.
    """
    seen = posterior_problem(problem, error)
    overlaps = Overlaps(seen.q0, seen.q0, 0.0)
    return PosteriorErrors(
        best_prediction(seen).least_test_error(), prediction_of(seen).test_error(overlaps).value
    )


def posterior_problem(problem: Problem, error: float) -> Problem:
    """The problem whose target is the posterior mean: the error is noise of its labels, which keep the law they have."""
    variance_of_noise = replace(problem, noise=problem.noise + 1).rho - problem.rho
    return replace(
        problem,
        target=problem.target.scaled(float(np.sqrt(1 - error / problem.q0))),
        noise=problem.noise + error / variance_of_noise,
        beta=problem.beta0,
    )
