"""The question of the curve in the other direction: at the sample ratio that is found, the curve
meets the value.
"""

from dataclasses import replace

import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric import (
    Eigenvalues,
    MarchenkoPastur,
    Problem,
    decompose,
    finite_rank,
    learned_spectrum,
    optimal_lambda,
    power_law,
    samples_for,
    solve,
)
from numeric.studies.samples import COUNT_TOLERANCE, NotReached

BASE = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.05, noise=0.5)
NETWORK = replace(BASE, model="quadratic_network")
#: Ten settings: problem, quantity, value.
SETTINGS = [
    (BASE, "test_error", 0.1),
    (BASE, "estimation_error", 0.3),
    (BASE, "excess", 0.05),
    (replace(BASE, noise=0.0), "test_error", 0.02),
    (replace(BASE, target=power_law(0.75, 60), lambda_=0.01), "estimation_error", 0.1),
    (replace(BASE, width=0.3), "test_error", 0.11),
    (NETWORK, "test_error", 2.0),
    (NETWORK, "excess", 0.2),
    (replace(NETWORK, lambda_=0.0), "estimation_error", 0.1),
    (replace(BASE, target=Eigenvalues([0, 1, 3], [0.8, 0.1, 0.1])), "estimation_error", 0.2),
]


def value(solution, quantity):
    if quantity == "excess":
        return solution.test_error - decompose(solution).least
    return getattr(solution, quantity)


@pytest.mark.parametrize(("problem", "quantity", "wanted"), SETTINGS)
def test_the_curve_meets_the_value_within_the_error_bars(problem, quantity, wanted):
    found = samples_for(problem, **{quantity: wanted})
    name = "test_error" if quantity == "excess" else quantity
    cold = solve(problem.at(found.alpha))
    assert abs(value(cold, quantity) - wanted) <= 2 * cold.errors[name] + 1e-8 * wanted
    before, after = (solve(problem.at(found.alpha + s * found.error)) for s in (-1, 1))
    assert 0 < found.error < 1e-3 * found.alpha
    assert value(after, quantity) - 2 * after.errors[name] <= wanted
    assert value(before, quantity) + 2 * before.errors[name] >= wanted
    assert found.samples(100) == pytest.approx(found.alpha * 1e4, abs=1)


def test_recovered_eigenvalues_are_outside_the_bulk_from_there_on():
    problem = replace(BASE, target=finite_rank((5, 3, 2), 50))
    alphas = []
    for count in (1, 2, 3):
        found = samples_for(problem, recovered=count)
        alphas.append(found.alpha)
        assert len(learned_spectrum(found.solution).outliers) == count
        just_below = solve(problem.at(found.alpha * (1 - 10 * COUNT_TOLERANCE)))
        assert len(learned_spectrum(just_below).outliers) == count - 1
    assert alphas == sorted(alphas)


@pytest.mark.slow
def test_the_best_decay_needs_fewer_samples_and_meets_the_value():
    given, best = (samples_for(NETWORK, test_error=2.0, best_decay=one) for one in (False, True))
    assert best.alpha < given.alpha
    optimum = optimal_lambda(NETWORK.at(best.alpha), 1e-3)
    assert optimum.solution.test_error == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"test_error": 0.01}, "not reached: the limit of many samples is 0.07408"),
        ({"test_error": 10.0}, "reached with hardly any samples"),
        ({"recovered": 3}, "not reached: the limit of many samples is 0"),
    ],
)
def test_what_is_not_reached_says_the_limit(stated, said):
    with pytest.raises(NotReached, match=said):
        samples_for(BASE, **stated)


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"test_error": -1.0},
        {"test_error": 0.1, "excess": 0.1},
        {"recovered": 0},
        {"recovered": 1.5},
    ],
)
def test_one_positive_value_is_given(stated):
    with pytest.raises(InvalidParameter):
        samples_for(BASE, **stated)
