"""The Bayes optimum for labels that are classes or hide a sign, and its predictor."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.blocks import samples
from numeric.channel.classification import classification, optimal_classification
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.messages.bayes_evolution import bayes_evolution
from numeric.messages.stages import FirstMessage
from numeric.prediction.prediction import best_prediction
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.bayes_comparison import bayes_curve
from numeric.studies.bayes_estimation_error import bayes_error
from numeric.studies.optimal_decay import optimal_lambda
from numeric.thresholds.weak_recovery import weak_recovery
from verify.studies.message_passing.posterior_mean import posterior_mean

LAW = MarchenkoPastur(0.5)
CLASSES = (
    "sign_quadratic_logistic",
    "hard_attention_cross_entropy",
    "drawn_attention_cross_entropy",
)


def problem(model, **changes):
    return replace(Problem(1.0, LAW, 0.05, 0.1, model=model), **changes)


def test_signs_of_a_noisy_score_are_worth_two_pi_th_of_the_score():
    """At small signal the score of a sign is linear: its information is 2/pi of that of the number.
    The next order is the ratio of target to noise.
    """
    noise, alpha = 2000.0, 4000.0
    of_signs = bayes_error(problem("sign_quadratic_logistic", noise=noise, alpha=alpha))
    of_scores = bayes_error(
        problem("quadratic_network", noise=noise, alpha=alpha * 2 / np.pi, lambda_=1.0)
    )
    assert of_signs == pytest.approx(of_scores, rel=2 * LAW.q0 / noise)


def test_the_loss_of_training_does_not_matter():
    found = [bayes_error(problem(f"sign_quadratic_{loss}")) for loss in ("logistic", "hinge")]
    assert found[0] == pytest.approx(found[1], rel=1e-10)


@given(share=st.floats(0.05, 0.99))
@examples(15)
def test_the_best_predictor_of_signs_errs_by_an_angle(share):
    asked = problem("sign_quadratic_logistic")
    known = share * asked.q0
    found = optimal_classification(asked, asked.q0 - known)
    angle = np.arccos(np.sqrt(known / asked.rho)) / np.pi
    assert found.misclassification == pytest.approx(angle, rel=1e-6)
    clean = np.arccos(np.sqrt(known / asked.q0)) / np.pi
    assert found.agreement == pytest.approx(1 - clean, rel=1e-6)


def test_the_true_student_is_the_best_predictor_of_drawn_labels():
    asked = problem("drawn_attention_cross_entropy", noise=0.0)
    truth = classification(asked, Overlaps(asked.q0, asked.q0 * (1 + 1e-12), 1.0))
    best = optimal_classification(asked, 1e-12)
    assert best == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("model", CLASSES)
def test_no_training_beats_the_best_predictor(model):
    (point,) = bayes_curve(problem(model), [0.7], tolerance=0.1)
    record = point.record()
    assert record["bayes_misclassification"] < record["misclassification"]
    assert record["bayes_agreement"] > record["agreement"]
    assert record["bayes_test_error"] < record["test_error"]
    assert record["bayes_error"] < record["estimation_error"]


@pytest.mark.parametrize("model", CLASSES)
@pytest.mark.parametrize("start", [FirstMessage.MEAN, FirstMessage.RANDOM])
def test_messages_end_at_the_optimum_of_classes(model, start):
    asked = problem(model)
    stages = bayes_evolution(asked, start, 25)
    assert stages[-1].estimation_error == pytest.approx(bayes_error(asked), rel=1e-3)


def _error_of_messages(dim, alpha, noise, rng, steps=20):
    """Return the error of Bayes-optimal message passing for signs of tr(A S0) + noise."""
    n = int(alpha * dim**2)
    w = rng.standard_normal((dim, dim // 2))
    target = w @ w.T / np.sqrt(dim * w.shape[1])
    a = rng.standard_normal((n, dim, dim))
    a = ((a + a.transpose(0, 2, 1)) / np.sqrt(2 * dim)).reshape(n, -1)
    y = np.sign(a @ target.ravel() + np.sqrt(noise) * rng.standard_normal(n))
    s, score = np.eye(dim) * np.trace(target) / dim, np.zeros(n)
    error = ((s - target) ** 2).sum() / dim
    for _ in range(steps):
        omega, width = a @ s.ravel() - 2 * error * score, np.sqrt(2 * error + noise)
        log = scipy.stats.norm.logpdf(omega / width) - scipy.special.log_ndtr(y * omega / width)
        score = y * np.exp(log) / width
        information = n * np.mean(score**2)
        v = dim**2 / (4 * information)
        seen = s + (a.T @ score).reshape(dim, dim) * dim / (2 * information)
        mean, divergence = posterior_mean(torch.tensor(seen), v, LAW)
        s, error = mean.numpy(), 2 * v * divergence / dim**2
    return ((s - target) ** 2).sum() / dim


def test_message_passing_with_signs_reaches_the_optimum():
    """Eight targets of 40 features; the law of so small a matrix differs by a few percent."""
    rng = np.random.default_rng(3)
    found = [_error_of_messages(40, 1.0, 0.1, rng) for _ in range(8)]
    optimum = bayes_error(problem("sign_quadratic_logistic"))
    standard_error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - optimum) < 4 * standard_error
    assert standard_error < 0.1 * optimum


def test_the_least_hinge_loss_is_twice_the_chance_of_the_rarer_sign():
    asked = problem("sign_quadratic_hinge", noise=0.5)
    (variance,) = samples(asked)[0].covariance[0]
    x = np.linspace(-9, 9, 20001)
    weights = scipy.stats.norm.pdf(x) / scipy.stats.norm.pdf(x).sum()
    h0, spread = np.sqrt(asked.q0 * variance) * x, np.sqrt((asked.rho - asked.q0) * variance)
    rarer = scipy.special.ndtr(-np.abs(h0) / spread)
    least = best_prediction(asked).least_test_error()
    assert least == pytest.approx(float(2 * rarer @ weights), rel=1e-4)


def test_the_least_loss_of_phase_retrieval_is_the_variance_of_the_label():
    asked = problem("phase_retrieval", noise=0.5)
    (variance,) = samples(asked)[0].covariance[0]
    x = np.linspace(-9, 9, 20001)
    weights = scipy.stats.norm.pdf(x) / scipy.stats.norm.pdf(x).sum()
    h0, spread = np.sqrt(asked.q0 * variance) * x, np.sqrt((asked.rho - asked.q0) * variance)
    mean = 2 * spread * scipy.stats.norm.pdf(h0 / spread) + h0 * scipy.special.erf(
        h0 / spread / np.sqrt(2)
    )
    expected = float((h0**2 + spread**2 - mean**2) @ weights)
    assert best_prediction(asked).least_test_error() == pytest.approx(expected, rel=1e-4)


def test_the_decay_of_fewest_wrong_labels_has_fewer_than_its_neighbours():
    asked = problem("sign_quadratic_logistic", alpha=0.5)
    best = optimal_lambda(asked, 1e-2, for_="misclassification")
    assert best.error == "misclassification" and best.least == best.solution.misclassification
    for factor in (0.8, 1.25):
        near = solve(replace(asked, lambda_=factor * best.decay))
        assert near.misclassification > best.least
    of_loss = optimal_lambda(asked, 1e-2)
    assert of_loss.solution.misclassification > best.least
    assert of_loss.least < best.solution.test_error


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        ("tied_attention", "misclassification", "its labels are no classes"),
        ("sign_quadratic_logistic", "agreement", "must be one of test_error, misclassification"),
    ],
)
def test_an_error_that_cannot_be_minimised_is_refused(model, name, message):
    with pytest.raises(InvalidParameter, match=rf"^for_ = '{name}': .*{message}"):
        optimal_lambda(problem(model), for_=name)


def test_noise_on_the_label_leaves_no_optimum():
    with pytest.raises(InvalidParameter, match="has no Bayes optimum"):
        bayes_error(
            Problem(
                1.0, LAW, 0.05, 0.1, model="label_noise_attention", extra=(("label_noise", 0.1),)
            )
        )


def test_a_hidden_sign_costs_knowledge():
    """Less is known than from the score itself, and the more samples, the less the sign costs."""
    ratios = []
    for alpha in (0.3, 1.0, 4.0):
        hidden, shown = (
            bayes_error(problem(model, alpha=alpha))
            for model in ("phase_retrieval", "quadratic_network")
        )
        ratios.append(hidden / shown)
    assert ratios[-1] > 1.1 and ratios == sorted(ratios, reverse=True)


def test_nothing_is_learned_below_weak_recovery():
    """The stability of the overlap 0 is derived; here errors are solved from density and score."""
    target = Eigenvalues((-1.0, 1.0), (0.5, 0.5))
    stated = {"target": target, "lambda_": 0.1, "noise": 0.5, "model": "signed_phase_retrieval"}
    at = float(weak_recovery(target, "1/2", digits=12, model="signed_phase_retrieval"))
    below, above, far = (
        bayes_error(Problem(factor * at, **stated)) for factor in (0.99, 1.01, 1.5)
    )
    assert below == target.q0
    assert 0.9 * target.q0 < above < (1 - 1e-4) * target.q0
    assert far < 0.9 * target.q0
