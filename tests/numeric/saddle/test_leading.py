"""Leading features treated exactly: reduction to the Gaussian theory, slopes of the channel, the
law of sequences, trained heads.
"""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import softmax
from strategies import log_uniform

from numeric.channel.softmax.sequence_average import _fill_features, sample_means
from numeric.channel.softmax.whitened_index import token_index
from numeric.channel.softmax_rules import SampledRule
from numeric.laws.eigenvalue_list import Eigenvalues, finite_rank
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.maths.sobol import Sampling
from numeric.model import float64 as generated
from numeric.prediction.leading_features import LeadingPrediction, _indices
from numeric.problem.conjugates import Conjugates
from numeric.problem.fields import Fields, split
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import Status
from numeric.saddle.estimator import FactorisedTraining, LeadingFeatures
from numeric.saddle.solve import solve
from numeric.studies.decompose import _hidden_beyond_strengths, distance_parts
from numeric.studies.spectrum import learned_spectrum

DIM = 48


def problem(leading: int, dim: int = DIM, **changed: object) -> Problem:
    return Problem(
        **{
            "alpha": 1.0,
            "target": power_law(0.75, dim),
            "lambda_": 0.5,
            "noise": 0.5,
            "leading": leading,
            **changed,
        }
    )


parts, weights = log_uniform(1e-3, 1e3), log_uniform(1e-6, 0.5)


@pytest.mark.identity
@given(learned=parts, s=parts, weight=weights)
def test_what_a_feature_adds_to_the_overlaps_are_the_covariances_of_its_indices(learned, s, weight):
    """By Gauss and Hermite's rule, exact for polynomials of this degree: per unit, that is over 1 +
    delta_ab.
    """
    z, masses = hermegauss(8)
    masses /= masses.sum()
    student, target = (generated.leading_share(part, weight) for part in (learned, s))
    for index, mass in (
        (generated.feature_index(z, z, 1.0), masses),
        (generated.feature_index(z[:, None], z, 0.0), np.outer(masses, masses)),
    ):
        unit = 2.0 if index.ndim == 1 else 1.0
        assert np.sum(mass * index) == pytest.approx(0.0, abs=1e-13)
        products = ((student, target), (student, student), (target, target))
        found = [np.sum(mass * one * other * index**2) / unit for one, other in products]
        assert found == pytest.approx(list(generated.leading_parts(learned, s, weight)), rel=1e-12)


@pytest.mark.identity
@given(
    learned=parts, s=parts, weight=weights, M_m=log_uniform(1e-4, 1e2), M_q=log_uniform(1e-4, 1e2)
)
def test_a_feature_with_a_gaussian_index_is_seen_as_it_is(learned, s, weight, M_m, M_q):
    """Its envelope depends on l through the overlaps alone: M_l = dm/dl M_m + dq/dl M_q, and
    nothing is unseen.
    """
    M_l = weight * s * -M_m + 2 * weight * learned * M_q
    terms = (weight * s * M_m + 4 * weight * learned * M_q) / (weight * M_m)
    strength = generated.leading_strength(-M_m, M_q, M_l, learned, weight)
    assert strength == pytest.approx(s, abs=1e-14 * terms)
    assert generated.unseen_overlap(learned, s, s, weight) == 0.0


def test_the_prior_of_unchanged_strengths_is_that_of_the_target():
    asked, given = problem(5), Conjugates(0.3, 0.08, 0.6)
    s, _ = asked.features
    plain = FactorisedTraining(asked).denoised(given)
    kept = LeadingFeatures(asked).denoised(given._replace(strengths=tuple(s)))
    assert kept.overlaps[:3] == pytest.approx(plain.overlaps[:3], rel=1e-12)
    assert np.all(np.diff(kept.overlaps.learned) > 0)


def test_what_is_learned_of_all_features_is_the_overlap():
    """m = tr S S0/d is the sum of l_k s_k over all eigenvectors of S0; the one that is not kept has
    the least part of it.
    """
    asked, given = problem(11, dim=12), Conjugates(0.3, 0.08, 0.6)
    s, weight = asked.features
    at = LeadingFeatures(asked).denoised(given._replace(strengths=tuple(s)))
    parts = weight * np.array(at.overlaps.learned) * s
    assert 0 < at.overlaps.m - parts.sum() < parts[0]


@pytest.mark.parametrize(
    ("gamma", "apart"), [pytest.param(0.3, 0, marks=pytest.mark.slow), (0.75, 0), (0.75, 1)]
)
def test_parts_of_the_distance_count_what_noisy_eigenvectors_know_of_true_features(gamma, apart):
    """Where no feature stands apart noisy eigenvectors know all of the overlap, m/q0 for each part
    of the target.
    """
    alpha, decay = (0.3, 0.05) if gamma < 0.5 else (0.05, 0.02) if not apart else (0.2, 0.5)
    solution = solve(
        problem(2, dim=40, target=power_law(gamma, 40), alpha=alpha, lambda_=decay)
    ).unwrap()
    parts = distance_parts(solution, 0.9)
    assert sum(parts[:3]) == pytest.approx(parts.distance, abs=1e-12)
    assert solution.effective_target.features(solution.delta**2) * 40 == pytest.approx(apart)
    if apart:
        assert 0 < parts.gain < solution.m / solution.problem.q0
    else:
        assert parts.gain == pytest.approx(solution.m / solution.problem.q0, rel=1e-6)


@pytest.mark.parametrize("tokens", [2, 3])
def test_strengths_come_from_differences_of_M(tokens):
    """Moving one l at fixed overlaps of the rest: differences on the same points as the
    derivatives.
    """
    asked, rule = problem(2, tokens=tokens), SampledRule(Sampling(1024))
    s, weight = asked.features
    learned = 0.5 * s
    V, k, step = 0.4, 1, 0.02 * learned[1]

    def at(kept: np.ndarray):
        m, q = 0.2 + weight * kept @ s, 0.15 + weight * kept @ kept
        return rule.average(Overlaps(float(m), float(q), V, learned=tuple(kept.tolist())), asked)

    here = at(learned)
    axis = np.eye(2)[k]
    difference = (at(learned + step * axis).M - at(learned - step * axis).M) / (2 * step)
    strength = generated.leading_strength(here.dM_dm, here.dM_dq, difference, learned[k], weight)
    assert strength == pytest.approx(here.strengths[:, k], rel=2e-3)


def test_a_control_variate_stands_in_for_minimisers_with_features():
    features = {"student_features": np.array([0.2, 0.4]), "target_features": np.array([0.4, 0.6])}
    asked = (
        Fields.of(0.3, 0.35, 1.0)._replace(**features),
        0.5,
        0.0,
        1.0,
        1.2,
        3,
        Sampling(2048, 16),
    )
    quick, settled = sample_means(*asked), sample_means(*asked, response=True)
    assert quick.test == pytest.approx(settled.test, rel=1e-9)
    for here, there in zip(quick.features.T, settled.features.T, strict=True):
        scatter = (here - there).std(ddof=1) / 4
        assert 0 < scatter < 0.5 * there.std(ddof=1) / 4
        assert abs(np.mean(here - there)) <= 5.5 * scatter


@pytest.mark.slow
def test_errors_are_those_of_token_sequences():
    """A student c S0 with other noise, drawn on sequences: the law of the indices itself, of which
    all but 8 features are Gaussian.
    """
    asked, c, rng = problem(8), 0.7, np.random.default_rng(0)
    s = np.array(asked.target.eigenvalues)
    x = rng.standard_normal((60_000, 2, DIM))
    index = (np.einsum("k,nak,nbk->nab", s, x, x) - s.sum() * np.eye(2)) / math.sqrt(DIM)
    units = np.array([[math.sqrt(2), 1], [1, math.sqrt(2)]]) * math.sqrt(asked.rho - asked.q0)
    noise = rng.standard_normal((len(x), 2, 2)) * units
    noise[:, 1, 0] = noise[:, 0, 1]
    gap = softmax(c * index, axis=-1) - softmax(index + noise, axis=-1)
    losses = np.sum(gap**2, axis=(1, 2))
    prediction = LeadingPrediction.of(asked)
    expected = prediction.errors(prediction.multiple(c)).mean()
    scatter = losses.std() / math.sqrt(len(x))
    assert abs(losses.mean() - expected) < 4 * scatter + 3e-4  # and the scatter of 65536 points
    gaussian = LeadingPrediction.of(dataclasses.replace(asked, leading=0)).errors(
        Overlaps(c * asked.q0, c**2 * asked.q0, 0.0)
    )
    assert abs(losses.mean() - gaussian.mean()) > 10 * scatter
    assert prediction.best_multiple().test_error <= expected


#: Three heads trained on token sequences at d = 48 (theory note, end of section 8): values and
#: standard errors.
TRAINED = {
    "m": (0.4169, 6e-4),
    "q": (0.2123, 1.1e-3),
    "train_error": (0.1326, 3e-4),
    "test_error": (0.1678, 8e-4),
}


@pytest.mark.parametrize(
    "changed", [{"noise": 1e3}, pytest.param({"beta0": 30.0}, marks=pytest.mark.slow)]
)
def test_the_best_multiple_is_a_minimum_inside_the_range_searched(changed):
    """With much noise it was taken from the end of the range, .05."""
    asked = problem(4, **changed)
    prediction = LeadingPrediction.of(asked)
    c, error = prediction.best_multiple()
    assert min(prediction.errors(prediction.multiple(x)).mean() for x in (0.9 * c, 1.1 * c)) > error


def test_what_a_student_holds_beyond_the_features_counted_is_that_of_the_weaker_ones():
    solution = solve(problem(3, alpha=0.3)).unwrap()
    weight = solution.problem.features[1]
    beyond = [_hidden_beyond_strengths(solution, counted * weight) for counted in range(4)]
    assert beyond[3] == 0 and np.all(np.diff(beyond) < 0)


@pytest.mark.parametrize("tokens", [2, 3])
def test_components_of_a_feature_are_products_of_its_gaussians(tokens):
    index, point = token_index(tokens), np.random.default_rng(0).standard_normal(2 + 2 * tokens)
    found = np.full((2, index.symmetric), np.nan)
    _fill_features(point, 2, index, found)
    for z, components in zip(point[2:].reshape(2, tokens), found, strict=True):
        matrix = np.outer(z, z) - np.eye(tokens)
        assert components[index.component] * index.scale == pytest.approx(matrix, rel=1e-12)


def test_heads_trained_on_sequences_are_met():
    found, gaussian = solve(problem(8)), solve(problem(0))
    assert found.status is Status.CONVERGED
    assert found.residual < 1e-8
    for name, (value, error) in TRAINED.items():
        assert abs(getattr(found, name) - value) < 4 * math.hypot(error, found.errors[name]), name
    assert abs(gaussian.m - TRAINED["m"][0]) > 25 * TRAINED["m"][1]


def test_the_free_entropy_falls_with_weight_decay_by_the_trace():
    """de/dlambda = sqrt(kappa) tr S/d, an envelope theorem, and tr S/d = -c J_b/2."""
    at = {shift: solve(problem(3, lambda_=0.5 + shift)).unwrap() for shift in (-0.02, 0.0, 0.02)}
    energy = LeadingFeatures(at[0.0].problem).denoised(at[0.0].conjugates).denoising.energy
    slope = (at[0.02].free_entropy - at[-0.02].free_entropy) / 0.04
    assert slope == pytest.approx(-at[0.0].c * energy.J_b / 2, rel=0.02)


def test_the_spectrum_is_that_of_the_target_as_the_prior_sees_it():
    found = solve(problem(2)).unwrap()
    assert len(found.strengths) == 2
    spectrum = learned_spectrum(found)
    assert spectrum.second_moment == pytest.approx(found.q, rel=1e-3)


def test_where_nothing_is_learned_strengths_are_still_those_of_the_labels():
    found = solve(problem(4, lambda_=50.0))
    assert found.status is Status.UNLEARNED
    assert len(found.strengths) == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"leading": 48},
        {"leading": -1},
        {"target": MarchenkoPastur(0.5)},
        {"target": Eigenvalues((1.0, 2.0, 3.0), (0.5, 0.3, 0.2))},
        {"target": finite_rank((9.0, 9.0, 2.0), 48)},  # one product of weight 2/48 before
        {"leading": 2.0},
        {"lambda_": 0.0},
        {"parametrisation": Parametrisation.SYMMETRIC},
    ],
)
def test_what_cannot_be_kept_exactly_is_refused(changed):
    with pytest.raises(ValueError, match="leading = "):
        problem(**{"leading": 2, **changed})


def test_indices_of_a_token_with_itself_are_skewed_like_squares():
    """Features of weight s add s (z^2 - 1)/sqrt(d), of third cumulant 8 s^3/d^(3/2); the rest is
    Gaussian and adds none.
    """
    asked = problem(8)
    students, target = _indices(
        split(LeadingPrediction(asked).multiple(0.7), asked).fields(), token_index(2)
    )
    skew = 8 * float(np.sum(np.array(asked.features[0]) ** 3)) / DIM**1.5
    for indices, scale in ((target, 1.0), *((student, 0.7) for student in students)):
        own = indices[:, 0, 0]
        # the cube of a variable of variance 2 scatters by some twenty, over 512 for its 2^18 points
        assert float(np.mean(own**3)) == pytest.approx(scale**3 * skew, rel=0.03)
        assert float(np.mean(own)) == pytest.approx(0.0, abs=0.01)
    spreads = [float(np.var(student[:, 0, 1])) for student in students]
    assert spreads[0] == pytest.approx(
        spreads[1], rel=0.01
    )  # either sign of what the label does not see
