"""Averages over labels with a few values, and over losses with kinks of one index."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import NoAnswer
from numeric.channel.block_average import Nodes, block_means, minimiser_terms, response_terms
from numeric.channel.block_minima import lowest_minimiser
from numeric.channel.blocks import samples
from numeric.channel.class_average import class_points
from numeric.channel.classification import classification
from numeric.channel.kinks import kinked_fields, lowest_of_pieces
from numeric.channel.sampled_blocks import SampledBlockRule
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.sobol import Sampling
from numeric.model import structure
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from numeric.saddle.solve import solve
from numeric.studies.capacity import capacity

CLASSES = (
    "sign_quadratic_logistic",
    "sign_quadratic_hinge",
    "hard_attention_cross_entropy",
    "drawn_attention_cross_entropy",
)
KINKED = ("sign_quadratic_hinge", "phase_retrieval")
AT = Overlaps(1.2, 1.9, 0.8)


def problem(model, **changes):
    return replace(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.25, model=model), **changes)


@pytest.mark.parametrize("model", [*CLASSES, "phase_retrieval"])
def test_the_quadrature_agrees_with_sampled_labels(model):
    """Labels that are drawn for every sample: another route to the same averages."""
    of = problem(model)
    (sample,) = samples(of)
    fields = Fields.of(AT.m, AT.q, of.rho)
    exact = block_means(sample, fields, AT.V, Nodes(24))
    drawn = SampledBlockRule(Sampling(2**13))._block_means(AT.V, sample, fields)
    for name, value, replicates in zip(exact._fields, exact, drawn, strict=True):
        error = np.std(replicates, axis=-1, ddof=1) / np.sqrt(replicates.shape[-1])
        assert np.all(np.abs(np.mean(replicates, axis=-1) - value) < 5 * error), name


@pytest.mark.parametrize("model", CLASSES)
def test_points_of_all_classes_have_the_moments_of_the_fields(model):
    """Probabilities add up to 1, and the fields behind them have unit variance and mean 0."""
    of = problem(model)
    (sample,) = samples(of)
    grid, weights = np.polynomial.hermite_e.hermegauss(40)
    mesh = np.array(np.meshgrid(*[grid] * sample.indices)).reshape(sample.indices, -1)
    mass = np.prod(np.meshgrid(*[weights / weights.sum()] * sample.indices), axis=0).ravel()
    found = class_points(sample, Fields.of(1.2, 1.9, of.rho), mesh, mass, (mesh, mass))
    assert found.weights.sum() == pytest.approx(1, abs=1e-6)
    assert found.x1 @ found.weights == pytest.approx(np.zeros(sample.indices), abs=1e-6)
    w = sample.root.T @ np.linalg.solve(sample.covariance, found.w)
    # E[x1 | w] has covariance (m/sqrt(q rho)) sqrt(q) with w, whatever the label tells.
    expected = 1.2 / np.sqrt(of.rho)
    assert np.mean((w * found.x1) @ found.weights) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("model", KINKED)
@given(V=st.floats(0.05, 20), w=st.floats(-6, 6), z=st.floats(-3, 3))
@examples(20)
def test_the_minimiser_of_pieces_is_the_lowest_point(model, V, w, z):
    (sample,) = samples(problem(model))
    y = sample.class_labels[:1].T if sample.classes else sample.label(np.array([[z]]))
    u = lowest_of_pieces(sample, np.array([[w]]), y, V)
    grid = np.linspace(-15, 15, 3001)[None]
    energy = sample.energy(grid, np.full_like(grid, w), np.repeat(y, grid.shape[1], 1), V)
    assert sample.energy(u, np.array([[w]]), y, V)[0] <= energy.min() + 1e-12 * (1 + energy.min())


def test_the_hinge_loss_has_its_known_minimiser():
    """u = w + clip((1 - w)/(C V), 0, 1) C V for label 1."""
    (sample,) = samples(problem("sign_quadratic_hinge"))
    w, V = np.linspace(-5, 4, 50)[None], 0.7
    expected = w + np.clip(1 - w, 0, 2 * V)
    assert lowest_of_pieces(sample, w, np.ones_like(w), V) == pytest.approx(expected, abs=1e-12)
    places = kinked_fields(sample, np.ones((1, 1)), V)[:, 0]
    assert sorted(places) == pytest.approx([1 - 2 * V, 1, 1])
    held = response_terms(sample, np.ones((1, 1)), np.ones((1, 1)), V)
    assert held == pytest.approx(1 / V**2)  # u does not move with w, so f does by -1/(C V)


def test_wrong_labels_are_an_angle():
    """Signs of two Gaussians of correlation r differ with probability arccos(r)/pi."""
    of = problem("sign_quadratic_logistic")
    found = classification(of, AT)
    wrong, differ = (np.arccos(AT.m / np.sqrt(AT.q * second)) / np.pi for second in (of.rho, of.q0))
    assert found.misclassification == pytest.approx(wrong, abs=1e-10)
    assert found.agreement == pytest.approx(1 - differ, abs=1e-10)


def test_hard_attention_errs_as_its_scores_do():
    of = problem("hard_attention_cross_entropy")
    found = classification(of, AT)
    assert found.misclassification == pytest.approx(
        np.arccos(AT.m / np.sqrt(AT.q * of.rho)) / np.pi, abs=1e-10
    )


def test_the_true_student_is_calibrated():
    """Without noise and at the temperature of the target, stated probabilities are true."""
    of = problem("drawn_attention_cross_entropy", noise=0.0)
    almost = Overlaps(of.q0, of.q0 * (1 + 1e-9), 0.5)
    assert classification(of, almost).calibration == pytest.approx(0, abs=1e-6)


def test_drawn_labels_of_a_sharp_target_are_those_of_hard_attention():
    """The distance is of second order in 1/beta0: 25 times smaller from 4 to 20."""
    hard = solve(problem("hard_attention_cross_entropy")).unwrap()
    drawn, sharper = (
        solve(problem("drawn_attention_cross_entropy", beta0=beta0), accuracy=5e-3).unwrap()
        for beta0 in (4, 20)
    )
    for name in ("m", "q", "misclassification", "test_error"):
        far, near = (abs(getattr(one, name) - getattr(hard, name)) for one in (drawn, sharper))
        assert near < far / 15, name
        assert near < 0.01 * getattr(hard, name), name


@pytest.mark.parametrize("width", [1.0, 0.3])
def test_capacity_of_random_signs_is_half_the_statistical_dimension_of_the_cone(width):
    """Of positive matrices it is d^2/4, so that d^2/2 samples can be predicted."""
    found = capacity(problem("sign_quadratic_hinge", width=width), random_labels=True)
    if width == 1:
        assert found.alpha == pytest.approx(0.5, abs=1e-5)
    else:
        assert found.alpha < 0.5
    assert found.correlation == 0


def test_capacity_does_not_depend_on_the_loss():
    hinge, logistic = (
        capacity(problem(model, noise=0.5))
        for model in ("sign_quadratic_hinge", "sign_quadratic_logistic")
    )
    assert hinge == pytest.approx(logistic, rel=1e-9)


def test_capacity_falls_with_noise_to_that_of_random_labels():
    found = [
        capacity(problem("sign_quadratic_hinge", noise=noise)).alpha for noise in (0.3, 3, 3e4)
    ]
    assert found == sorted(found, reverse=True)
    assert 0.5 < found[-1] < 0.505  # of order 1/sqrt(noise)


def test_labels_without_noise_have_no_capacity():
    with pytest.raises(NoAnswer, match="can be predicted at any sample ratio"):
        capacity(problem("sign_quadratic_hinge", noise=0.0))


def test_the_training_loss_vanishes_with_the_decay_below_capacity():
    of = problem("sign_quadratic_hinge", noise=0.5)
    edge = capacity(of).alpha
    below, above = (
        [
            solve(replace(of, alpha=share * edge, lambda_=decay)).unwrap().train_error
            for decay in (1e-2, 1e-3)
        ]
        for share in (0.8, 1.2)
    )
    assert below[1] < 1e-4 < above[1]


def test_hinge_and_logistic_loss_have_one_limit_of_largest_margin():
    """Below capacity the direction of S does not depend on the loss as the decay vanishes.

    That of the logistic loss comes near like 1/log(1/decay), and is extrapolated in this.
    """
    of = problem("sign_quadratic_hinge", alpha=0.6, noise=0.5)

    def direction(model, decay):
        found = solve(replace(of, model=model, lambda_=decay)).unwrap()
        return found.m / np.sqrt(found.q * of.q0)

    margin = direction("sign_quadratic_hinge", 1e-3)
    assert direction("sign_quadratic_hinge", 1e-5) == pytest.approx(margin, abs=1e-8)
    decays = 1e-5, 1e-6
    inverse = [-1 / np.log(decay) for decay in decays]
    apart = [direction("sign_quadratic_logistic", decay) - margin for decay in decays]
    limit = apart[1] - inverse[1] * (apart[0] - apart[1]) / (inverse[0] - inverse[1])
    assert apart[0] > apart[1] > 5e-3 > 10 * abs(limit)


def test_shapes_of_classes():
    for model in CLASSES:
        (shape,) = structure(model).blocks
        (sample,) = samples(problem(model))
        assert sample.class_labels.shape[0] == shape.classes
        z = np.random.default_rng(0).normal(size=(shape.indices, 20))
        assert sample.probabilities(z).sum(axis=0) == pytest.approx(np.ones(20))
        u = lowest_minimiser(sample, z, np.repeat(sample.class_labels[:1].T, 20, 1), None, 1.0)
        terms = minimiser_terms(
            sample, z, z, u, z, np.repeat(sample.class_labels[:1].T, 20, 1), 1.0
        )
        assert scipy.special.logsumexp(terms[0]) < np.inf


@pytest.mark.parametrize("model", [*CLASSES, "phase_retrieval"])
def test_what_needs_smooth_labels_is_refused(model):
    assert not problem(model).is_smooth
    with pytest.raises(ValueError, match=r"is not derived: its (labels have a few|loss has kinks)"):
        problem(model, vocabulary=0.2)


@pytest.mark.parametrize("model", ["sign_quadratic_logistic", "sign_quadratic_hinge"])
def test_a_student_that_learns_nothing_guesses(model):
    found = solve(problem(model, lambda_=5.0))
    assert found.status.name == "UNLEARNED"
    assert found.misclassification == pytest.approx(0.5, abs=1e-12)
    assert found.agreement == pytest.approx(0.5, abs=1e-12)


def test_a_hinge_is_solved_from_few_samples_on():
    """Iterations swing about the root there; the overlap grows with the samples all the same."""
    found = [solve(problem("sign_quadratic_hinge", alpha=alpha)) for alpha in (1e-3, 0.01, 0.02)]
    assert all(one.status is Status.CONVERGED for one in found)
    assert [one.m for one in found] == sorted(one.m for one in found)
    assert [one.misclassification for one in found] == sorted(
        (one.misclassification for one in found), reverse=True
    )
