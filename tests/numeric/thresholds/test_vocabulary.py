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
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric import model as models
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.maths.balls import ball, working
from numeric.problem.problem import Problem
from numeric.proven_laws.law import law_of
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery
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


def test_a_vocabulary_is_refused_by_other_thresholds_with_the_bound(monkeypatch, capsys):
    from attention_erm.cli.exit import run_to_exit
    from numeric import __main__ as command

    line = "threshold interpolation --kappa0 1/2 --noise 1 --vocabulary 1/5"
    monkeypatch.setattr("sys.argv", ["numeric", *line.split()])
    with pytest.raises(SystemExit) as stop:
        run_to_exit(command.main)
    assert stop.value.code == 2
    assert "N/(T(T-1)) = 1/10 d^2" in capsys.readouterr().err


def test_a_threshold_of_a_problem_has_its_vocabulary():
    problem = Problem(0.5, HALF, 0.01, 0.5, vocabulary=0.125)
    expected = recovery(HALF, digits=8, vocabulary="1/8").value
    assert recovery(problem, digits=8).value == expected
    with pytest.raises(InvalidParameter, match="give it once"):
        recovery(problem, digits=8, vocabulary="1/8")
    with pytest.raises(InvalidParameter, match="not derived for the interpolation threshold"):
        interpolation(problem, digits=8)
