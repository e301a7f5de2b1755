"""The limit of vanishing weight decay: continuous with small decay, exact recovery, phases that
meet at the thresholds.
"""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from exact_problems import HALF, exact
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples, log_uniform

from attention_erm.runtime.errors import InvalidParameter
from numeric import model as models
from numeric.laws.law import quantile
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.model import float64 as generated
from numeric.prediction.prediction import prediction_of
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import Status
from numeric.proven_saddle.proven_point import proven_point
from numeric.saddle.solve import solve
from numeric.saddle.zero_decay import interpolates
from numeric.thresholds.interpolation import interpolation
from verify.studies.models.study import SETTINGS, problem_at

INTERPOLATING = Problem(alpha=0.05, target=MarchenkoPastur(0.5), lambda_=0.0, noise=1.0)


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_small_decay_tends_to_the_limit(beta):
    """The distance falls like a power of lambda between 1/2 and 1 (measured .6); a wrong limit
    would leave it constant.
    """
    limit = solve(
        Problem(alpha=0.05, target=MarchenkoPastur(0.5), lambda_=0.0, noise=1.0, beta=beta)
    ).unwrap()
    gaps = []
    for decay in (1e-3, 1e-4):
        near = solve(
            Problem(alpha=0.05, target=MarchenkoPastur(0.5), lambda_=decay, noise=1.0, beta=beta)
        ).unwrap()
        gaps.append(
            [
                abs(getattr(near, name) - getattr(limit, name))
                for name in ("m", "q", "delta", "b", "test_error")
            ]
        )
    for far, close in zip(*gaps, strict=True):
        assert close < 0.5 * far


def test_a_problem_has_the_limit_if_it_can_be_stated_there():
    tied = problem_at("tied_attention", SETTINGS[0])
    for problem in (
        *(problem_at(name, SETTINGS[0]) for name in RANKED),
        *(replace(tied, parametrisation=of) for of in Parametrisation),
    ):
        try:
            stated = replace(problem, lambda_=0.0).lambda_ == 0
        except InvalidParameter:
            stated = False
        assert problem.has_zero_decay == stated, (problem.model, problem.parametrisation)


@pytest.mark.identity
@given(
    kappa0=log_uniform(0.1, 2.0),
    noise=st.floats(0.05, 2.0),
    width=st.sampled_from([0.3, 1.0]),
    place=st.floats(0.1, 0.9),
    beta=log_uniform(0.3, 3.0),
    beta0=log_uniform(0.3, 3.0),
)
@examples(5)
def test_labels_count_in_the_units_of_the_student(kappa0, noise, width, place, beta, beta0):
    """Labels of S0 at beta0 are those of (beta0/beta) S0 at beta, with its noise."""
    target, ratio = MarchenkoPastur(kappa0), beta0 / beta
    threshold = float(interpolation(target.exact(), Fraction(noise), 2, 6, Fraction(width)))
    problem = Problem(place * threshold, target, 0.0, noise, width, beta=beta, beta0=beta0)
    units = Problem(
        place * threshold, target.scaled(ratio), 0.0, ratio**2 * noise, width, beta=beta, beta0=beta
    )
    found, same = solve(problem), solve(units)
    for name, factor in {"m": ratio, "q": 1, "delta": ratio, "b": ratio, "c": 1 / ratio}.items():
        assert getattr(same, name) == pytest.approx(factor * getattr(found, name), rel=1e-8), name
    assert same.test_error == pytest.approx(found.test_error, abs=1e-9)
    if found.quantile is not None:  # it was left in the units of the student
        assert target.mass_above(found.delta**2, found.quantile) == pytest.approx(width, abs=1e-9)
    assert same.replicon == pytest.approx(found.replicon, abs=1e-7)


@pytest.mark.identity
@given(
    alpha=log_uniform(1e-3, 1e2),
    V=log_uniform(1.0, 1e12),
    c=log_uniform(0.1, 10.0),
    DD=st.floats(0.0, 1.0),
)
def test_the_replicon_of_the_limit_is_that_of_a_linear_channel(alpha, V, c, DD):
    """The dual field answers with 1/V along D directions, Vh = alpha D/V: whatever V is."""
    D = generated.label_numbers(3)
    finite = generated.replicon(alpha, D / V**2, DD, c, c * alpha * D / V)
    assert generated.interpolating_replicon(DD, 2 * alpha * D) == pytest.approx(
        finite, abs=1e-13 * (1 + DD / alpha)
    )


def test_stability_is_continuous_in_the_decay():
    near = solve(Problem(alpha=0.05, target=MarchenkoPastur(0.5), lambda_=1e-5, noise=1.0)).unwrap()
    assert near.replicon == pytest.approx(
        solve(INTERPOLATING).replicon, abs=0.02
    )  # sampled at two digits


def test_the_loss_vanishes_below_interpolation_only():
    below, above = solve(INTERPOLATING.at(0.145)), solve(INTERPOLATING.at(1.0))
    assert (below.train_error, below.free_entropy, below.V) == (0.0, 0.0, math.inf)
    assert above.trusted and above.train_error > 1e-4 and above.b == 0.0


@pytest.mark.slow
@given(
    kappa0=st.floats(0.02, 5.0),
    width=st.floats(0.03, 1.5),
    noise=st.floats(1e-6, 50.0),
    side=st.sampled_from([-1, 1]),
)
@example(
    0.171875, 0.171875, 1.0, -1
)  # the rank limit cuts in a gap, where the quantile's root took more than 100 steps
@examples(20)
def test_double_precision_decides_as_the_proven_threshold_does(kappa0, width, noise, side):
    target, beyond = (
        MarchenkoPastur(kappa0),
        1 + side * 0.03,
    )  # where double precision may decide alone
    threshold = float(interpolation(target.exact(), Fraction(noise), 2, 6, Fraction(width)))
    assert interpolates(Problem(threshold * beyond, target, 0.0, noise, width)) is (side < 0)


def test_close_to_interpolation_the_proven_threshold_decides():
    target, noise = MarchenkoPastur(0.5), 0.5
    threshold = float(interpolation(target.exact(), Fraction(noise), 2, 12, Fraction(1)))
    assert interpolates(Problem(threshold * (1 - 1e-9), target, 0.0, noise))
    assert not interpolates(Problem(threshold * (1 + 1e-9), target, 0.0, noise))


def test_the_phases_meet_at_interpolation():
    """From check_values.json: alpha = .14555...; b falls to 0 there."""
    far, near = (solve(INTERPOLATING.at(0.14555052507242764 - gap)) for gap in (1e-3, 1e-6))
    assert 0 < near.b < 0.05 * far.b


def test_noise_free_labels_give_the_target_beyond_recovery():
    """At kappa0 = 1/2 the threshold is .21108...; in the units of the student the target counts
    beta0/beta times.
    """
    base = Problem(
        alpha=0.212, target=MarchenkoPastur(0.5), lambda_=0.0, noise=0.0, beta=2.0, beta0=1.0
    )
    recovered, missed = solve(base), solve(base.at(0.21))
    assert recovered.m == pytest.approx(0.5 * base.q0) and recovered.q == pytest.approx(
        0.25 * base.q0
    )
    assert recovered.test_error < 1e-12
    assert missed.test_error > 1e-6 and missed.train_error == 0.0


def test_stability_of_the_interpolating_phase():
    """Full width: the mean of DD^2 is below that of DD.

    A rank limit cuts the bulk and breaks replica symmetry.
    """
    assert 0 < solve(INTERPOLATING).replicon < 1
    narrow = solve(
        Problem(alpha=0.05, target=MarchenkoPastur(0.5), lambda_=0.0, noise=1.0, width=0.2)
    )
    assert narrow.status is Status.UNSTABLE and narrow.quantile is not None


def test_direct_training_needs_decay():
    with pytest.raises(ValueError, match="lambda_ = 0: must be positive for direct training"):
        Problem(
            alpha=1.0,
            target=MarchenkoPastur(0.5),
            lambda_=0.0,
            noise=1.0,
            parametrisation=Parametrisation.SYMMETRIC,
        )


def test_the_upper_edge_itself_has_no_mass_above_it():
    """Two branches of the Stieltjes transform meet there; without label noise and below the rank
    the search came upon it.
    """
    problem = Problem(
        alpha=0.019567820178366137,
        target=MarchenkoPastur(0.08830727748064571),
        lambda_=0.0,
        noise=0.0,
        width=0.04812274606506897,
        beta=47.03125811669323,
        beta0=1.9732072120287985,
    )
    assert solve(problem).status is not Status.CONVERGED or solve(problem).residual < 1e-8
    target, v = problem.target, 1e-10
    top = target.upper_edge(v)
    for mass in (1e-3, 1e-6, 1e-9):
        cut = quantile(target, v, mass, 0.0, top)
        assert cut < top
        assert target.mass_above(v, cut) == pytest.approx(mass, rel=1e-6)


@examples(2)
@given(
    name=st.sampled_from(
        ["quadratic_network", "signed_quadratic_network", "linear_attention", "tied_attention"]
    ),
    kappa0=st.fractions(Fraction(1, 20), Fraction(3, 2), max_denominator=50),
    noise=st.fractions(Fraction(1, 50), 2, max_denominator=50),
    place=st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)]),
)
def test_error_bars_hold_the_proven_values(name, kappa0, noise, place):
    """And are no wider than what the distance to interpolation makes of the rounding of the
    spectral function.
    """
    stated = exact(name, HALF, kappa0, Fraction(0), noise)
    threshold = Fraction(
        float(interpolation(stated.rounded.exact_law(), noise, 2, 12, Fraction(1)))
    )
    asked = exact(name, (place * threshold).limit_denominator(10**6), kappa0, Fraction(0), noise)
    found, proven = solve(replace(asked.rounded, lambda_=0.0)), proven_point(asked, 25)
    for quantity, text in proven.values.items():
        if text is not None:
            gap = abs(float(Fraction(text) - Fraction(getattr(found, quantity))))
            assert gap <= found.errors[quantity], quantity
            assert found.errors[quantity] * (1 - place) < 1e-8 * (
                1 + abs(getattr(found, quantity))
            ), quantity


def test_error_bars_grow_towards_interpolation():
    """They were 1e-8 times the value everywhere."""
    threshold = 0.14555052507242764
    far, near = (solve(INTERPOLATING.at(threshold * (1 - gap))) for gap in (0.5, 1e-6))
    assert near.relative_error(("b",)) > 1e3 * far.relative_error(("b",))  # which vanishes there
    assert far.relative_error(("m", "q", "delta", "b")) < 1e-10


RANKED = [name for name in models.available() if "kappa0" in models.structure(name).target_settings]
SLOW = pytest.mark.slow
LONG = {
    "tied_attention_cross_entropy",
    "cross_attention_cross_entropy",
    "cross_attention",
    "untied_attention",
    "first_row_attention",
    "signed_quadratic_network",
}
LIMITS = [name for name in RANKED if problem_at(name, SETTINGS[0]).has_zero_decay]
#: Whose weakest penalty keeps all eigenvalues, or prefers other matrices to the target; and those
#: whose labels do not tell the index.
WITHOUT_LIMIT = {
    "direct_symmetric",
    "direct_general",
    "elastic_attention",
    "label_noise_attention",
    "sign_quadratic_logistic",
    "sign_quadratic_hinge",
    "hard_attention_cross_entropy",
    "drawn_attention_cross_entropy",
    "phase_retrieval",
    "signed_phase_retrieval",
}


def test_a_problem_whose_limit_is_not_derived_is_refused():
    assert set(RANKED) - set(LIMITS) == WITHOUT_LIMIT
    for name in WITHOUT_LIMIT:
        problem = problem_at(name, SETTINGS[0])
        with pytest.raises(
            ValueError, match=f"lambda_ = 0: has no limit derived for the model {name}"
        ):
            replace(problem, lambda_=0.0)
    for kind in ("symmetric", "general"):
        assert not replace(
            INTERPOLATING, lambda_=0.1, parametrisation=Parametrisation(kind)
        ).has_zero_decay


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[SLOW] if name in LONG else []) for name in LIMITS]
)
@pytest.mark.parametrize("alpha", [0.05, pytest.param(0.08, marks=SLOW)])
def test_every_model_tends_to_its_limit(name, alpha):
    """The distance falls like a power of lambda between 1/2 and 1, as above."""
    problem = replace(problem_at(name, SETTINGS[0]), alpha=alpha, lambda_=0.0)
    limit = solve(problem).unwrap()
    near, nearer = (solve(replace(problem, lambda_=decay)) for decay in (1e-3, 1e-4))
    for quantity in ("m", "q", "delta", "train_error", "test_error", "free_entropy"):
        far, close = (
            abs(getattr(one, quantity) - getattr(limit, quantity)) for one in (near, nearer)
        )
        bar = near.errors[quantity] + nearer.errors[quantity] + limit.errors[quantity]
        assert close < 0.5 * far + bar, quantity


@pytest.mark.parametrize("name", LIMITS)
def test_labels_without_noise_are_recovered(name):
    problem = replace(problem_at(name, SETTINGS[0]), alpha=1.0, lambda_=0.0, noise=0.0)
    found = solve(problem).unwrap()
    assert (found.m, found.q, found.estimation_error) == (
        pytest.approx(problem.q0),
        pytest.approx(problem.q0),
        0.0,
    )
    least = prediction_of(problem).fitted_error().value
    assert (found.train_error, found.test_error) == (
        least,
        pytest.approx(least, abs=found.errors["test_error"] + 1e-9),
    )
