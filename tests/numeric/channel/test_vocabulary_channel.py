"""Average over samples that share tokens of a finite vocabulary."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, log_uniform

from numeric import model as models
from numeric.channel.closed import samples_of_tokens
from numeric.channel.rules import channel_of, coarse_rules
from numeric.channel.vocabulary.graph_minimiser import Scores
from numeric.channel.vocabulary.graph_rule import VocabularyChannel, sampled_scores
from numeric.channel.vocabulary.sample_losses import GeneratedLosses, SoftmaxLosses, losses_of
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.domain import OutsideDomain
from numeric.maths.replicates import half_width
from numeric.maths.sobol import Sampling
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve

PROBLEM = Problem(0.6, MarchenkoPastur(0.5), 0.02, 0.5, vocabulary=0.3)
COVARIANCE = IndependentCovariance(MarchenkoPastur(0.5), (0.5, 1.5))
OVERLAPS = Overlaps(1.2, 1.15, 0.8)
#: Models whose scores are those of one token and of pairs, with their further settings.
MODELS = [
    ("tied_attention", {}),
    ("tied_attention_cross_entropy", {}),
    ("first_row_attention", {}),
    ("linear_attention", {}),
    ("label_noise_attention", {"label_noise": 0.1}),
]
every_model = pytest.mark.parametrize(("name", "extra"), MODELS, ids=[name for name, _ in MODELS])
LOSSES = [
    *(losses_of(replace(PROBLEM, model=name, extra=extra)) for name, extra in MODELS),
    SoftmaxLosses(3, 0.8, 1.3),
]


def scores(losses, seed, samples=5):
    return np.random.default_rng(seed).standard_normal((len(losses.is_own), samples))


@pytest.mark.parametrize("losses", LOSSES)
def test_slopes_and_curvatures_are_differences_of_the_loss(losses):
    u, z, step = scores(losses, 0), scores(losses, 1), 1e-5
    y = losses.label(z)

    def difference(function, at, k):
        moved = np.zeros_like(at)
        moved[k] = step
        return (function(at + moved) - function(at - moved)) / (2 * step)

    curvature, by_label = losses.curvature(u, y), losses.label_slope(u, y, z)
    for k in range(len(u)):
        slope = difference(lambda at: losses.loss(at, y), u, k)
        assert losses.slope(u, y)[k] == pytest.approx(slope, abs=1e-8)
        of_slope = difference(lambda at: losses.slope(at, y), u, k)
        assert curvature[:, k] == pytest.approx(of_slope, abs=1e-8)
        of_label = difference(lambda at: losses.slope(u, losses.label(at)), z, k)
        assert by_label[:, k] == pytest.approx(of_label, abs=1e-8)


def test_softmax_rows_of_two_tokens_are_those_of_the_model_file():
    heats = {"beta": 0.7, "beta0": 1.2}
    ours = SoftmaxLosses(2, *heats.values())
    theirs = GeneratedLosses("tied_attention", tuple(heats.items()))
    u, z = scores(ours, 2), scores(ours, 3)
    ours_y, theirs_y = ours.label(z), theirs.label(z)
    assert ours_y == pytest.approx(theirs_y, abs=1e-14)
    for name in ("loss", "slope", "curvature"):
        one, other = getattr(ours, name)(u, ours_y), getattr(theirs, name)(u, theirs_y)
        assert one == pytest.approx(other, abs=1e-13)
    one, other = ours.label_slope(u, ours_y, z), theirs.label_slope(u, theirs_y, z)
    assert one == pytest.approx(other, abs=1e-13)


def small_graph(tokens=2, **changes):
    problem = replace(PROBLEM, tokens=tokens, **changes)
    drawn, _ = sampled_scores(OVERLAPS, problem, Sampling(8, 4))
    return drawn, drawn.energy(OVERLAPS.V), drawn.fitting(problem)


def dense(energy, at):
    """Energy of all scores as a function of one vector, and the curvature at a point."""
    sizes = [part.size for part in at]

    def split(x):
        tokens, pairs = np.split(x, [sizes[0]])
        return Scores(tokens, pairs.reshape(at.pairs.shape))

    def value(x):
        one = split(x)
        away = one.plus(-1.0, energy.fields)
        own, other = energy.variances
        elastic = np.sum(away.tokens**2) / own + np.sum(away.pairs**2) / other
        return elastic / (2 * energy.V) + np.sum(energy.losses_at(one))

    return split, value, np.concatenate([part.ravel() for part in at])


@pytest.mark.parametrize("tokens", [2, 3])
def test_newton_steps_reach_the_minimum_that_a_library_finds(tokens):
    _, energy, start = small_graph(tokens)
    at = energy.minimiser(start)
    _, value, x = dense(energy, at)
    found = scipy.optimize.minimize(value, x + 0.1, method="BFGS", options={"gtol": 1e-7})
    assert value(x) <= found.fun + 1e-9
    assert x == pytest.approx(found.x, abs=1e-4)


@pytest.mark.parametrize("tokens", [2, 3])
def test_products_with_signs_have_the_diagonal_of_the_inverse(tokens):
    drawn, energy, start = small_graph(tokens)
    at = energy.minimiser(start)
    rng, found = np.random.default_rng(0), []
    curvature = energy.curvature(at)
    for _ in range(400):
        signs = Scores(*(rng.choice((-1.0, 1.0), size=part.shape) for part in at))
        one = curvature.product_diagonal(curvature.identity, signs)
        found.append(np.concatenate([one.tokens, one.pairs.ravel()]))
    units = np.eye(sum(part.size for part in at))
    split, _, _ = dense(energy, at)
    solved = [curvature.solved(split(unit)) for unit in units]
    exact = np.array([np.concatenate([s.tokens, s.pairs.ravel()])[k] for k, s in enumerate(solved)])
    exact[: at.tokens.size] *= drawn.vocabulary.graph.occurs
    spread = np.std(found, axis=0, ddof=1) / 20
    # The equations are solved to one part in a thousand.
    assert np.all(np.abs(np.mean(found, axis=0) - exact) < 5 * spread + 2e-3 * np.abs(exact))


def test_samples_apart_need_no_signs():
    drawn, _, _ = small_graph(3)
    energy = drawn.apart.energy(OVERLAPS.V)
    at = energy.minimiser(drawn.apart.fitting(replace(PROBLEM, tokens=3)))
    curvature, rng, found = energy.curvature(at), np.random.default_rng(0), []
    exact = curvature.product_diagonal_apart(curvature.identity)
    for _ in range(400):
        signs = Scores(*(rng.choice((-1.0, 1.0), size=part.shape) for part in at))
        found.append(curvature.product_diagonal(curvature.identity, signs).tokens)
    spread = np.std(found, axis=0, ddof=1) / 20
    gap = np.abs(np.mean(found, axis=0) - exact.tokens)
    assert np.all(gap < 5 * spread + 2e-3 * exact.tokens)


@pytest.mark.identity
@every_model
@given(log_nu=st.floats(-1.0, 1.0), V=log_uniform(0.2, 1.5))
@examples(2)
def test_derivatives_of_the_energy_are_its_differences(name, extra, log_nu, V):
    """M is sampled with other numbers than its derivatives: they agree within the scatter."""
    problem = replace(PROBLEM, model=name, extra=extra, vocabulary=10**log_nu)
    rule, step = coarse_rules(problem)[0].refined(), 0.02
    base = Overlaps(OVERLAPS.m, OVERLAPS.q, V)
    averages = rule.average(base, problem)
    for part in ("m", "q", "V"):
        up, down = (
            rule.average(base._replace(**{part: getattr(base, part) + side * step}), problem).M
            for side in (1, -1)
        )
        difference, slope = (up - down) / (2 * step), getattr(averages, f"dM_d{part}")
        error = sum(half_width(one) for one in (difference, slope) if len(one) > 1)
        size = abs(slope.mean())
        assert abs(difference.mean() - slope.mean()) < 2 * error + 5e-3 * size, part


@pytest.mark.identity
@given(log_nu=st.floats(-1.0, 1.0), V=log_uniform(0.2, 1.5), norms=st.floats(0.0, 2.0))
@examples(3)
def test_sums_over_numbers_of_samples_are_the_mean_over_graphs(log_nu, V, norms):
    problem = Problem(
        *(0.6, COVARIANCE, 0.02, 0.5),
        model="linear_attention",
        norms=norms,
        vocabulary=10**log_nu,
    )
    at = OVERLAPS._replace(V=V, t=0.7)
    closed = channel_of(problem)
    graphs = VocabularyChannel(problem, channel_of(problem.of_new_tokens))
    (summed,) = (rule.average(at, problem) for rule in closed.coarse_rules())
    drawn = graphs.coarse_rules()[0].refined().average(at, problem)
    names = ("M", "dM_dm", "dM_dq", "dM_dV", "dM_dt", "train_error", "vocabulary_test_error")
    for name in names:
        exact, found = getattr(summed, name), getattr(drawn, name)
        assert abs(found.mean() - exact.item()) < 2 * half_width(found) + 1e-9, name
    (exact,), (found,) = closed.responses(at), graphs.responses(at)
    assert found == pytest.approx(exact, rel=0.02)  # of one draw of signs


def test_the_law_of_the_samples_of_a_token_has_its_moments():
    for alpha, nu in ((0.6, 0.3), (1.0, 1e-6), (0.1, 1e5)):
        problem = replace(PROBLEM, model="linear_attention", alpha=alpha, vocabulary=nu)
        counts, weights = samples_of_tokens(problem)
        mean = 2 * alpha / nu
        # SciPy has its distribution function to about one part in 1e9 at large means.
        assert weights @ counts == pytest.approx(mean, rel=1e-8)
        assert weights @ (counts - mean) ** 2 == pytest.approx(mean, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.3, 1.0])
def test_trained_quadratic_networks_meet_the_sums(nu):
    """Least squares over positive matrices with a trace penalty, at d = 40 and 80, ten and five
    draws, extrapolated with a part in 1/d. Samples of a token differ in their noise only.
    """
    law = MarchenkoPastur(0.5)
    problem = Problem(0.6, law, 0.05, 0.5, model="quadratic_network", vocabulary=nu)
    theory = solve(problem).unwrap()
    names = ("m", "q", "train_error", "test_error", "vocabulary_test_error")
    wanted = np.array([getattr(theory, name) for name in names])
    means, errors = [], []
    for dim, count in ((40, 10), (80, 5)):
        ratios = np.array([_trained_network(problem, dim, seed) for seed in range(count)]) / wanted
        means.append(ratios.mean(axis=0) - 1)
        errors.append(ratios.std(axis=0, ddof=1) / count**0.5)
    gap, error = 2 * means[1] - means[0], np.hypot(2 * errors[1], errors[0])
    assert np.all(np.abs(gap) < 4 * error), (gap, error)
    new = solve(problem.of_new_tokens)
    away = np.array([getattr(new, name) for name in names[:4]]) / wanted[:4] - 1
    assert np.any(np.abs(gap[:4] - away) > 4 * error[:4])


def _trained_network(problem, dim, seed):
    """Overlap, norm and errors of a trained quadratic network."""
    rng = np.random.default_rng((seed, dim))
    rank = dim // 2
    factors = rng.standard_normal((dim, rank)) / (rank * dim) ** 0.25
    target = factors @ factors.T
    count, size = round(problem.alpha * dim**2), round(problem.vocabulary * dim**2)
    tokens, test = rng.standard_normal((2, size, dim))
    places = rng.integers(size, size=count)
    seen, of_sample = np.unique(places, return_inverse=True)
    noise = problem.noise / 2  # half of Delta per unit of the variance 2 of a score

    def scores(matrix, x):
        return (np.einsum("ni,ij,nj->n", x, matrix, x) - np.trace(matrix)) / np.sqrt(dim)

    labels = scores(target, tokens[places])
    labels = labels + np.sqrt(2 * noise) * rng.standard_normal(count)
    x = tokens[seen]
    repeats = np.bincount(of_sample)
    means = np.bincount(of_sample, labels) / repeats

    def risk(flat):
        # Energy over d: the samples of one token act as one with the mean of their labels.
        weights = flat.reshape(dim, dim)
        away = scores(weights @ weights.T / dim, x) - means
        loss = np.sum(repeats * away**2)
        force = 2 * repeats * away / np.sqrt(dim)
        slope = (x.T * force) @ x - np.eye(dim) * force.sum()
        gradient = 2 * slope @ weights / dim + 2 * problem.lambda_ * weights
        return loss + problem.lambda_ * np.sum(weights**2), gradient.ravel()

    start = rng.standard_normal(dim * dim)
    options = {"maxiter": 4000, "ftol": 1e-13, "gtol": 1e-7}
    found = scipy.optimize.minimize(risk, start, jac=True, method="L-BFGS-B", options=options)
    weights = found.x.reshape(dim, dim)
    learned = weights @ weights.T / dim
    errors = [
        np.mean((scores(learned, one) - scores(target, one)) ** 2) + 2 * noise
        for one in (test, tokens)
    ]
    train = np.mean((scores(learned, tokens[places]) - labels) ** 2)
    overlap, norm = np.sum(learned * target) / dim, np.sum(learned**2) / dim
    return overlap, norm, train, *errors


@pytest.mark.identity
@every_model
@given(alpha=st.floats(0.3, 1.5))
@examples(1)
def test_a_million_tokens_over_d_squared_are_new_tokens(name, extra, alpha):
    new = replace(PROBLEM, model=name, extra=extra, alpha=alpha, vocabulary=np.inf, lambda_=0.05)
    with_vocabulary = replace(new, vocabulary=1e6)
    one = coarse_rules(with_vocabulary)[0].average(OVERLAPS, with_vocabulary)
    other = coarse_rules(new)[0].average(OVERLAPS, new)
    for part in ("M", "dM_dm", "dM_dq", "dM_dV", "train_error", "test_error"):
        left, right = getattr(one, part).mean(), getattr(other, part).mean()
        # A token of a sample is in another one with the probability 2 alpha/nu < 4e-6.
        assert left == pytest.approx(right, rel=1e-5, abs=1e-9), part


@pytest.mark.identity
@given(alpha=st.floats(0.4, 1.2), noise=st.floats(0.2, 1.0))
@examples(1)
def test_more_tokens_of_a_vocabulary_teach_more(alpha, noise):
    problem = replace(PROBLEM, alpha=alpha, noise=noise, lambda_=0.05)
    found = [solve(replace(problem, vocabulary=nu)) for nu in (0.1, 0.3, 1.0, 4.0)]
    found.append(solve(problem.of_new_tokens))
    for less, more in pairwise(found):
        room = less.errors["m"] + more.errors["m"]
        assert less.m < more.m + room
        room = less.errors["test_error"] + more.errors["test_error"]
        assert less.test_error > more.test_error - room


def test_known_tokens_are_predicted_better_than_new_ones():
    solution = solve(PROBLEM).unwrap()
    gap = solution.test_error - solution.vocabulary_test_error
    assert gap > 3 * (solution.errors["test_error"] + solution.errors["vocabulary_test_error"])
    assert solution.record()["vocabulary_test_error"] == solution.vocabulary_test_error
    assert "vocabulary_test_error" not in solve(PROBLEM.of_new_tokens).record()


def test_models_with_scores_of_one_token_have_the_functions_of_a_vocabulary():
    for name in models.available():
        shape = models.structure(name)
        kinked = any(block.kinks for block in shape.blocks)
        assert hasattr(models.functions("float64", name), "index_curvature") == (
            shape.has_norms and not shape.draws and not kinked
        )


def test_no_minimum_is_no_value():
    _, energy, start = small_graph()
    broken = replace(energy, labels=np.full_like(energy.labels, np.nan))
    with pytest.raises(OutsideDomain, match="no minimum"):
        broken.minimiser(start)
