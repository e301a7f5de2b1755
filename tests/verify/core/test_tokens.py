"""Training of tied attention on each kind of tokens of the theory note, section 13, at three
settings of each, next to the theory.
"""

import numpy as np
import pytest
from trained_gaps import LEFT, trained_gaps

from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.covariance.matrix import MatrixCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.core.data import DataKind
from verify.core.draw import draw
from verify.core.realised_problem import realised_problem
from verify.core.run import Run


def power_lists(dim, gamma, a):
    """Target k^-gamma and covariance k^-a on common eigenvectors, second moment 1.44."""
    k = np.arange(1, dim + 1)
    own, c = k**-gamma, k**-a / np.mean(k**-a)
    return AlignedCovariance(own * np.sqrt(1.44 / np.mean((c * own) ** 2)), c)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gamma", "a", "alpha", "norms", "kind"),
    [
        (0.1, 0.3, 0.6, 2.0, DataKind.SEQUENCES),
        (0.2, 0.15, 1.0, 0.0, DataKind.SEQUENCES),
        (0.3, 0.5, 0.6, 2.0, DataKind.GAUSSIAN_EQUIVALENT),
        (0.2, 0.7, 0.4, 0.0, DataKind.GAUSSIAN_EQUIVALENT),
    ],
)
def test_common_eigenvectors(gamma, a, alpha, norms, kind):
    """Scores of token sequences are Gaussian if no direction has a finite share of the second
    moment of the target, as for gamma + a < 1/2.
    """

    def run_at(dim, index):
        problem = Problem(alpha, power_lists(dim, gamma, a), 0.02, 0.5, norms=norms)
        return Run(problem, dim, data=kind, index=index)

    value, error = trained_gaps(run_at, lambda one: realised_problem(one.run, one.q0))
    assert np.all(np.abs(value) < 4 * error + LEFT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("covariance", "alpha", "decay", "norms"),
    [([0.4, 1.6], 0.6, 0.02, 2.0), ([0.1, 1.9], 0.4, 0.05, 2.0), ([0.5, 0.7, 1.8], 1.0, 0.02, 0.0)],
)
def test_given_matrices(covariance, alpha, decay, norms):
    """The theory gets the very matrices S0 and C of each run."""
    law = IndependentCovariance(MarchenkoPastur(0.5), covariance)

    def theory_of(one):
        run, roots = one.run, np.array(one.run.covariance_roots)
        s0 = draw(run).s0.numpy() / np.outer(roots, roots)
        target = MatrixCovariance(s0, np.diag(roots**2))
        return Problem(run.samples / run.dim**2, target, decay, 0.5, norms=norms)

    value, error = trained_gaps(
        lambda dim, index: Run(Problem(alpha, law, decay, 0.5, norms=norms), dim, index=index),
        theory_of,
    )
    assert np.all(np.abs(value) < 4 * error + LEFT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("covariance", "settings"),
    [
        ([1.0, 1.0], {"lambda_": 0.05, "alpha": 0.3, "norms": "fixed"}),
        ([0.1, 1.9], {"lambda_": 0.02, "alpha": 1.0, "norms": "fixed"}),
        (np.arange(1, 101) ** -0.5, {"lambda_": 0.02, "alpha": 0.6, "norms": "fixed"}),
        (np.arange(1, 101) ** -0.5, {"lambda_": 0.05, "alpha": 0.4, "tokens": 3}),
    ],
)
def test_independent_eigenvectors_and_the_sphere(covariance, settings):
    law = IndependentCovariance(MarchenkoPastur(0.4), covariance)

    value, error = trained_gaps(
        lambda dim, index: Run(Problem(target=law, noise=0.5, **settings), dim, index=index),
        lambda one: realised_problem(one.run, one.q0),
    )
    assert np.all(np.abs(value) < 4 * error + LEFT)
