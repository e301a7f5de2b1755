"""Trained eigenvalues and eigenvectors of a target with three large eigenvalues, against those of the denoising problem."""

import dataclasses

import numpy as np
import pytest

from numeric.problem import Problem
from numeric.saddle import solve
from verify.data import DataKind
from verify.minimise import Status
from verify.run import Run, execute

SPIKES, COUNT = (4.0, 2.5, 0.12), 6
#: On token sequences the overlaps lost are a third larger: the largest eigenvalue carries most of tr S^2, indices are not Gaussian.
RUN = Run(
    dim=48, alpha=1.0, kappa0=None, spikes=SPIKES, width=1.0, lambda_=0.05, noise=0.5, data=DataKind.GAUSSIAN_EQUIVALENT
)
#: Finite size: the three eigenvalues change the law of the others, which is a semicircle without them, by their share.
FINITE_SIZE = len(SPIKES) / RUN.dim


@pytest.fixture(scope="module")
def theory():
    """A low-rank target of the same second moment: its delta, b and c are those of the list up to the finite size."""
    q0, kappa0 = sum(s * s for s in SPIKES) / RUN.dim, len(SPIKES) / RUN.dim
    return solve(Problem(alpha=1.0, kappa0=kappa0, lambda_=0.05, noise=0.5, target_scale=np.sqrt(q0 / (1 + kappa0))))


@pytest.fixture(scope="module")
def trained():
    results = [execute(dataclasses.replace(RUN, index=i)) for i in range(COUNT)]
    assert all(result.status is Status.CONVERGED for result in results)
    return results


def allowed(values, expected):
    return 4 * values.std(ddof=1) / np.sqrt(COUNT) + FINITE_SIZE * expected


@pytest.mark.parametrize("k", [0, 1])
def test_outliers_are_where_denoising_puts_them(k, theory, trained):
    """Y = S0 + delta G has an outlier at s + delta^2/s over a bulk at 0; S = c (Y - b)."""
    expected = theory.c * (SPIKES[k] + theory.delta**2 / SPIKES[k] - theory.b)
    values = np.array([result.eigenvalues[k] for result in trained])
    assert abs(values.mean() - expected) < allowed(values, expected)


@pytest.mark.parametrize("k", [0, 1])
def test_their_eigenvectors_overlap_as_much(k, theory, trained):
    expected = theory.delta**2 / SPIKES[k] ** 2  # of the squared overlap is lost
    lost = 1 - np.array([result.overlaps[k] for result in trained])
    assert abs(lost.mean() - expected) < allowed(lost, expected)


def test_an_eigenvalue_below_the_noise_is_not_found(theory, trained):
    assert SPIKES[2] < 0.5 * theory.delta
    # a direction at random has 1/d; one at half of the threshold draws the edge of the bulk four times as much
    overlaps = np.array([result.overlaps[2] for result in trained])
    assert overlaps.mean() < 4 * 4 / RUN.dim
