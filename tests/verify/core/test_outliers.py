"""Trained eigenvalues and eigenvectors against those of the denoising problem: three large ones,
and a whole symmetric matrix.
"""

import numpy as np
import pytest

from numeric.laws.eigenvalue_list import Eigenvalues, finite_rank
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from numeric.saddle.solve import solve
from numeric.studies.spectrum import learned_spectrum
from verify.core.data import DataKind
from verify.core.measure import execute
from verify.core.minimise import DescentStatus
from verify.core.run import Run
from verify.core.spectra import trained_spectrum

SPIKES, COUNT = (4.0, 2.5, 0.12), 6
#: On token sequences the overlaps lost are a third larger: the largest eigenvalue carries most of
#: tr S^2, indices are not Gaussian.
RUN = Run(
    Problem(1.0, finite_rank(SPIKES, 48), 0.05, 0.5), dim=48, data=DataKind.GAUSSIAN_EQUIVALENT
)
#: What is left of finite size, as a share of the expected value: the theory holds the d eigenvalues
#: and errs by O(1/d).
FINITE_SIZE = 1 / RUN.dim


@pytest.fixture(scope="module")
def theory():
    """The outliers that the solution for these d eigenvalues has, the largest first."""
    problem = Problem(alpha=1.0, target=finite_rank(SPIKES, RUN.dim), lambda_=0.05, noise=0.5)
    found = learned_spectrum(solve(problem).unwrap()).outliers
    return sorted(found, key=lambda outlier: -outlier.target)


@pytest.fixture(scope="module")
def trained():
    results = [execute(RUN.varied(index=i)) for i in range(COUNT)]
    assert all(result.status is DescentStatus.CONVERGED for result in results)
    return results


def allowed(values, expected):
    return 4 * values.std(ddof=1) / np.sqrt(COUNT) + FINITE_SIZE * expected


@pytest.mark.parametrize("k", [0, 1])
def test_outliers_are_where_denoising_puts_them(k, theory, trained):
    expected = theory[k].value
    assert theory[k].target == SPIKES[k]
    values = np.array([result.eigenvalues[k] for result in trained])
    assert abs(values.mean() - expected) < allowed(values, expected)


@pytest.mark.parametrize("k", [0, 1])
def test_their_eigenvectors_overlap_as_much(k, theory, trained):
    expected = 1 - theory[k].overlap
    lost = 1 - np.array([result.overlaps[k] for result in trained])
    # Squared fluctuations of the overlap are a share 1/d of one, not of what is lost.
    assert (
        abs(lost.mean() - expected)
        < 4 * lost.std(ddof=1) / np.sqrt(COUNT) + 3 * FINITE_SIZE * expected
    )


def test_an_eigenvalue_below_the_noise_is_not_found(theory, trained):
    assert len(theory) == 2
    # a direction at random has 1/d; one at half of the threshold draws the edge of the bulk four
    # times as much
    overlaps = np.array([result.overlaps[2] for result in trained])
    assert overlaps.mean() < 4 * 4 / RUN.dim


def test_a_symmetric_matrix_trained_directly_keeps_all_eigenvalues():
    """Its law has no mass at zero and a negative part; singular values of training count both
    sides.
    """
    factors = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=48)
    run = factors.varied(parametrisation=Parametrisation.SYMMETRIC)
    results = [execute(run.varied(index=i)) for i in range(3)]
    values = tuple(map(float, run.target_eigenvalues()))
    target = Eigenvalues(values, (1 / run.dim,) * run.dim)
    asked = Problem(1.0, target, 0.05, 0.5, parametrisation=Parametrisation.SYMMETRIC)
    law = learned_spectrum(solve(asked).unwrap(), 2000)
    assert law.zero_mass == 0 and law.bulks[0][0] < -0.1
    trained = np.sort(np.concatenate([result.singular_values for result in results]))
    counts = (np.arange(len(trained)) + 0.5) / len(trained)
    expected = law.mass_above(-trained) - law.mass_above(trained)
    # Eigenvalues repel: an empirical distribution of d of them is within a few times 1/d of its
    # law.
    assert np.abs(counts - expected).max() < 2.5 / run.dim
    assert law.mass_above(np.array([-10.0, 10.0])) == pytest.approx([1.0, 0.0], abs=1e-4)
    # What a run measures are singular values: those of the law were once taken for its eigenvalues.
    points = np.array([0.05, 0.3, 1.0, 2.0])
    folded = law.singular_values().mass_above(points)
    assert folded == pytest.approx(law.mass_above(points) + 1 - law.mass_above(-points), abs=1e-4)
    assert trained_spectrum(results).agrees
