"""Identities of the physics; each past failure is pinned as an example."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pair_channel import average
from scipy.optimize import brentq, minimize_scalar
from strategies import examples, kappa0s, laws, log_uniform, problems, thresholds, variances

from numeric.channel.softmax.pair_average import COARSE
from numeric.laws.law import Target, edge_grid
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.target_spectrum import target_density, target_edges
from numeric.model import float64 as generated
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution, Status
from numeric.proven_laws.finite import FiniteLaw, exact_list
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.saddle.solve import solve
from numeric.studies.spectrum import learned_spectrum
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery

UNLIMITED = 10.0  # a width that never limits the rank
# Closed forms in float64 cancel: measured worst relative error 3e-11 of the scale b^2 + v + q0 for
# v >= 1e-3.
CLOSED_FORM = 1e-9
# Thresholds agree in all digits asked for, up to rounding of the last.
DIGITS = 25


def energy(v: float, b: float, law: Target):
    return law.energy(v, b, UNLIMITED)


def scale_of(v: float, b: float, law: Target) -> float:
    return b**2 + v + law.q0


@cache
def solved(problem: Problem) -> Solution:
    """A solution; of a point whose channel the solver says that it does not resolve no law is
    asked.
    """
    solution = solve(problem)
    assume(solution.status is not Status.INACCURATE)
    return solution.unwrap()


# Spectral identities.


@pytest.mark.identity
@given(law=laws, v=variances, b=thresholds, s=log_uniform(0.2, 5.0))
def test_spectral_energy_scales_with_the_target(law, v, b, s):
    scaled = law.scaled(s)
    left, right = energy(s**2 * v, s * b, scaled), energy(v, b, law)
    tolerance = CLOSED_FORM * scale_of(v, b, law)
    assert pytest.approx(s**2 * right.J, abs=s**2 * tolerance) == left.J
    assert left.J_v == pytest.approx(right.J_v, abs=tolerance / v)
    assert left.J_b == pytest.approx(s * right.J_b, abs=s * tolerance / np.sqrt(v))


@pytest.mark.identity
@given(law=laws, v=variances)
@example(law=MarchenkoPastur(3.0), v=0.1)
def test_moments_of_the_noisy_law_follow_from_free_cumulants(law, v):
    """Left of the support J = E (x - b)^2, J_b = -2 E (x - b), J_v = 1, mass 1: cumulants add under
    free convolution.
    """
    b = law.support(v)[0][0] - 0.5
    mean, second = law.t0, law.q0
    found, tolerance = energy(v, b, law), CLOSED_FORM * scale_of(v, b, law)
    assert pytest.approx(second + v - 2 * b * mean + b**2, abs=tolerance) == found.J
    assert found.J_b == pytest.approx(-2 * (mean - b), abs=tolerance / np.sqrt(v))
    assert found.J_v == pytest.approx(1, abs=tolerance / v)
    assert found.mass == pytest.approx(1, abs=tolerance / v)


@pytest.mark.identity
@given(law=laws, b=st.floats(0.05, 2.0))
def test_without_noise_the_energy_is_that_of_the_target(law, b):
    low, high = target_edges(law)
    x, weights = edge_grid(max(low, min(b, high)), high, 4000)
    expected = float(np.sum(weights * target_density(x, law) * (x - b) ** 2)) if high > b else 0.0
    v = 1e-4
    # J is smooth in v with slope J_v <= 1; the quadrature of a density cut at b errs by about 1e-5.
    assert pytest.approx(expected, abs=1.1 * v + 1e-4 * scale_of(v, b, law)) == energy(v, b, law).J


@pytest.mark.identity
@given(law=laws, v=variances, b=thresholds)
def test_closed_forms_are_integrals_of_the_density(law, v, b):
    total, mass, energy_above = 0.0, 0.0, 0.0
    for low, high in law.support(v):
        x, weights = edge_grid(low, high, 4000)
        density = law.density(v, x)
        assert np.all(density >= 0)
        total += np.sum(weights * density)
        mass += np.sum(weights * density * (x > b))
        energy_above += np.sum(weights * density * np.clip(x - b, 0, None) ** 2)
    found = energy(v, b, law)
    assert total == pytest.approx(
        1, abs=1e-5
    )  # the density has square-root edges: Chebyshev nodes err by ~1/4000^2
    assert found.mass == pytest.approx(mass, abs=2e-3)  # b cuts between two nodes
    assert pytest.approx(energy_above, abs=1e-5 * scale_of(v, b, law)) == found.J


@pytest.mark.identity
@given(law=laws, v=variances, b=thresholds, step=st.floats(0.01, 1.0))
def test_mass_is_a_decreasing_probability(law, v, b, step):
    here, beyond = energy(v, b, law).mass, energy(v, b + step, law).mass
    assert -CLOSED_FORM / v <= beyond <= here + CLOSED_FORM / v <= 1 + 2 * CLOSED_FORM / v


@pytest.mark.identity
@examples(300)
@given(law=laws, v=variances)
def test_the_law_ends_at_its_edges(law, v):
    """Found at kappa0 = 1, width .75: polishing the double root of an edge once threw it onto
    another root.
    """
    low, high = law.support(v)[0][0], law.support(v)[-1][1]
    masses = [law.mass_above(v, x) for x in (low, high)]
    # The mass beyond an edge displaced by its rounding error eps is eps^(3/2), on top of the closed
    # form's own error.
    assert masses == pytest.approx([1, 0], abs=CLOSED_FORM / v + 1e-7)


@pytest.mark.identity
@given(law=laws, v=log_uniform(0.05, 10), b=thresholds, width=st.floats(0.05, 0.95))
def test_derivatives_of_the_energy_are_differences(law, v, b, width):
    """J_v and J_b against central differences, with and without a rank limit."""
    h = 1e-4
    for limit in (UNLIMITED, width):
        here = law.energy(v, b, limit)
        along_v = [law.energy(v + sign * h * v, b, limit).J for sign in (1, -1)]
        along_b = [law.energy(v, b + sign * h, limit).J for sign in (1, -1)]
        # Differences err by h^2 times a third derivative, and by rounding over h; J_vv is singular
        # like a square root where b meets an edge, which costs h^(1/2) of the second derivative
        # there.
        tolerance = 2e-4 * scale_of(v, b, law)
        assert here.J_v == pytest.approx((along_v[0] - along_v[1]) / (2 * h * v), abs=tolerance / v)
        assert here.J_b == pytest.approx((along_b[0] - along_b[1]) / (2 * h), abs=tolerance)


@pytest.mark.identity
@given(law=laws, v=variances, b=thresholds, width=st.floats(0.05, 0.95))
def test_a_rank_limit_lowers_the_energy_and_vanishes_where_it_does_not_act(law, v, b, width):
    limited, free = law.energy(v, b, width), energy(v, b, law)
    assert free.J + CLOSED_FORM * scale_of(v, b, law) >= limited.J
    assert (limited.quantile is None) == (free.mass <= width)
    if limited.quantile is not None:
        assert limited.quantile > b
        assert energy(v, limited.quantile, law).mass == pytest.approx(width, abs=1e-9)


@pytest.mark.parametrize("width", [1e-5, 1e-4, 0.5])
def test_a_rank_limit_also_acts_just_below_the_edge(width):
    """There the closed forms are evaluated at many digits, and the limit was once forgotten."""
    law, v = MarchenkoPastur(0.5), 1.0
    low, high = law.support(v)[-1]
    b = high - 0.005 * (high - low)
    limited, free = law.energy(v, b, width), energy(v, b, law)
    assert (limited.quantile is None) == (free.mass <= width)
    assert limited.mass == pytest.approx(min(width, free.mass))
    assert limited.J <= free.J


@pytest.mark.identity
@given(law=laws, v=variances)
def test_interpolation_energy_exceeds_the_second_moment_and_grows(law, v):
    """E(v) = J - v J_v at b = 0: E - q0 = delta psi(delta) with psi >= 0 nondecreasing, so its root
    is unique.
    """
    second = law.q0
    values = [(lambda e, w: e.J - w * e.J_v)(energy(w, 0.0, law), w) - second for w in (v, 1.5 * v)]
    tolerance = CLOSED_FORM * scale_of(v, 0.0, law)
    assert values[0] >= -tolerance
    assert values[1] / np.sqrt(1.5) >= values[0] - tolerance


# Thresholds.

rationals = st.fractions(Fraction(1, 50), Fraction(4), max_denominator=60)
noises = st.fractions(Fraction(1, 100), Fraction(5), max_denominator=100)
eigenvalue_lists = st.lists(st.fractions(0, 5, max_denominator=20), min_size=2, max_size=6).filter(
    any
)


def free_poisson(kappa0: Fraction):
    return exact_marchenko_pastur(kappa0)


def equal_weights(eigenvalues) -> FiniteLaw:
    return exact_list(eigenvalues, [Fraction(1, len(eigenvalues))] * len(eigenvalues))


@pytest.mark.identity
@examples(30)
@given(
    kappa0=rationals,
    noise=noises,
    factor=st.fractions(Fraction(11, 10), Fraction(4), max_denominator=20),
)
def test_interpolation_threshold_decreases_with_noise(kappa0, noise, factor):
    weak, strong = (
        interpolation(free_poisson(kappa0), level, digits=DIGITS)
        for level in (noise, noise * factor)
    )
    assert float(strong) < float(weak)


@pytest.mark.identity
@examples(30)
@given(kappa0=rationals, noise=noises, tokens=st.integers(2, 9))
def test_tokens_enter_thresholds_only_through_the_numbers_in_a_label(kappa0, noise, tokens):
    law, ratio = free_poisson(kappa0), Fraction(tokens * (tokens + 1), 2) - 1
    for two, more in (
        (interpolation(law, noise, 2, DIGITS), interpolation(law, noise, tokens, DIGITS)),
        (recovery(law, 2, DIGITS), recovery(law, tokens, DIGITS)),
        (bayes_recovery(law, 2, DIGITS), bayes_recovery(law, tokens, DIGITS)),
    ):
        left, right = 2 * Fraction(two.value), ratio * Fraction(more.value)
        assert abs(left - right) <= Fraction(10) ** (1 - DIGITS) * ratio


@pytest.mark.identity
@examples(30)
@given(kappa0=st.fractions(Fraction(1, 40), Fraction(39, 40), max_denominator=80))
def test_recovery_lies_between_the_bayes_optimum_and_weak_noise_interpolation(kappa0):
    law = free_poisson(kappa0)
    k = float(kappa0)
    assert float(bayes_recovery(law, 2, DIGITS)) == pytest.approx((k - k**2 / 2) / 2, rel=1e-12)
    assert (
        float(bayes_recovery(law, 2, DIGITS))
        < float(recovery(law, 2, DIGITS))
        < (k - k**2 / 2 + (1 - k) ** 2 / 4) / 2
    )


@pytest.mark.identity
@examples(20)
@given(kappa0=st.fractions(Fraction(1, 40), Fraction(39, 40), max_denominator=80))
def test_recovery_is_the_least_sample_ratio_over_the_spectral_threshold(kappa0):
    least = minimize_scalar(
        lambda t: generated.recovery_energy(t, 1 - float(kappa0)) / 4,
        bounds=(1e-3, np.pi / 2),
        method="bounded",
    )
    # A minimum is flat: an angle known to 1e-6 gives its value to 1e-12.
    assert float(recovery(free_poisson(kappa0), 2, DIGITS)) == pytest.approx(least.fun, rel=1e-9)


@pytest.mark.identity
@examples(20)
@given(eigenvalue=st.fractions(Fraction(1, 20), 5, max_denominator=20), noise=noises)
def test_interpolation_at_equal_eigenvalues_is_that_of_a_scaled_semicircle(eigenvalue, noise):
    """The noisy law is a semicircle around s: J and J_v by quadrature of its density, in units of
    s.
    """
    found = float(interpolation(exact_list([eigenvalue], [Fraction(1)]), noise, digits=DIGITS))
    s = float(eigenvalue)

    def moments(v):
        x, weights = edge_grid(s - 2 * np.sqrt(v), s + 2 * np.sqrt(v), 20_000)
        density = weights * np.sqrt(4 * v - (x - s) ** 2) / (2 * np.pi * v) * (x > 0)
        return float(np.sum(density * x**2)), float(
            np.sum(density * x * (x - s)) / v
        )  # Re g = (x - s)/(2 v)

    def residual(v):
        J, J_v = moments(v)
        return J - v * J_v - s**2 - float(noise) / 2

    v = brentq(residual, s**2 / 4, 1e4 * (s**2 + float(noise)))
    assert found == pytest.approx(
        moments(v)[1] / 4, rel=1e-4
    )  # the grid cuts the density at 0 to 1/20000 of its width


@pytest.mark.identity
@examples(10)
@given(eigenvalues=eigenvalue_lists, noise=noises, data=st.data())
def test_permuting_or_merging_eigenvalues_changes_nothing(eigenvalues, noise, data):
    value = interpolation(equal_weights(eigenvalues), noise, digits=DIGITS).value
    assert (
        interpolation(
            equal_weights(data.draw(st.permutations(eigenvalues))), noise, digits=DIGITS
        ).value
        == value
    )
    doubled = [x for x in eigenvalues for _ in range(2)]
    assert interpolation(equal_weights(doubled), noise, digits=DIGITS).value == value


# Channel.


@pytest.mark.identity
@examples(6)
@given(s=log_uniform(0.3, 3.0), V=log_uniform(0.1, 5.0), overlap=st.floats(0.2, 0.9))
def test_channel_is_invariant_under_a_change_of_the_index_unit(s, V, overlap):
    rho, q = 1.75, 1.3
    m = overlap * np.sqrt(q * rho)
    here = average(m, q, V, rho, 1.0, 1.2, COARSE)
    there = average(s**2 * m, s**2 * q, s**2 * V, s**2 * rho, 1.0 / s, 1.2 / s, COARSE)
    # Same nodes, same samples; only decisions at a tie between branches may differ.
    assert pytest.approx(here.M, rel=1e-6) == there.M
    assert there.test_error == pytest.approx(here.test_error, rel=1e-9)
    assert there.dM_dq * s**2 == pytest.approx(here.dM_dq, rel=1e-4)


# Solutions.

few = examples(5)
RULE = COARSE.refined()


@pytest.mark.identity
@few
@given(problem=problems)
@example(
    problem=Problem(
        alpha=float(np.e),
        target=MarchenkoPastur(1.0),
        lambda_=0.08053591588433466,
        noise=0.9921875,
        width=0.75,
        beta=0.99999,
        beta0=1.6,
    )
)
def test_free_entropy_is_stationary_at_a_solution(problem):
    check_stationary(solved(problem))


@pytest.mark.slow
def test_free_entropy_is_stationary_where_little_decay_meets_much_noise():
    """The coarse rule errs by more than 1e-3 there."""
    problem = Problem(
        1.0, MarchenkoPastur(1.0), np.exp(-5), 1.0, width=0.4, beta=0.8789604271746931, beta0=1.5
    )
    check_stationary(solve(problem).unwrap())


def check_stationary(solution):
    """Differences of e in each of its six variables, on the envelope's own quadrature."""
    problem = solution.problem
    names = ("m", "q", "V", "mh", "qh", "Vh")
    values = {name: getattr(solution, name) for name in names}

    @cache  # which half of the variables do not enter
    def envelope(m: float, q: float, V: float) -> float:
        return average(m, q, V, problem.rho, problem.beta, problem.beta0, RULE).M

    def e(**moved: float) -> float:
        at = {**values, **moved}
        v, b, _ = generated.reduced_variables(
            at["mh"], at["qh"], at["Vh"], problem.lambda_, problem.width
        )
        J = problem.target.energy(v, b, problem.width).J
        M = envelope(at["m"], at["q"], at["V"])
        return float(generated.free_entropy(problem.alpha, M, *(at[name] for name in names), J))

    e_scale = problem.alpha * envelope(values["m"], values["q"], values["V"])
    terms = (
        e_scale
        + values["m"] * values["mh"]
        + values["q"] * values["Vh"]
        + values["V"] * values["qh"]
    )
    for name in names:
        h = 1e-3 * values[name]
        if name == "m":  # stay inside m^2 < q rho
            h = min(h, 0.05 * (np.sqrt(values["q"] * problem.rho) - values["m"]))
        slope = (e(**{name: values[name] + h}) - e(**{name: values[name] - h})) / (2 * h)
        # d e/d log(name) relative to the terms that cancel in it: quadrature error, at most 3e-4 of
        # 170 points of the box.
        assert abs(slope * values[name]) < 1e-3 * terms, name


@pytest.mark.identity
@few
@given(problem=problems)
def test_overlaps_obey_cauchy_schwarz_and_errors_their_order(problem):
    solution = solved(problem)
    assert solution.m**2 <= solution.q * problem.q0
    assert solution.estimation_error >= 0
    assert 0 <= solution.train_error <= solution.test_error
    assert solution.V > 0


@pytest.mark.identity
@few
@given(problem=problems)
def test_second_moment_of_the_learned_spectrum_is_the_overlap(problem):
    solution = solved(problem)
    spectrum = learned_spectrum(solution, 2000)
    # Chebyshev nodes on square-root edges; with a rank limit the density is cut at a finite value,
    # error ~1/points.
    tolerance = (
        1e-6
        if solution.quantile is None
        and solution.b < problem.target.support(solution.delta**2)[0][0]
        else 2e-3
    )
    assert spectrum.second_moment == pytest.approx(solution.q, rel=tolerance)
    assert 0 <= spectrum.zero_mass <= 1
    assert np.all(spectrum.x >= 0) and np.all(spectrum.density >= 0)


@pytest.mark.identity
@few
@given(problem=problems, width=st.floats(1.0, 4.0))
def test_a_width_above_one_only_rescales_weight_decay(problem, width):
    wide = solved(replace(problem, width=width))
    one = solved(replace(problem, width=1.0, lambda_=problem.lambda_ * np.sqrt(width)))
    assert wide.m == pytest.approx(one.m, rel=1e-6)  # both solved to 1e-8 on the same quadrature
    assert wide.train_error == pytest.approx(one.train_error, rel=1e-6)


def test_the_unlearned_phase_is_reported_as_such():
    solution = solve(Problem(alpha=0.5, target=MarchenkoPastur(0.5), lambda_=50.0, noise=0.5))
    assert solution.status is Status.UNLEARNED
    assert (solution.m, solution.q, solution.V) == (0.0, 0.0, 0.0)
    assert solution.estimation_error == pytest.approx(1.5)
    assert solution.unwrap() is solution


def test_the_unlearned_phase_ends_where_the_threshold_meets_the_edge():
    """Just below the boundary the solution is small but not zero, and continuous."""
    inside = Problem(alpha=0.5, target=MarchenkoPastur(0.5), lambda_=0.5, noise=0.5)
    zero = solve(replace(inside, lambda_=50.0))
    edge = inside.target.support(zero.delta**2)[-1][1]
    critical = 50.0 * edge / zero.b
    above, below = (
        solve(replace(inside, lambda_=1.001 * critical)),
        solve(replace(inside, lambda_=0.97 * critical)),
    )
    assert above.status is Status.UNLEARNED
    assert below.status is Status.CONVERGED
    assert 0 < below.q < 0.05


@pytest.mark.identity
@given(kappa0=kappa0s)
def test_the_target_density_has_the_moments_of_the_law(kappa0):
    law = MarchenkoPastur(kappa0)
    x, weights = edge_grid(*target_edges(law), 4000)
    masses = weights * target_density(x, law)
    mean, second = law.t0, law.q0
    assert masses.sum() == pytest.approx(
        min(1, kappa0), rel=1e-3
    )  # 1/sqrt(x) at the lower edge near kappa0 = 1
    assert masses @ x == pytest.approx(mean, rel=1e-5)
    assert masses @ x**2 == pytest.approx(second, rel=1e-5)
