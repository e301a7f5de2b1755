"""What S has of each feature: two routes, a sum rule, random matrices, limits."""

from dataclasses import replace

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.laws.eigenvalue_list import Eigenvalues, finite_rank, singular_values
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.sequential_recovery import feature_overlaps

DIM = 60


def solved(samples: float, decay: float):
    return solve(Problem(samples / DIM**2, power_law(0.75, DIM), decay, 0.5)).unwrap()


#: One feature out of the bulk; some out and the threshold within the bulk; nearly all of Y kept,
#: features in and out of the bulk.
PLACES = [(900.0, 1.0), (4000.0, 1.0), (335.0, 1 / DIM), (2500.0, 1 / DIM)]


def test_features_of_several_eigenvalues_each_are_refused():
    solution = solve(
        Problem(1.0, Eigenvalues((0.0, 1.0, 3.0), (0.9, 0.09, 0.01)), 0.1, 0.5)
    ).unwrap()
    with pytest.raises(InvalidParameter, match="has no 2 single features"):
        feature_overlaps(solution, 2)


@pytest.mark.parametrize(
    ("target", "changed"),
    [
        (finite_rank((3.0, 1.0), 50), {"parametrisation": "symmetric"}),
        (singular_values((3.0, 1.0, 0.0), (0.02, 0.02, 0.96)), {"model": "cross_attention"}),
    ],
    ids=["no factors", "both ends"],
)
def test_features_without_one_threshold_are_refused(target, changed):
    with pytest.raises(InvalidParameter, match="has no one threshold"):
        feature_overlaps(solve(Problem(1.0, target, 0.1, 0.5, **changed)), 1)


def test_a_target_that_is_learned_whole_has_no_overlaps():
    with pytest.raises(NoAnswer, match="every overlap is one"):
        feature_overlaps(replace(solved(*PLACES[0]), delta=0.0), 1)


@pytest.mark.parametrize(("samples", "decay"), PLACES)
def test_what_is_held_of_a_feature_is_the_slope_of_the_spectral_function(samples, decay):
    """By the envelope theorem v_k^T S v_k = c J_{s_k}/(2 w) (theory note, section 10)."""
    solution = solved(samples, decay)
    target, v, step = solution.problem.target, solution.delta**2, 1e-4
    held, _ = feature_overlaps(solution, 6)
    for k in range(1, 7):
        s = np.array(target.eigenvalues)
        slope = 0.0
        for side in (1, -1):
            moved = s.copy()
            moved[-k] += side * step
            law = type(target).__mro__[1](tuple(moved.tolist()), target.weights)
            slope += side * law.energy(v, solution.b, 1.0).J / (2 * step)
        # Of the slope the difference leaves its third derivative, of the integral a narrow neck of
        # a nearly closed gap 3e-4.
        assert held[k - 1] == pytest.approx(solution.c * slope * DIM / 2, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(("samples", "decay"), PLACES)
def test_what_is_held_of_all_features_is_the_overlap_with_the_target(samples, decay):
    solution = solved(samples, decay)
    target = solution.problem.target
    s, w = target.arrays
    _, moments = target.feature_parts(solution.delta**2, solution.b, solution.b, np.inf)
    assert solution.c * np.sum(w * s * moments) == pytest.approx(solution.m, rel=1e-4)


def test_maps_with_random_noise_have_these_overlaps_on_average():
    """Some features out and the threshold within the bulk; away from a meeting of features a mean
    errs by 1/d of itself.
    """
    solution, draws, rng = solved(4000.0, 1.0), 300, np.random.default_rng(0)
    s = np.array(solution.problem.target.eigenvalues[::-1])
    held, aligned = np.empty((draws, 4)), np.empty((draws, 4))
    for i in range(draws):
        noise = rng.standard_normal((DIM, DIM))
        values, vectors = np.linalg.eigh(
            np.diag(s) + solution.delta * (noise + noise.T) / np.sqrt(2 * DIM)
        )
        learned = solution.c * np.maximum(values - solution.b, 0)
        held[i], aligned[i] = (vectors[:4] ** 2) @ learned, np.diag(vectors[:, ::-1])[:4] ** 2
    for found, expected in zip((held, aligned), feature_overlaps(solution, 4), strict=True):
        error = 4 * found.std(axis=0, ddof=1) / np.sqrt(draws) + expected / DIM
        assert np.all(np.abs(found.mean(axis=0) - expected) < error)


def test_nothing_is_held_where_nothing_is_learned():
    held, aligned = feature_overlaps(solved(300.0, 1.0), 5)
    assert not held.any() and not aligned.any()


def test_infinitely_many_samples_give_the_features_themselves():
    solution = solved(1e9, 1e-3)
    held, aligned = feature_overlaps(solution, 5)
    assert aligned == pytest.approx(np.ones(5), abs=1e-4)
    assert held == pytest.approx(
        solution.c * np.array(solution.problem.target.eigenvalues[:-6:-1]), rel=1e-3
    )


def test_targets_without_single_features_are_refused():
    for target in (MarchenkoPastur(0.5), finite_rank((3.0, 3.0, 1.0), 40)):
        solution = solve(Problem(1.0, target, 0.05, 0.5))
        with pytest.raises(InvalidParameter, match="has no 3 single features"):
            feature_overlaps(solution, 3)
