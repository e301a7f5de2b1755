"""Identities that the solution of any model obeys, at random settings: what follows from its being
the minimum of one function.
"""

import math
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, heats_of, problems_of, problems_with_tokens

from numeric import model as models
from numeric.channel.rules import coarse_rules
from numeric.laws.rational_target import RationalTarget
from numeric.maths.replicates import half_width
from numeric.problem.conjugates import Conjugates
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from numeric.saddle.estimator import reduced_variables, spectral_energy
from numeric.saddle.solve import solve

SLOW = {
    "tied_attention_cross_entropy",
    "label_noise_attention",
    "cross_attention",
    "untied_attention",
    "tied_attention_two_bulks",
}  # seconds a solve
SLOW |= {
    "direct_general",
    "signed_quadratic_network",
    "elastic_attention",
    "first_row_attention",
    "signed_phase_retrieval",
}  # others have their penalties and classes of matrices, too
# Models that learn tokens with a covariance or with norms, and with both (problems_with_tokens).
WITH_TOKENS = ("quadratic_network", "linear_attention", "tied_attention")
WITH_TOKENS_SLOW = ("first_row_attention", "label_noise_attention", "tied_attention_cross_entropy")
PARAMETERS = [
    *(
        pytest.param(name, problems_of, marks=[pytest.mark.slow] if name in SLOW else [], id=name)
        for name in models.available()
    ),
    *(
        pytest.param(name, problems_with_tokens, marks=marks, id=f"{name}, any tokens")
        for names, marks in ((WITH_TOKENS, []), (WITH_TOKENS_SLOW, [pytest.mark.slow]))
        for name in names
    ),
]


def for_every_model(most):
    """Runs a check of (solution, data) for each model at random problems that learn something."""

    def decorate(check):
        @pytest.mark.identity
        @pytest.mark.parametrize(("name", "problems"), PARAMETERS)
        def test(name, problems):
            @examples(1 if name in SLOW else most)
            @given(data=st.data())
            def run(data):
                found = solve(data.draw(problems(name)))
                if found.status is not Status.UNLEARNED:
                    check(found)

            run()

        test.__doc__ = check.__doc__
        return test

    return decorate


def slope(problem, name, step, **others):
    """Central difference of the free entropy in the logarithm of a parameter, over the parameter,
    and its error.
    """
    at, start = getattr(problem, name), solve(problem)
    high, low = (
        solve(replace(problem, **{name: at * np.exp(side * step)}), start) for side in (1, -1)
    )
    error = (high.errors["free_entropy"] + low.errors["free_entropy"]) / (2 * step * at)
    return (high.free_entropy - low.free_entropy) / (2 * step * at), error


def require_stationary(found):
    """The derivative of the free entropy in the logarithm of each of the six, by differences, over
    the size of its terms; of eight with the overlap with the covariance and its conjugate.
    """
    problem, rule = found.problem, coarse_rules(found.problem)[0].refined().refined()
    names = ("m", "q", "V", "mh", "qh", "Vh")
    centre = {name: getattr(found, name) for name in names}
    of_norms = {"t": found.norms.t, "th": found.norms.th} if found.norms else {}

    def energy(at):
        t, th = at.get("t", 0.0), at.get("th")
        conjugates = Conjugates(*(at[name] for name in ("mh", "qh", "Vh")), th=th)
        v, b, _, shift = reduced_variables(conjugates, problem)
        M = float(rule.average(Overlaps(at["m"], at["q"], at["V"], t=t), problem).M.mean())
        J, six = spectral_energy(problem, v, b, shift).J, (at[name] for name in names)
        value = problem.generated.free_entropy(problem.alpha, M, *six, J, *problem.frobenius)
        return float(value) + (t * th if of_norms else 0.0)

    # The solution is that of a rule with fewer points: sampled ones differ by what is asked of
    # them, others by their error bars.
    allowed = rule.accuracy if rule.independent else 5e-4 + found.relative_error(names)
    size = abs(found.m * found.mh) + abs(found.q * found.Vh) + abs(found.V * found.qh)
    centre |= of_norms
    # The overlap t and its conjugate may vanish: they move in units of the others.
    units = centre | {"t": sqrt(found.q), "th": sqrt(found.qh)}
    for name in centre:
        step = 1e-3
        high, low = (
            energy(centre | {name: centre[name] + side * step * units[name]}) for side in (1, -1)
        )
        assert abs(high - low) / (2 * step) < allowed * size, name


@for_every_model(2)
def test_the_free_entropy_is_stationary_in_all_six(found):
    require_stationary(found)


def test_the_free_entropy_is_stationary_where_error_bars_are_wide():
    """A target of several times the usual size: labels are sharp, and what was solved is known to
    3e-3 only.
    """
    law = RationalTarget.of(
        "tied_attention_two_bulks", kappa1=1.0, kappa2=1.0, scale1=1.0, scale2=3.0
    )
    found = solve(Problem(math.e, law, math.exp(-2), math.exp(-1), model=law.model))
    assert 1e-3 < found.error_estimate < 1e-2
    require_stationary(found)


@for_every_model(2)
def test_de_dalpha_is_the_mean_envelope(found):
    """It is the loss of a sample and what it costs to move for it."""
    problem = found.problem
    rule = coarse_rules(problem)[0].refined().refined()
    t = found.norms.t if found.norms else 0.0
    expected = rule.average(Overlaps(found.m, found.q, found.V, t=t), problem).M
    value, error = slope(problem, "alpha", 0.02)
    scatter = half_width(expected) if rule.independent else 0.0
    assert value == pytest.approx(expected.mean(), rel=1e-3, abs=2 * error + scatter)


@for_every_model(2)
def test_de_dlambda_is_the_penalty_per_unit_decay(found):
    """sqrt(kappa) tr |S|/d of factors, from J_b; tr S^T S/d of direct training."""
    problem = found.problem
    if models.structure(problem.model).has_linear_penalty:
        shift = found.norms.shift if found.norms else 0.0
        size = -found.c * spectral_energy(problem, found.delta**2, found.b, shift).J_b / 2
        expected = sqrt(problem.width) * size
    else:
        expected = found.q
    value, error = slope(problem, "lambda_", 0.02)
    assert value == pytest.approx(expected, rel=1e-3, abs=2 * error)


@for_every_model(2)
def test_the_least_risk_is_concave_in_the_decay(found):
    """A minimum of functions that are linear in it."""
    points = [
        solve(replace(found.problem, lambda_=found.problem.lambda_ * scale), found)
        for scale in (0.7, 1.0, 1.3)
    ]
    low, middle, high = (point.free_entropy for point in points)
    assert low + high - 2 * middle <= 2 * sum(point.errors["free_entropy"] for point in points)


@for_every_model(2)
def test_a_target_of_another_scale_is_learned_alike(found):
    """S0 -> s S0 with its noise is the same problem at beta/s, lambda/s (mu/s^2); without
    temperatures the risk goes like s^2.
    """
    problem, s = found.problem, 1.3
    if problem.model in ("sign_quadratic_logistic", "sign_quadratic_hinge"):
        return  # their margin of one is a scale
    shape = models.structure(problem.model)
    target = problem.target.scaled(s)
    heated = bool(heats_of(problem.model))
    # A linear cost of S goes like lambda s, a quadratic one like lambda s^2; the loss is unchanged,
    # or goes like s^2.
    power = (1 if shape.has_linear_penalty else 2) - (0 if heated else 2)
    changed = {key: getattr(problem, key) / s for key in heats_of(problem.model)}
    extra = tuple(
        (key, value / s ** (2 if heated and key in shape.penalty_settings else 0))
        for key, value in problem.extra
    )
    other = replace(
        problem,
        target=target,
        noise=problem.noise * s**2,
        lambda_=problem.lambda_ / s**power,
        extra=extra,
        **changed,
    )
    scaled = solve(other)
    risk = 1 if heated else s**2
    for name, factor in (
        ("m", s**2),
        ("q", s**2),
        ("train_error", risk),
        ("test_error", risk),
        ("free_entropy", risk),
    ):
        bar = factor * found.errors[name] + scaled.errors[name]
        assert getattr(scaled, name) == pytest.approx(
            factor * getattr(found, name), rel=1e-8, abs=2 * bar
        ), name


@for_every_model(3)
def test_bounds_of_overlaps_and_errors(found):
    """Cauchy and Schwarz; a trained sample fits better than a fresh one, and the risk is the loss
    and the penalty.
    """
    problem = found.problem
    assert found.m**2 <= found.q * problem.q0 * (1 + 1e-12)
    assert 0 < found.train_error < found.test_error
    assert problem.alpha * found.train_error < found.free_entropy
    # What norms of tokens add may exceed a weak target.
    assert found.denoising_error >= 0
    # A student that is not told signs learns less than nothing from few samples.
    known = found.norms or problem.model in ("phase_retrieval", "signed_phase_retrieval")
    assert known or found.denoising_error <= problem.q0 * (1 + 1e-9)
