"""What the average over the samples of any model obeys at any order parameters: no solution is
needed.
"""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, heats_of, log_uniform, problems_of

from numeric import model as models
from numeric.channel.rules import coarse_rules
from numeric.maths.replicates import half_width
from numeric.prediction.prediction import prediction_of
from numeric.problem.overlaps import Overlaps

#: Models, and more tokens of tied rows, whose averages are sampled.
CASES = [*((name, 2) for name in models.available()), ("tied_attention", 4), ("tied_attention", 6)]
IDS = [name if tokens == 2 else f"{name}, {tokens} tokens" for name, tokens in CASES]
every_channel = pytest.mark.parametrize(("name", "tokens"), CASES, ids=IDS)


@st.composite
def places(draw, name, tokens, V=None, **fixed):
    """A problem of the model, its target of second moment one, and overlaps that some student
    has.
    """
    problem = draw(problems_of(name, **({"tokens": tokens} if tokens != 2 else {}), **fixed))
    problem = replace(
        problem, target=problem.target.scaled(1 / sqrt(problem.q0))
    )  # few labels are saturated
    q = problem.q0 * draw(st.floats(0.3, 1.2))
    m = sqrt(q * problem.q0) * draw(st.floats(0.3, 0.95))
    return problem, Overlaps(m, q, draw(log_uniform(0.1, 2.0)) if V is None else V)


def at(problem, overlaps):
    """Averages by a rule that is fine enough, and the error that is asked of it, relative."""
    rule = coarse_rules(problem)[0]
    if not rule.independent:
        rule = rule.refined()
    return rule.average(overlaps, problem)


def spread(values):
    """Half-width of an average over replicates; nothing of one."""
    return half_width(values) if len(values) > 1 else 0.0


@pytest.mark.identity
@every_channel
@given(data=st.data())
@examples(2)
def test_slopes_of_the_envelope_are_its_differences(name, tokens, data):
    """By the envelope theorem the minimiser does not move: on the same points as the average
    itself.
    """
    problem, here = data.draw(places(name, tokens))
    found = at(problem, here)
    for slope, order, size in (
        ("dM_dm", "m", here.m),
        ("dM_dq", "q", here.q),
        ("dM_dV", "V", here.V),
    ):
        step = 2e-2 * size if order == "V" else 2e-2 * (here.q - here.m**2 / problem.rho)
        up, down = (at(problem, here._replace(**{order: size + side * step})).M for side in (1, -1))
        differences = (up - down) / (2 * step)
        allowed = (
            3e-3 * abs(differences.mean())
            + 2e-4 * found.M.mean() / size
            + 2 * spread(getattr(found, slope) - differences)
        )
        assert abs(getattr(found, slope).mean() - differences.mean()) < allowed, slope


@pytest.mark.identity
@every_channel
@given(data=st.data(), ratio=st.floats(1.2, 4.0))
@examples(2)
def test_the_envelope_is_concave_in_the_stiffness(name, tokens, data, ratio):
    """A minimum of functions that are linear in 1/V, sample by sample: a stiffer spring holds
    samples at more loss, in all.
    """
    problem, here = data.draw(places(name, tokens))
    soft, middle, stiff = (
        at(problem, here._replace(V=V)) for V in (here.V * ratio, here.V, here.V / ratio)
    )
    stiffness = 1 / (here.V * ratio), 1 / here.V, ratio / here.V
    part = (stiffness[1] - stiffness[0]) / (stiffness[2] - stiffness[0])
    chord = (1 - part) * soft.M.mean() + part * stiff.M.mean()
    assert middle.M.mean() >= chord * (1 - 1e-9)
    assert soft.M.mean() <= middle.M.mean() <= stiff.M.mean()
    slack = 1e-4 * stiff.train_error.mean() + 2 * spread(stiff.train_error)
    assert soft.train_error.mean() <= middle.train_error.mean() + slack
    assert middle.train_error.mean() <= stiff.train_error.mean() + slack


@pytest.mark.identity
@every_channel
@given(data=st.data())
@examples(2)
def test_an_infinitely_stiff_sample_stays_where_it_is(name, tokens, data):
    """V -> 0: the envelope is the loss of a fresh sample."""
    problem, here = data.draw(places(name, tokens, V=1e-9))
    found = at(problem, here)
    assert found.M.mean() == pytest.approx(found.test_error.mean(), rel=1e-6)
    fresh, error = prediction_of(problem).test_error(here)
    assert found.test_error.mean() == pytest.approx(
        fresh, rel=1e-3, abs=2 * error + 2 * spread(found.test_error)
    )


#: Losses with a unit of their own, a margin of one, have no scale to change.
WITH_UNIT = ("sign_quadratic_logistic", "sign_quadratic_hinge")
SCALABLE = [case for case in CASES if case[0] not in WITH_UNIT]


@pytest.mark.identity
@pytest.mark.parametrize(("name", "tokens"), SCALABLE)
@given(data=st.data(), s=log_uniform(0.5, 2.0))
@examples(2)
def test_the_unit_of_the_index_is_free(name, tokens, data, s):
    """M(s^2 m, s^2 q, s^2 V; s^2 rho) at beta/s, beta0/s is M; without temperatures the loss has
    the unit of the index squared.
    """
    problem, here = data.draw(places(name, tokens))
    target, noise = problem.target.scaled(s), problem.noise * s**2
    heats = {heat: getattr(problem, heat) / s for heat in heats_of(name)}
    there = here._replace(m=s**2 * here.m, q=s**2 * here.q, V=(s**2 if heats else 1) * here.V)
    scaled = at(replace(problem, target=target, noise=noise, **heats), there)
    found, unit = at(problem, here), 1 if heats else s**2
    for quantity in ("M", "train_error", "test_error"):
        assert getattr(scaled, quantity).mean() == pytest.approx(
            unit * getattr(found, quantity).mean(), rel=1e-6
        )
    for slope, power in (
        ("dM_dm", unit / s**2),
        ("dM_dq", unit / s**2),
        ("dM_dV", 1 / s**2 if heats else s**2),
    ):
        assert getattr(scaled, slope).mean() == pytest.approx(
            power * getattr(found, slope).mean(), rel=1e-3
        ), slope


DETERMINED = [
    case
    for case in CASES
    if "recovery" not in models.structure(case[0]).missing_thresholds or "direct" in case[0]
]


@pytest.mark.identity
@pytest.mark.parametrize(("name", "tokens"), DETERMINED)
@given(data=st.data())
@examples(2)
def test_a_soft_sample_reproduces_its_label(name, tokens, data):
    """V -> infinity: of any loss the entropy of labels is left, and half the squared distance per
    visible number, over V.

    Labels of S0 at beta0 are those of (beta0/beta) S0 at beta.
    """
    V = 1e11
    problem, here = data.draw(places(name, tokens, V=V))
    ratio = problem.beta0 / problem.beta
    distance = here.q - 2 * ratio * here.m + ratio**2 * problem.rho
    found, least = at(problem, here), prediction_of(problem).fitted_error().value
    elastic = -V * found.dM_dV  # the rest of M, which is small beside an entropy
    expected = problem.label_numbers * distance / (2 * V)
    assert elastic.mean() == pytest.approx(expected, rel=5e-3, abs=3 * spread(elastic))
    assert found.M.mean() == pytest.approx(least, rel=1e-3, abs=1e-5 + 3 * spread(found.M))


def linearised(problem, tokens):
    """Weights a_k of the loss per unit of independent numbers that a sample at small temperature
    shows, over beta^2.

    Softmax is linear there: beta (h - mean of its row)/T, and cross-entropy half of the squared
    change over 1/T.
    """
    covariance = np.array(models.structure(problem.model).index_variances, dtype=float)
    if models.structure(problem.model).matrix == "general":
        rows, size = np.arange(len(covariance)).reshape(-1, 2).tolist(), 2
    else:
        component = np.zeros((tokens, tokens), dtype=int)
        upper = np.triu_indices(tokens)
        component[upper] = np.arange(len(upper[0]))
        component.T[upper] = component[upper]
        covariance = np.where(upper[0] == upper[1], 2.0, 1.0)
        rows, size = component.tolist(), tokens
    shown = rows[:1] if problem.model == "first_row_attention" else rows
    centred = np.eye(size) - 1 / size
    form = np.zeros((len(covariance), len(covariance)))
    for row in shown:
        pick = np.eye(len(covariance))[row]
        form += pick.T @ centred @ pick / size**2
    form *= size / 2 if "entropy" in problem.model else 1.0
    root = np.diag(np.sqrt(covariance))
    return np.linalg.eigvalsh(root @ form @ root)


SOFTMAX = [
    (name, tokens)
    for name, tokens in CASES
    if heats_of(name) and name != "label_noise_attention"
    if not models.structure(name).draws
]


@pytest.mark.identity
@pytest.mark.parametrize(("name", "tokens"), SOFTMAX)
@given(data=st.data())
@examples(2)
def test_at_high_temperature_softmax_is_linear(name, tokens, data):
    """Each independent number of variance one and loss a (y - h)^2 adds a (q - 2 m + rho)/(1 + 2 a
    V).
    """
    beta = 1e-3
    problem, here = data.draw(places(name, tokens, beta=beta, beta0=beta))
    here = here._replace(V=here.V / beta**2)
    a = beta**2 * linearised(problem, tokens)
    expected = np.sum(a / (1 + 2 * a * here.V)) * (here.q - 2 * here.m + problem.rho)
    found, least = at(problem, here), prediction_of(problem).fitted_error().value
    slope = np.sum(2 * a**2 / (1 + 2 * a * here.V) ** 2) * (here.q - 2 * here.m + problem.rho)
    assert -found.dM_dV.mean() == pytest.approx(slope, rel=3e-3, abs=3 * spread(found.dM_dV))
    if least < 1e-9:
        assert found.M.mean() == pytest.approx(expected, rel=3e-3, abs=3 * spread(found.M))


@pytest.mark.identity
@every_channel
@given(data=st.data(), share=st.floats(0.1, 0.9))
@examples(2)
def test_noise_inside_a_label_is_a_part_of_the_target_that_no_student_sees(
    name, tokens, data, share
):
    """M depends on the target by the variance q0 + Delta/2 of its noisy index alone."""
    problem, here = data.draw(places(name, tokens))
    other = replace(
        problem,
        target=problem.target.scaled(sqrt(1 + share * problem.noise / (2 * problem.q0))),
        noise=(1 - share) * problem.noise,
    )
    assert other.rho == pytest.approx(problem.rho)
    found, same = at(problem, here), at(other, here)
    for quantity in ("M", "dM_dm", "dM_dq", "dM_dV", "train_error", "test_error"):
        assert getattr(same, quantity).mean() == pytest.approx(
            getattr(found, quantity).mean(), rel=1e-6
        ), quantity
