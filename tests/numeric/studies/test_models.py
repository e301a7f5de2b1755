"""Studies of any model: its spectrum, the parts of its error, its best decay, what it pays against
the optimum.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric import model as models
from numeric.channel.mean_losses import ClosedLosses
from numeric.laws.eigenvalue_list import Eigenvalues, singular_values
from numeric.prediction.prediction import prediction_of
from numeric.problem.overlaps import Overlaps
from numeric.saddle.solve import solve
from numeric.studies.bayes_comparison import cost_curve
from numeric.studies.decompose import decompose
from numeric.studies.optimal_decay import optimal_lambda
from numeric.studies.spectrum import learned_spectrum
from verify.core.sensing.run import default_target, quantiles
from verify.studies.models.study import EASY_SETTINGS, SETTINGS, problem_at

NAMES = [name for name in models.available() if "kappa0" in models.structure(name).target_settings]
WITH_OPTIMUM = [name for name in NAMES if "bayes" not in models.structure(name).missing_thresholds]
FACTORS = [name for name in NAMES if models.structure(name).has_linear_penalty]
LONG_SEARCH = {
    "cross_attention_cross_entropy",
    "tied_attention_cross_entropy",
    "label_noise_attention",
    "first_row_attention",
    "cross_attention",
    "untied_attention",
    "direct_general",
    "direct_symmetric",
    "elastic_attention",
}
LONG_SOLVES = {
    "tied_attention_cross_entropy",
    "label_noise_attention",
    "cross_attention",
    "untied_attention",
}
LONG_INTEGRALS = {
    "direct_general",
    "cross_attention",
    "untied_attention",
    "signed_quadratic_network",
    "cross_attention_cross_entropy",
}


def quick_unless(names, slow):
    """Names as parameters, those in `slow` marked so."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in names]


def setting(name):
    """A setting at which a model is trained, too."""
    return EASY_SETTINGS.get(name, SETTINGS[1:])[0]


@cache
def solution(name, **changes):
    return solve(replace(problem_at(name, setting(name)), **changes)).unwrap()


@pytest.mark.parametrize("name", quick_unless(NAMES, LONG_SOLVES))
def test_the_spectrum_holds_all_eigenvalues_and_the_second_moment(name):
    found = learned_spectrum(solution(name))
    assert found.second_moment == pytest.approx(solution(name).q, rel=1e-9)
    mass = np.trapezoid(
        found.density, found.x
    )  # at ends of bulks the density vanishes, or they meet at 0
    assert mass + found.zero_mass == pytest.approx(
        1, abs=2e-3
    )  # of a trapezoidal rule of 400 points


LISTS = {
    "signed_quadratic_network": Eigenvalues(
        (-3.0, -1.5, 0.0, 0.5, 2.0), (0.01, 0.1, 0.5, 0.3, 0.09)
    ),
    "cross_attention": singular_values((4.0, 1.5, 0.3), (0.02, 0.38, 0.6)),
}


@pytest.mark.parametrize("listed", [False, True], ids=["law", "list"])
@pytest.mark.parametrize("name", quick_unless(LISTS, LONG_SOLVES))
def test_the_spectrum_is_that_of_random_matrices(name, listed):
    """Soft thresholding of S0 + sqrt(v) G, d = 400: shares of eigenvalues beyond a level scatter by
    less than 2/d.
    """
    dim, rng = 400, np.random.default_rng(1)
    found = solution(name, **({"target": LISTS[name]} if listed else {}))
    general, (v, b, c) = found.problem.has_singular_values, (found.delta**2, found.b, found.c)
    noise = rng.standard_normal((dim, dim)) / np.sqrt(dim)
    if general:
        values = np.sort(np.abs(quantiles(found.problem.target, 2 * dim)))[::-2]
        learned = np.linalg.svd(np.diag(values) + np.sqrt(v) * noise, compute_uv=False)
    else:
        values = quantiles(found.problem.target, dim)
        learned = np.linalg.eigvalsh(np.diag(values) + np.sqrt(v / 2) * (noise + noise.T))
    learned = c * np.sign(learned) * np.maximum(np.abs(learned) - b, 0)
    spectrum = learned_spectrum(found)
    assert np.mean(learned == 0) == pytest.approx(spectrum.zero_mass, abs=4 / dim)
    for level in (-1.0, -0.2, 0.2, 1.0, 2.0):
        beyond = (spectrum.x > level) if level > 0 else (spectrum.x < level)
        share = np.trapezoid(np.where(beyond, spectrum.density, 0.0), spectrum.x)
        share += sum(
            one.weight * (2 if general else 1)
            for one in spectrum.outliers
            if (one.value > level) == (level > 0)
        )
        counted = np.mean(learned > level) if level > 0 else np.mean(learned < level)
        assert counted == pytest.approx(share, abs=6 / dim), level


def test_noise_on_the_label_leaves_no_split_that_is_resolved():
    with pytest.raises(InvalidParameter, match="has sampled label noise"):
        decompose(solution("label_noise_attention"))


def is_smooth(name):
    """Labels are smooth functions of the index, and so is the loss."""
    shape = models.structure(name)
    return not shape.draws and not any(block.kinks for block in shape.blocks)


SPLIT = [
    name for name in FACTORS if is_smooth(name) and not models.structure(name).has_noise_on_label
]


@pytest.mark.parametrize("name", [name for name in FACTORS if not is_smooth(name)])
def test_errors_of_classes_and_of_losses_with_kinks_are_not_split(name):
    at = problem_at(name, EASY_SETTINGS.get(name, SETTINGS)[0])
    with pytest.raises(ValueError, match="has no theory for the decomposition of errors"):
        decompose(solve(at))


@pytest.mark.parametrize("name", quick_unless(SPLIT, LONG_SOLVES))
def test_the_parts_of_the_error_add_up(name):
    found = decompose(solution(name))
    assert found.overfitting + found.underfitting + found.approximation == pytest.approx(
        found.distance, rel=1e-9
    )
    total = found.least + found.mismatch + found.rate * found.distance
    assert total == pytest.approx(found.solution.test_error, rel=1e-5)  # two rules for one average
    assert found.overfitting > 0
    assert found.approximation > 0
    assert found.underfitting > -1e-4 * found.distance
    assert 0 <= found.mismatch < 0.01 * found.least


@pytest.mark.parametrize(
    "name", [name for name in NAMES if not models.structure(name).has_linear_penalty]
)
def test_direct_training_leaves_no_eigenvalue_out(name):
    with pytest.raises(InvalidParameter, match="matrix itself"):
        decompose(solution(name))


@pytest.mark.parametrize(
    "name",
    quick_unless(["quadratic_network", "cross_attention", "first_row_attention"], LONG_SOLVES),
)
def test_predictions_are_means_over_fresh_samples(name):
    """The test error of the solution by another rule; the best multiple is the best of those beside
    it.
    """
    found = solution(name)
    prediction = prediction_of(found.problem)
    value, error = prediction.test_error(Overlaps(found.m, found.q, found.V))
    assert value == pytest.approx(found.test_error, abs=error + found.errors["test_error"] + 1e-12)
    c, least = prediction.best_multiple()
    q0 = found.problem.q0
    assert least < min(
        prediction.losses.test_error(scale * c * q0, (scale * c) ** 2 * q0).value
        for scale in (0.99, 1.01)
    )
    assert prediction.losses.least_test_error() <= least
    excess = prediction.excess_error(found, Overlaps(found.m, found.q, found.V))
    assert excess.value == pytest.approx(value - least, rel=1e-12) and excess.value > 0
    assert excess.error >= max(error, found.errors["test_error"])  # that of either may be all of it


def test_two_tokens_predict_alike_by_either_route():
    """First row of tied attention against a hand-written mean over the two logits."""
    problem = problem_at("first_row_attention", SETTINGS[1])
    found, rng = solve(problem), np.random.default_rng(2)
    z, other = rng.standard_normal((2, 400_000)) * np.sqrt(3)  # h_11 - h_12: variance 2 + 1
    h0 = np.sqrt(problem.q0) * z
    w = found.m / problem.q0 * h0 + np.sqrt(found.q - found.m**2 / problem.q0) * other
    noisy = h0 + np.sqrt(problem.rho - problem.q0) * np.sqrt(3) * rng.standard_normal(len(z))
    losses = 2 * (1 / (1 + np.exp(-w)) - 1 / (1 + np.exp(-noisy))) ** 2
    value = prediction_of(problem).test_error(Overlaps(found.m, found.q, found.V)).value
    assert value == pytest.approx(losses.mean(), abs=4 * losses.std() / np.sqrt(len(losses)))


@pytest.mark.parametrize("name", quick_unless(NAMES, LONG_SEARCH))
def test_the_best_decay_is_better_than_those_beside_it(name):
    problem = problem_at(name, setting(name))
    best = optimal_lambda(problem, tolerance=0.05)
    for factor in (0.6, 1.6):
        beside = solve(replace(problem, lambda_=factor * best.decay)).unwrap()
        assert (
            beside.test_error >= best.solution.test_error - 2 * best.solution.errors["test_error"]
        )


@pytest.mark.parametrize("name", quick_unless(WITH_OPTIMUM, LONG_INTEGRALS | LONG_SOLVES))
def test_no_model_is_better_than_the_optimum(name):
    """At the gain that is best for it."""
    (point,) = cost_curve(problem_at(name, SETTINGS[1]), [1.0])
    assert (
        0 < point.bayes_error < min(point.solution.denoising_error, point.solution.estimation_error)
    )


def test_the_default_target_has_the_share_of_positive_eigenvalues():
    target = default_target("signed_quadratic_network", 0.5, 0.25)
    assert target.features(0.1) == pytest.approx(0.125, abs=1e-4)
    assert target.mirrored.features(0.1) == pytest.approx(0.375, abs=1e-4)


def test_the_slope_of_a_multiple_of_the_target_is_that_of_its_test_error():
    """Its root, all that a best multiple asks of it, does not depend on its scale."""
    prediction = prediction_of(solution("quadratic_network").problem)
    assert isinstance(prediction.losses, ClosedLosses)
    q0, step = prediction.losses.labels.q0, 1e-3

    def error(c):
        return prediction.losses.test_error(c * q0, c * c * q0).value

    for c in (0.4, 1.3):
        expected = (error(c + step) - error(c - step)) / (
            2 * step
        )  # exact: the error is quadratic in c
        assert prediction.losses.multiple_slope(c) == pytest.approx(expected, rel=1e-6, abs=1e-9)
