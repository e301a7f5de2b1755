"""A finite vocabulary: counted equations beside ranks of matrices and random graphs, and thresholds
of perfect recovery.
"""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from strategies import examples, log_uniform

from attention_erm.runtime.errors import InvalidParameter
from numeric import model as models
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.maths.balls import ball, working
from numeric.problem.problem import Problem
from numeric.proven_laws.law import law_of
from numeric.thresholds.interpolation import interpolation, interpolation_limit
from numeric.thresholds.recovery import recovery
from numeric.thresholds.repeated_noise import RepeatedNoise
from numeric.thresholds.vocabulary import VocabularyEquations

HALF = MarchenkoPastur(0.5)
#: (model, N, n, T): on both sides of the giant component, whose birth is at n = N/(T(T - 1)).
COUNTS = [
    ("tied_attention", 60, 15, 2),
    ("tied_attention", 60, 40, 2),
    ("tied_attention", 60, 80, 2),
    ("tied_attention", 40, 90, 2),
    ("tied_attention", 60, 12, 3),
    ("tied_attention", 60, 30, 3),
    ("tied_attention", 40, 40, 3),
    ("linear_attention", 60, 40, 2),
    ("linear_attention", 40, 80, 2),
    ("quadratic_network", 60, 60, 1),
]


def sequences(N, n, T, rng):
    """T different tokens in each sample."""
    return np.array([rng.choice(N, T, replace=False) for _ in range(n)])


def equations(tokens, x, up_to_a_constant):
    """The symmetric matrices that labels of softmax rows, or of all scores, show; one row each."""
    d = x.shape[1]
    rows = []
    for sample in tokens:
        scores = [
            np.outer(x[a], x[b]) - (a == b) * np.eye(d)
            for i, a in enumerate(sample)
            for b in sample[i:]
        ]
        symmetric = np.array([(one + one.T).ravel() for one in scores])
        rows += list(symmetric[1:] - symmetric[0]) if up_to_a_constant else list(symmetric)
    return np.array(rows)


def components(tokens, N):
    """Connected components among all tokens."""
    first = np.repeat(tokens[:, 0], tokens.shape[1])
    graph = coo_array((np.ones(tokens.size), (first, tokens.ravel())), shape=(N, N))
    return connected_components(graph, directed=False)[0]


def counted(name, nu, alpha, T):
    """Independent equations over d^2, by the formula of the theory note in float64."""
    c = T * alpha / nu
    if name != "tied_attention":
        return nu * (1 - exp(-c)) + alpha * T * (T - 1) / 2
    s = 0.0
    for _ in range(20_000):
        s = exp(-c * (1 - s ** (T - 1)))
    return nu + alpha * T * (T - 1) / 2 - nu * (s - c * (T - 1) / T * s**T)


@pytest.mark.parametrize(("name", "N", "n", "T"), COUNTS)
def test_ranks_of_the_equations_are_counted(name, N, n, T):
    """To the last one from the graph of each draw; by the formula up to pairs that repeat, and to
    the scatter of the number of components, less than sqrt(N).
    """
    rng, d, softmax = np.random.default_rng(0), 30, name == "tied_attention"
    counts = []
    for _ in range(3):
        tokens = sequences(N, n, T, rng)
        shown = equations(tokens, rng.standard_normal((N, d)), softmax)
        pairs = {
            (min(a, b), max(a, b)) for s in tokens for i, a in enumerate(s) for b in s[i + 1 :]
        }
        expected = N + len(pairs) - components(tokens, N)
        if not softmax:
            expected = len(np.unique(tokens)) + len(pairs)
        rank = np.linalg.matrix_rank(shown)
        assert rank == expected
        counts.append(rank + n * T * (T - 1) / 2 - len(pairs))
    assert np.mean(counts) == pytest.approx(counted(name, N, n, T), abs=N**0.5)


@pytest.mark.identity
@given(
    nu=st.fractions(Fraction(1, 100), 2, max_denominator=100),
    T=st.integers(2, 6),
    kappa0=st.fractions(Fraction(1, 20), 1, max_denominator=20),
)
@examples(20)
def test_the_threshold_has_the_equations_of_that_of_new_tokens(nu, T, kappa0):
    law = MarchenkoPastur(kappa0)
    new = recovery(law, tokens=T, digits=20)
    found = float(recovery(law, tokens=T, digits=20, vocabulary=nu))
    numbers = T * (T + 1) / 2 - 1
    assert counted("tied_attention", float(nu), found, T) == pytest.approx(
        numbers * float(new), rel=1e-6
    )
    assert found >= float(new)


@pytest.mark.identity
@given(nu=st.fractions(Fraction(1, 50), 1, max_denominator=100), T=st.integers(2, 5))
@examples(10)
def test_a_smaller_vocabulary_needs_more_samples_up_to_the_pairs_alone(nu, T):
    """At N -> 0 only pairs count, (T + 2)(T - 1)/(T (T - 1)) of all."""
    less, more = (
        float(recovery(HALF, tokens=T, digits=15, vocabulary=one)) for one in (nu / 2, nu)
    )
    new = float(recovery(HALF, tokens=T, digits=15))
    assert new <= more <= less <= new * (T + 2) / T


def test_an_endless_vocabulary_gives_the_same_digits():
    assert recovery(HALF, digits=50, vocabulary=10**6).value == recovery(HALF, digits=50).value


def test_before_tokens_repeat_in_cycles_nothing_changes():
    """Up to N/(T(T - 1)) samples are trees: alpha_rec = .211 is below 1/2 (T = 2)."""
    assert recovery(HALF, digits=30, vocabulary="1/2").value == recovery(HALF, digits=30).value
    assert recovery(HALF, digits=30, vocabulary="2/5").value > recovery(HALF, digits=30).value


def test_a_full_rank_target_has_proven_digits_too():
    found = recovery(MarchenkoPastur(1), digits=30, vocabulary="1/10")
    assert found.choice == "exact with new tokens: 1/4"
    assert counted("tied_attention", 0.1, float(found), 2) == pytest.approx(2 * 0.25, rel=1e-9)


@pytest.mark.parametrize("digits", [5, 60])
def test_digits_are_those_of_a_longer_expansion(digits):
    long = recovery(HALF, digits=100, vocabulary="1/10").value
    short = recovery(HALF, digits=digits, vocabulary="1/10").value
    assert abs(Fraction(short) - Fraction(long)) <= Fraction(1, 2 * 10**digits)


@pytest.mark.parametrize(
    ("model", "vocabulary", "told"),
    [
        ("tied_attention", 0, "must be positive"),
        ("tied_attention", -1, "must be positive"),
        ("tied_attention", float("nan"), "finite"),
        ("first_row_attention", "1/5", "more open than one constant"),
        ("quadratic_network", "1/10", "too few tokens"),
    ],
)
def test_other_vocabularies_are_refused(model, vocabulary, told):
    with pytest.raises(ValueError, match=told):
        recovery(HALF, model=model, vocabulary=vocabulary)


def test_models_of_pairs_alone_say_that_nothing_changes():
    target = RationalTarget.of("cross_attention", kappa0=0.5, scale=1.0)
    with pytest.raises(InvalidParameter, match="changes nothing"):
        recovery(target, model="cross_attention", vocabulary=0.1)
    for name in models.available():
        shape = models.structure(name)
        if not shape.has_norms:  # no score is of a token with itself
            assert "changes nothing" in shape.missing_vocabulary


def test_the_slope_is_that_of_the_equations():
    law = law_of(HALF)
    equations_ = VocabularyEquations(Fraction(1, 10), law.generated, 3, Fraction(5))
    with working(200):
        at, step = ball(Fraction(1, 3)), ball(Fraction(1, 10**20))
        low, high = (
            equations_._call("vocabulary_equations", at + side * step)[0] for side in (-1, 1)
        )
        slope = equations_._call("vocabulary_equations", at)[1]
        assert float(abs((high - low) / (2 * step) - slope)) < 1e-30


def energy_of_noise(tokens, degree, size, rng):
    """tr(K^-1 K_new) per number of a label, of drawn samples; None if one equation is dependent."""
    count, pairs = round(size * degree / tokens), tokens * (tokens - 1) // 2
    places = np.array([rng.choice(size, tokens, replace=False) for _ in range(count)])
    numbers = tokens + pairs - 1
    contrasts = np.hstack([np.eye(numbers), -np.ones((numbers, 1))])
    equations = np.zeros((count, numbers, size + count * pairs))
    for k, own in enumerate(places):
        scores = np.r_[own, size + k * pairs + np.arange(pairs)]
        equations[k][:, scores] = contrasts
    flat = equations.reshape(count * numbers, -1)
    variances = np.r_[np.full(size, 2.0), np.ones(count * pairs)]
    covariance = (flat * variances) @ flat.T
    if np.linalg.eigvalsh(covariance)[0] < 1e-9:
        return None
    inverse = np.linalg.inv(covariance).reshape(count, numbers, count, numbers)
    new = contrasts @ np.diag(np.r_[np.full(tokens, 2.0), np.ones(pairs)]) @ contrasts.T
    return np.einsum("kakb,ab", inverse, new) / (count * numbers)


@pytest.mark.parametrize(("tokens", "degree"), [(2, 0.5), (3, 0.2)])
def test_the_energy_of_noise_is_that_of_drawn_samples(tokens, degree):
    """Graphs of 800 tokens without cycles; the scatter of their mean is 2 to 5 %."""
    rng, found = np.random.default_rng(0), []
    while len(found) < 12:
        if (energy := energy_of_noise(tokens, degree, 800, rng)) is not None:
            found.append(energy)
    ratio = Fraction(1, 5)
    numbers = Fraction(tokens * (tokens + 1), 2) - 1
    equations_ = VocabularyEquations(ratio, law_of(HALF).generated, tokens, numbers)
    with working(100):
        alpha = Fraction(str(degree)) * ratio / tokens
        factor = float(RepeatedNoise(equations_).factor(alpha, 50))
    error = np.std(found, ddof=1) / len(found) ** 0.5
    assert abs(np.mean(found) - factor) < 4 * error < 0.25 * factor


@given(nu=log_uniform(0.4, 100), noise=log_uniform(0.1, 2), tokens=st.integers(2, 3))
@examples(5)
def test_a_larger_vocabulary_is_interpolated_further(nu, noise, tokens):
    less, more = (
        float(interpolation(HALF, Fraction(noise), tokens, 8, vocabulary=Fraction(nu) * size))
        for size in (3, 6)
    )
    new = float(interpolation(HALF, Fraction(noise), tokens, 8))
    assert less < more < new
    assert less < 3 * nu / (tokens * (tokens - 1))


def test_infinitely_many_tokens_are_new_tokens():
    new = float(interpolation(HALF, 1, 2, 15))
    for size, tolerance in ((10**4, 1e-4), (10**8, 1e-8)):
        assert float(interpolation(HALF, 1, 2, 15, vocabulary=size)) == pytest.approx(
            new, rel=tolerance
        )


def test_a_small_vocabulary_is_interpolated_up_to_the_giant_component():
    """Pure noise is fitted up to alpha = 1/8 by positive matrices, up to 1/4 by symmetric ones."""
    assert interpolation(HALF, 1, 2, 10, vocabulary="1/5").value == "0.1000000000"
    assert interpolation(HALF, 1, 3, 10, vocabulary="1/4").value == "0.04166666667"
    symmetric = {"model": "direct_symmetric"}
    assert interpolation(HALF, 1, 2, 10, vocabulary="2/5", **symmetric).value == "0.2000000000"
    assert interpolation(HALF, 1, 2, 10, vocabulary="3/5", **symmetric).value == "0.2500000000"


def test_digits_of_interpolation_continue():
    short, long = (interpolation(HALF, 1, 2, n, vocabulary="1/2").value for n in (10, 25))
    assert abs(Fraction(short) - Fraction(long)) <= Fraction(1, 10**10)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"model": "linear_attention"}, "shows one number with different noises"),
        ({"norms": 0}, "Gaussian norms and width >= 1 only"),
        ({"width": "3/4"}, "Gaussian norms and width >= 1 only"),
        ({"noise": 0}, "must be positive"),
    ],
)
def test_where_interpolation_of_a_vocabulary_is_not_derived(settings, rule):
    with pytest.raises(ValueError, match=rule):
        interpolation(HALF, **{"noise": 1, "digits": 5, "vocabulary": "1/2"} | settings)


def test_a_vocabulary_is_refused_by_other_thresholds(monkeypatch, capsys):
    from attention_erm.cli.exit import run_to_exit
    from numeric import __main__ as command

    line = "threshold bayes --kappa0 1/2 --vocabulary 1/5"
    monkeypatch.setattr("sys.argv", ["numeric", *line.split()])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(command.main)
    assert stop.value.code == 2
    assert "is not derived for the bayes threshold" in capsys.readouterr().err


def test_a_threshold_of_a_problem_has_its_vocabulary():
    problem = Problem(0.5, HALF, 0.01, 0.5, vocabulary=0.125)
    expected = recovery(HALF, digits=8, vocabulary="1/8").value
    assert recovery(problem, digits=8).value == expected
    with pytest.raises(InvalidParameter, match="give it once"):
        recovery(problem, digits=8, vocabulary="1/8")
    expected = interpolation(HALF, 0.5, digits=8, vocabulary="1/8").value
    assert interpolation(problem, digits=8).value == expected == "0.062500000"
    with pytest.raises(InvalidParameter, match="not derived for the limit of interpolation"):
        interpolation_limit(problem, digits=8)
