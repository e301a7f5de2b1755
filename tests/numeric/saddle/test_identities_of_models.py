"""Laws that relate the solutions of one model, or of two, at random settings: slopes, units,
symmetries, bounds.
"""

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import HEATS, examples, heats_of, log_uniform, problems_of, targets_of

from numeric import model as models
from numeric.channel.rules import coarse_rules
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.prediction.prediction import prediction_of
from numeric.problem.conjugates import Conjugates
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem, extra_setting_names
from numeric.problem.solution import Status
from numeric.saddle.estimator import reduced_variables, spectral_energy
from numeric.saddle.solve import solve
from numeric.studies.bayes_estimation_error import bayes_error
from numeric.studies.spectrum import learned_spectrum
from numeric.thresholds.interpolation import interpolation

SLOW = {
    "tied_attention_cross_entropy",
    "label_noise_attention",
    "cross_attention",
    "untied_attention",
    "direct_general",
}  # seconds a solve
SLOW |= {
    "tied_attention_two_bulks",
    "elastic_attention",
}  # whose law is not compiled; whose penalty has tests of its own
CLOSED = [name for name in models.available() if models.structure(name).channel == "closed"]


RATIONAL = {name for name in models.available() if models.structure(name).has_negative_eigenvalues}


def each(names, others=frozenset()):
    """Models, the slow ones and some others with the slow tests."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=[pytest.mark.slow] if name in SLOW | others else [])
            for name in names
        ],
    )


every_model = each(models.available())
THRESHOLD = [name for name in models.available() if models.structure(name).has_linear_penalty]
with_threshold = each(THRESHOLD)


def learned(problem):
    """A solution that learns something; None where S = 0, or where none is to be trusted."""
    found = solve(problem)
    return found if found.trusted and found.status is not Status.UNLEARNED else None


def penalty(found):
    """Its share of the free entropy: lambda sqrt(kappa) tr |S|/d of factors, and a Frobenius term
    mu tr S^2/d.
    """
    problem = found.problem
    total = sum(problem.frobenius) * found.q
    if models.structure(problem.model).has_linear_penalty:
        J_b = spectral_energy(problem, found.delta**2, found.b).J_b
        total += problem.lambda_ * sqrt(problem.width) * -found.c * J_b / 2
    return total


@pytest.mark.identity
@every_model
@given(data=st.data())
@examples(2)
def test_the_least_risk_is_the_loss_and_the_penalty(name, data):
    """All else in the free entropy cancels at its saddle point."""
    if found := learned(data.draw(problems_of(name))):
        expected = found.problem.alpha * found.train_error + penalty(found)
        bar = (
            found.errors["free_entropy"]
            + found.problem.alpha * found.errors["train_error"]
            + penalty(found) * found.error_estimate
        )
        assert found.free_entropy == pytest.approx(expected, rel=1e-7, abs=bar)


@pytest.mark.identity
@every_model
@given(data=st.data(), c=st.floats(0.1, 1.5))
@examples(1)
def test_no_multiple_of_the_target_has_less_risk_than_the_least(name, data, c):
    """It is a student like any other; nor has S = 0."""
    problem = data.draw(problems_of(name))
    found = solve(problem)
    size = (
        -spectral_energy(problem, 1e-10, 1e-9).J_b / 2
        if models.structure(name).has_linear_penalty
        else 0.0
    )
    for multiple in (c, 1e-9):
        loss = prediction_of(problem).test_error(
            Overlaps(multiple * problem.q0, multiple**2 * problem.q0, 0.0)
        )
        cost = (
            problem.lambda_ * sqrt(problem.width) * multiple * size
            + sum(problem.frobenius) * multiple**2 * problem.q0
        )
        risk = problem.alpha * (loss.value + loss.error) + cost
        assert found.free_entropy <= risk * (1 + 1e-4) + 2 * found.errors["free_entropy"]


@pytest.mark.identity
@every_model
@given(data=st.data(), parts=st.floats(1.2, 3.0))
@examples(1)
def test_more_samples_and_as_much_more_decay_have_more_risk_than_in_parts(name, data, parts):
    """The least of a sum is no less than the sum of the leasts: e(t alpha, t lambda) >= t e(alpha,
    lambda).
    """
    problem = data.draw(problems_of(name))
    of_penalty = set(models.structure(name).penalty_settings)
    whole = replace(
        problem.at(parts * problem.alpha),
        lambda_=parts * problem.lambda_,
        extra=tuple(
            (key, value * (parts if key in of_penalty else 1)) for key, value in problem.extra
        ),
    )
    one, all_of_it = solve(problem), solve(whole)
    bars = parts * one.errors["free_entropy"] + all_of_it.errors["free_entropy"]
    assert all_of_it.free_entropy >= parts * one.free_entropy - bars
    assert (
        all_of_it.free_entropy
        <= all_of_it.problem.alpha
        * prediction_of(problem).test_error(Overlaps(1e-12, 1e-12, 0.0)).value
        * 1.001
    )


def moved(problem, name, factor):
    """The problem with one of its parameters times a factor."""
    if name in ("kappa0", "positive"):
        if isinstance(problem.target, MarchenkoPastur):
            return replace(
                problem, target=replace(problem.target, kappa0=factor * problem.target.kappa0)
            )
        names = models.structure(problem.model).target_settings
        changed = [
            value * (factor if one == name else 1)
            for one, value in zip(names, problem.target.settings, strict=True)
        ]
        return replace(problem, target=replace(problem.target, settings=tuple(changed)))
    if name in dict(problem.extra):
        return replace(
            problem,
            extra=tuple(
                (key, value * (factor if key == name else 1)) for key, value in problem.extra
            ),
        )
    return replace(problem, **{name: getattr(problem, name) * factor})


def energy_at(found, problem, rule):
    """The free entropy of another problem at the order parameters and conjugates of a solution."""
    mh, qh, Vh = found.mh, found.qh, found.Vh
    M = float(rule.average(Overlaps(found.m, found.q, found.V), problem).M.mean())
    order = (found.m, found.q, found.V, mh, qh, Vh)
    v, b, _, _ = reduced_variables(Conjugates(mh, qh, Vh), problem)
    J = spectral_energy(problem, v, b).J
    return float(problem.generated.free_entropy(problem.alpha, M, *order, J, *problem.frobenius))


def slopes(found, name, step=0.02):
    """Of the least risk in the logarithm of a parameter: along solutions, and with all six
    variables held; errors of the first.
    """
    problem = found.problem
    rule = coarse_rules(problem)[0].refined().refined()
    ahead, back = (moved(problem, name, np.exp(side * step)) for side in (1, -1))
    ends = [solve(one, found) for one in (ahead, back)]

    def difference(h):
        above, below = (
            energy_at(found, moved(problem, name, np.exp(side * h)), rule) for side in (1, -1)
        )
        return (above - below) / (2 * h)

    held = (
        4 * difference(step / 2) - difference(step)
    ) / 3  # Richardson: the first error of differences drops out
    error = sum(end.errors["free_entropy"] for end in ends) / (2 * step)
    return (ends[0].free_entropy - ends[1].free_entropy) / (2 * step), held, error


def parameters(of):
    """Pairs of a model and one of its parameters."""
    return [
        pytest.param(
            name, key, id=f"{name}-{key}", marks=[pytest.mark.slow] if name in SLOW else []
        )
        for name in models.available()
        for key in of(name)
    ]


def check_slope(data, name, key):
    if found := learned(data.draw(problems_of(name))):
        along, held, error = slopes(found, key)
        assert along == pytest.approx(held, rel=2e-3, abs=2 * error + 1e-4 * found.free_entropy)


@pytest.mark.identity
@pytest.mark.parametrize(
    ("name", "key"), parameters(lambda name: ("noise", *set(extra_setting_names(name)) - {"mu"}))
)
@given(data=st.data())
@examples(1)
def test_de_dnoise_is_that_of_the_envelope(name, key, data):
    """At a stationary point only what a parameter changes itself counts."""
    check_slope(data, name, key)


@pytest.mark.identity
@pytest.mark.parametrize(("name", "key"), parameters(heats_of))
@given(data=st.data())
@examples(1)
def test_de_dbeta_is_that_of_the_envelope(name, key, data):
    """Student's and target's temperatures apart."""
    check_slope(data, name, key)


@pytest.mark.identity
@pytest.mark.parametrize(
    ("name", "key"),
    parameters(
        lambda name: [
            key for key in models.structure(name).target_settings if key in ("kappa0", "positive")
        ]
    ),
)
@given(data=st.data())
@examples(1)
def test_de_dtarget_is_that_of_the_prior_and_of_the_labels(name, key, data):
    """Rank ratio and share of positive signs enter by the spectral function and by the second
    moment.
    """
    check_slope(data, name, key)


@pytest.mark.identity
@given(data=st.data())
@examples(2)
def test_the_trace_falls_with_a_frobenius_penalty_as_the_norm_with_decay(data):
    """Second derivatives of one function: d(tr S^2)/dlambda = sqrt(kappa) d(tr S)/dmu."""
    if found := learned(data.draw(problems_of("elastic_attention"))):
        problem, step = found.problem, 0.05

        def trace(of):
            energy = spectral_energy(of.problem, of.delta**2, of.b)
            return -of.c * energy.J_b / 2

        by_decay = [
            solve(moved(problem, "lambda_", np.exp(side * step)), found).q for side in (1, -1)
        ]
        by_norm = [
            trace(solve(moved(problem, "mu", np.exp(side * step)), found)) for side in (1, -1)
        ]
        mu = dict(problem.extra)["mu"]
        left, right = (
            (by_decay[0] - by_decay[1]) / problem.lambda_,
            (by_norm[0] - by_norm[1]) * sqrt(problem.width) / mu,
        )
        assert left == pytest.approx(
            right, rel=0.02
        )  # of the coarse differences, and 1e-4 of the channel over their step


@pytest.mark.identity
@given(
    mh=log_uniform(0.1, 3),
    qh=log_uniform(0.01, 3),
    Vh=log_uniform(0.1, 3),
    mu=log_uniform(1e-3, 3),
    data=st.data(),
)
@examples(30)
def test_a_frobenius_penalty_is_a_shift_of_the_conjugate_of_the_norm(mh, qh, Vh, mu, data):
    """Elastic at (Vh, mu) is plain at Vh + 2 mu with mu q more; without a threshold it is direct
    training.
    """
    target, order = data.draw(targets_of("tied_attention")), (0.4, 0.5, 0.7)
    shared = {"alpha": 1.3, "target": target, "noise": 0.5}
    elastic = Problem(lambda_=0.1, model="elastic_attention", extra=(("mu", mu),), **shared)
    plain = Problem(lambda_=0.1, **shared)
    here, shifted = (
        reduced_variables(Conjugates(mh, qh, Vh), elastic),
        reduced_variables(Conjugates(mh, qh, Vh + 2 * mu), plain),
    )
    assert here == pytest.approx(shifted, rel=1e-12)
    v, b, c, _ = here
    energy = spectral_energy(elastic, v, b)
    with_norm = elastic.generated.free_entropy(1.3, 0.2, *order, mh, qh, Vh, energy.J, mu)
    without = plain.generated.free_entropy(1.3, 0.2, *order, mh, qh, Vh + 2 * mu, energy.J)
    assert with_norm == pytest.approx(without + mu * order[1], abs=1e-12 * (1 + mh + qh + Vh + mu))
    found = elastic.generated.overlaps(energy.J, energy.J_v, energy.J_b, v, b, c, Vh, mu)
    assert list(found) == pytest.approx(
        list(plain.generated.overlaps(energy.J, energy.J_v, energy.J_b, v, b, c, Vh + 2 * mu)),
        rel=1e-12,
    )
    whole = elastic.generated.overlaps(target.q0 + v, 1.0, 0.0, v, 0.0, c, Vh, mu)
    assert list(whole) == pytest.approx(
        list(plain.generated.direct_overlaps(mh, qh, Vh, mu, target.q0)[:3]), rel=1e-10
    )


@pytest.mark.identity
@given(data=st.data())
@examples(2)
def test_a_vanishing_frobenius_penalty_leaves_tied_attention(data):
    """e(mu) is concave and starts as mu tr S^2/d: it lies between the tangent at 0 and that at
    mu.
    """
    problem = data.draw(problems_of("elastic_attention"))
    plain = replace(problem, model="tied_attention", extra=())
    mu = 1e-3
    found, alone = solve(replace(problem, extra=(("mu", mu),))), solve(plain)
    rise = (found.free_entropy - alone.free_entropy) / mu
    slack = 2 * (found.errors["free_entropy"] + alone.errors["free_entropy"]) / mu
    assert found.q - slack <= rise + 1e-3 * alone.q and rise <= alone.q * (1 + 1e-3) + slack


@pytest.mark.identity
@with_threshold
@given(data=st.data(), width=st.floats(1.0, 4.0))
@examples(2)
def test_width_beyond_the_dimension_is_weight_decay(name, data, width):
    """It enters through lambda sqrt(kappa) alone."""
    problem = data.draw(problems_of(name))
    wide, one = (
        solve(replace(problem, width=width)),
        solve(replace(problem, lambda_=problem.lambda_ * sqrt(width))),
    )
    for quantity in ("m", "q", "V", "train_error", "test_error", "free_entropy"):
        bar = wide.errors[quantity] + one.errors[quantity]
        assert getattr(wide, quantity) == pytest.approx(
            getattr(one, quantity), rel=1e-6, abs=bar
        ), quantity


POSITIVE_CLOSED = [name for name in CLOSED if models.structure(name).matrix == "positive"]


@pytest.mark.identity
@pytest.mark.parametrize("name", POSITIVE_CLOSED)
@given(data=st.data(), width=st.floats(0.1, 0.9), wider=st.floats(1.05, 2.0))
@examples(8)
def test_a_narrower_student_has_no_less_risk(name, data, width, wider):
    """At the same cost of an eigenvalue it has fewer of them to choose."""
    problem = data.draw(problems_of(name))
    narrow, wide = (
        solve(replace(problem, width=one, lambda_=problem.lambda_ / sqrt(one)))
        for one in (width, width * wider)
    )
    if narrow.trusted and wide.trusted:
        assert narrow.free_entropy >= wide.free_entropy * (1 - 1e-9)


@pytest.mark.identity
@each([name for name in models.available() if "beta0" in heats_of(name)])
@given(data=st.data())
@examples(1)
def test_labels_count_in_the_units_of_the_student(name, data):
    """Labels of S0 at beta0 are those of (beta0/beta) S0 at beta, with its noise: the student is
    the same.
    """
    problem = data.draw(problems_of(name))
    ratio = problem.beta0 / problem.beta
    same = solve(
        replace(
            problem,
            target=problem.target.scaled(ratio),
            noise=ratio**2 * problem.noise,
            beta0=problem.beta,
        )
    )
    found = solve(problem)
    for quantity, factor in {
        "m": ratio,
        "q": 1,
        "V": 1,
        "b": ratio,
        "train_error": 1,
        "test_error": 1,
        "free_entropy": 1,
    }.items():
        if quantity == "b" and not models.structure(name).has_linear_penalty:
            continue
        bar = factor * found.errors[quantity] + same.errors[quantity]
        assert getattr(same, quantity) == pytest.approx(
            factor * getattr(found, quantity), rel=1e-6, abs=bar
        ), quantity


@pytest.mark.identity
@given(data=st.data())
@examples(6)
def test_a_mirrored_target_is_learned_alike(data):
    """A linear output cannot tell S0 from -S0."""
    problem = data.draw(problems_of("signed_quadratic_network"))
    found, mirrored = (
        solve(replace(problem, target=target))
        for target in (problem.target, problem.target.mirrored)
    )
    other = solve(
        moved(problem, "positive", (1 - problem.target.settings[1]) / problem.target.settings[1])
    )
    for quantity in ("m", "q", "V", "b", "train_error", "test_error", "free_entropy", "replicon"):
        assert getattr(mirrored, quantity) == pytest.approx(getattr(found, quantity), rel=1e-7), (
            quantity
        )
        assert getattr(other, quantity) == pytest.approx(getattr(found, quantity), rel=1e-7), (
            quantity
        )


@pytest.mark.identity
@every_model
@given(data=st.data())
@examples(2)
def test_distances_are_those_of_the_overlaps(name, data):
    """||S - S0||^2/d, and of S/c, the map at unit gain."""
    if found := learned(data.draw(problems_of(name))):
        q0, bar = found.problem.q0, 2 * found.errors["m"] + found.errors["q"]
        assert found.estimation_error == pytest.approx(q0 - 2 * found.m + found.q, rel=1e-9)
        at_unit_gain = q0 - 2 * found.m / found.c + found.q / found.c**2
        assert found.denoising_error == pytest.approx(at_unit_gain, rel=1e-7, abs=bar)


@pytest.mark.identity
@each(THRESHOLD, RATIONAL)
@given(data=st.data())
@examples(1)
def test_moments_of_the_learned_spectrum(name, data):
    """Mass one, tr |S|/d = -c J_b/2, tr S^2/d = q, either sign counted."""
    if found := learned(data.draw(problems_of(name))):
        spectrum = learned_spectrum(found, 3000)
        energy = spectral_energy(found.problem, found.delta**2, found.b)
        assert spectrum.second_moment == pytest.approx(found.q, rel=2e-3)
        assert spectrum.zero_mass == pytest.approx(1 - energy.mass, abs=1e-6)
        size, start = 0.0, 0
        for _ in spectrum.bulks:
            part = slice(start, start + 3000)
            size += np.trapezoid(
                spectrum.density[part] * np.abs(spectrum.x[part]), spectrum.x[part]
            )
            start += 3000
        assert size == pytest.approx(-found.c * energy.J_b / 2, rel=2e-3)


CONVEX = [name for name in models.available() if name in CLOSED or "cross_entropy" in name]


@pytest.mark.identity
@each(CONVEX)
@given(data=st.data())
@examples(4)
def test_a_convex_problem_is_stable(name, data):
    """It has one minimum: no replica can leave it."""
    if found := learned(data.draw(problems_of(name))):
        assert 0 < found.replicon <= 1
        assert found.status is not Status.UNSTABLE


@pytest.mark.identity
@each(
    [
        name
        for name in models.available()
        if "bayes" not in models.structure(name).missing_thresholds
    ],
    RATIONAL,
)
@given(data=st.data())
@examples(2)
def test_no_student_estimates_better_than_bayes(name, data):
    """Not even the best multiple of what it learned."""
    if found := learned(data.draw(problems_of(name))):
        problem = found.problem
        optimal = bayes_error(problem)
        assert (
            problem.q0 - found.m**2 / found.q
            >= optimal * (1 - 1e-6) - 2 * found.errors["estimation_error"]
        )


LIMITED = [
    name
    for name in models.available()
    if "recovery" not in models.structure(name).missing_thresholds
]
CLASSES = {
    kind: [
        name
        for name in LIMITED
        if models.structure(name).matrix == kind and "two_bulks" not in name
    ]
    for kind in ("positive", "general")
}
PAIRS = [(names[0], other) for names in CLASSES.values() for other in names[1:]]


@pytest.mark.identity
@pytest.mark.parametrize(
    ("name", "other"),
    [pytest.param(*pair, marks=[pytest.mark.slow] if RATIONAL & {*pair} else []) for pair in PAIRS],
)
@given(data=st.data(), place=st.floats(0.1, 0.9))
@examples(3)
def test_below_interpolation_models_of_one_class_differ_by_the_numbers_in_a_label(
    name, other, data, place
):
    """Whatever loss and output: at vanishing decay alpha D, the noise and the class are all that m,
    q, delta and b know of.
    """
    kappa0, noise = data.draw(st.floats(0.2, 1.2)), data.draw(st.floats(0.1, 1.0))

    def at(model):
        if models.structure(model).matrix == "positive":
            target = MarchenkoPastur(kappa0)
        else:
            target = RationalTarget.of(model, kappa0=kappa0, scale=1.0)
        return Problem(1.0, target, 0.0, noise, model=model)

    asked = at(name)
    threshold = float(
        interpolation(asked.exact_law(), Fraction(noise), asked.tokens, 8, Fraction(1))
    )
    found, same = (
        solve(one.at(place * threshold * asked.label_numbers / one.label_numbers))
        for one in (asked, at(other))
    )
    for quantity in ("m", "q", "delta", "b", "c", "estimation_error", "replicon"):
        assert getattr(same, quantity) == pytest.approx(getattr(found, quantity), rel=1e-8), (
            quantity
        )


@pytest.mark.identity
@pytest.mark.slow
@given(
    data=st.data(),
    tokens=st.integers(3, 12),
    place=st.floats(0.1, 0.9),
    width=st.sampled_from([0.4, 1.0]),
)
@examples(4)
def test_below_interpolation_tokens_count_by_the_numbers_in_a_label(data, tokens, place, width):
    kappa0, noise = data.draw(st.floats(0.2, 1.2)), data.draw(st.floats(0.1, 1.0))
    two = Problem(1.0, MarchenkoPastur(kappa0), 0.0, noise, width)
    threshold = float(interpolation(two.exact_law(), Fraction(noise), 2, 8, Fraction(width)))
    more = replace(two, tokens=tokens)
    found, same = (solve(one.at(2 * place * threshold / one.label_numbers)) for one in (two, more))
    for quantity in ("m", "q", "delta", "b", "estimation_error", "replicon"):
        assert getattr(same, quantity) == pytest.approx(getattr(found, quantity), rel=1e-8), (
            quantity
        )


@pytest.mark.identity
@each(LIMITED, RATIONAL)
@given(data=st.data(), place=st.floats(0.1, 0.9))
@examples(2)
def test_the_replicon_below_interpolation_is_a_ratio_of_integrals(name, data, place):
    """1 - iint DD^2/iint DD lies between 0 and 1 where no rank limit cuts, as DD is a share;
    nothing is left of the loss.
    """
    problem = replace(data.draw(problems_of(name)), lambda_=0.0)
    threshold = float(
        interpolation(problem.exact_law(), Fraction(problem.noise), problem.tokens, 8, Fraction(1))
    )
    found = solve(problem.at(place * threshold))
    assert 0 < found.replicon < 1
    assert found.train_error == pytest.approx(
        prediction_of(problem).fitted_error().value, abs=1e-12
    )
    assert problem.beta * found.c == pytest.approx(
        problem.beta0 if set(HEATS) <= set(heats_of(name)) else 1.0
    )
