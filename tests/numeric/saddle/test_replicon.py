"""The replicon of general matrices: the largest eigenvalue of what its parts do to each other, and
what is left where they do not.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, log_uniform

from numeric.channel.blocks import samples
from numeric.channel.rules import channel_of
from numeric.laws.divided_difference import either_sign_second_difference
from numeric.laws.rational_target import RationalTarget
from numeric.model import float64 as generated
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.solution import Status
from numeric.saddle.solve import solve
from verify.studies.models.study import SETTINGS, ModelSetting, problem_at

positive, responses = log_uniform(1e-3, 1e3), st.tuples(*[log_uniform(1e-4, 1e2)] * 4)


@pytest.mark.identity
@given(alpha=positive, responses=responses, V=positive, V_a=positive)
def test_the_largest_eigenvalue_of_the_growth_decides(alpha, responses, V, V_a):
    matrix = 2 * alpha * np.diag([V**2, V_a**2]) @ np.reshape(responses, (2, 2))
    largest = np.linalg.eigvals(matrix).real.max()
    found = generated.general_replicon(alpha, *responses, V, V_a)
    assert found == pytest.approx(1 - largest, abs=1e-12 * (1 + largest))


@pytest.mark.identity
@given(
    alpha=positive, F=positive, mh=positive, qh=positive, Vh=positive, decay=positive, V_a=positive
)
def test_without_an_antisymmetric_response_it_is_that_of_a_symmetric_matrix(
    alpha, F, mh, qh, Vh, decay, V_a
):
    """Linear shrinkage: DD = 1."""
    V = generated.direct_overlaps(mh, qh, Vh, decay, 1.0)[2]
    _, c = generated.direct_denoising(mh, qh, V)
    symmetric = generated.replicon(alpha, F, 1.0, c, mh)
    assert generated.general_replicon(alpha, F, 0.0, 0.0, 0.0, V, V_a) == pytest.approx(
        symmetric, abs=1e-13 * (2 - symmetric)
    )


@pytest.mark.identity
@given(alpha=positive, responses=responses, V=positive, V_a=positive)
def test_parts_that_perturb_each_other_are_less_stable(alpha, responses, V, V_a):
    same, cross, back, other = responses
    apart = [
        generated.general_replicon(alpha, one, 0.0, 0.0, 0.0, size, 0.0)
        for one, size in ((same, V), (other, V_a))
    ]
    together = generated.general_replicon(alpha, same, cross, back, other, V, V_a)
    assert together <= min(apart) + 1e-12 * (2 - min(apart))


@pytest.mark.parametrize("ratio", [0.3, 1.0, 3.0])
def test_either_sign_by_random_matrices(ratio):
    """Mean square divided difference of soft thresholding of both ends, over the eigenvalues of one
    large matrix.
    """
    target, v, dim = (
        RationalTarget.of("signed_quadratic_network", kappa0=0.5, positive=0.25, scale=1.0),
        0.3,
        1200,
    )
    b = ratio * np.sqrt(v)
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((dim, dim // 2)) * np.where(np.arange(dim // 2) < dim // 8, 1, 1j)
    noise = rng.standard_normal((dim, dim))
    y = (factors @ factors.T).real / (dim / np.sqrt(2)) + np.sqrt(v / 2 / dim) * (noise + noise.T)
    x = np.linalg.eigvalsh(y)
    kept = np.sign(x) * np.maximum(np.abs(x) - b, 0)
    apart = x[:, None] - x + np.eye(dim)
    D = np.where(np.eye(dim) > 0, np.abs(x) > b, (kept[:, None] - kept) / apart)
    energy = sum(side.energy(v, b, 1.0).J_v for side in (target, target.mirrored))
    found = either_sign_second_difference(target, v, b, energy)
    assert found.error < 1e-3
    assert found.value == pytest.approx(
        (D**2).mean(), abs=5 / dim
    )  # eigenvalues fluctuate by 1/dim


@pytest.mark.identity
@pytest.mark.parametrize(
    "name",
    [
        "quadratic_network",
        "signed_quadratic_network",
        "linear_attention",
        "cross_attention_cross_entropy",
    ],
)
@given(alpha=log_uniform(0.1, 4), lambda_=log_uniform(1e-2, 1), noise=log_uniform(0.05, 2))
@examples(6)
def test_a_convex_problem_is_stable(name, alpha, lambda_, noise):
    found = solve(problem_at(name, ModelSetting(alpha, 0.5, lambda_, noise)))
    assert found.status in (Status.CONVERGED, Status.UNLEARNED)
    assert 0 < found.replicon <= 1


def test_a_minimiser_that_jumps_breaks_the_symmetry():
    found = solve(problem_at("first_row_attention", ModelSetting(0.5, 0.5, 3e-3, 1.0)))
    assert found.status is Status.UNSTABLE
    assert found.replicon == -np.inf


def test_the_response_of_a_block_is_that_by_differences():
    """F = E (dG/dw)^2 Sigma^2 with the dual field of each sample differentiated numerically."""
    problem = problem_at("cross_attention_cross_entropy", SETTINGS[1])
    (sample,), overlaps = samples(problem), Overlaps(0.8, 0.9, 0.7)
    fields, step, rng = Fields.of(0.8, 0.9, problem.rho), 1e-4, np.random.default_rng(1)
    seen, unseen = rng.standard_normal((2, 1, 200_000)) * np.sqrt(sample.covariance[0, 0])
    y, w = sample.label(fields.target * seen), fields.teacher * seen + fields.independent * unseen
    high, low = (sample.minimiser(w, w + side * step, y, 0.7) - side * step for side in (1, -1))
    response = sample.copies * ((high - low) / (2 * step * 0.7)) ** 2
    error = response.std() / np.sqrt(response.size)
    assert channel_of(problem).responses(overlaps)[0] == pytest.approx(
        response.mean(), abs=4 * error
    )
