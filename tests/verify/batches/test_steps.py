"""What an L-BFGS step is made of, element by element: the direction from past steps, and the step
along a line.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from verify.batches.curvature import PastSteps
from verify.batches.line_search import CURVATURE, DECREASE, TRIALS, Bracket, LinePoint


def inverse_hessian(pairs, size):
    """BFGS updates of gamma times the identity, one pair after the other, as textbooks write
    them.
    """
    if not pairs:
        return np.eye(size)
    step, change = pairs[-1]
    h = np.eye(size) * (step @ change) / (change @ change)
    for step, change in pairs:
        v = np.eye(size) - np.outer(change, step) / (step @ change)
        h = v.T @ h @ v + np.outer(step, step) / (step @ change)
    return h


@given(seed=st.integers(0, 10**6), pushes=st.integers(0, 9), memory=st.integers(1, 5))
def test_a_direction_is_that_of_the_updates_of_bfgs(seed, pushes, memory):
    """Each element with a memory of its own: some pairs are pushed for some of them only, and one
    forgets everything once.
    """
    rng, count, size = np.random.default_rng(seed), 3, 7
    factors = rng.standard_normal((count, size, size)) / np.sqrt(size)
    hessians = np.eye(size) + factors @ factors.swapaxes(1, 2)
    past, pairs = (
        PastSteps(memory, torch.zeros(count, size, dtype=torch.float64)),
        [[] for _ in range(count)],
    )
    for push in range(pushes):
        which = rng.random(count) < 0.7
        steps = rng.standard_normal((count, size))
        changes = np.einsum("bij,bj->bi", hessians, steps)
        past.push(*map(torch.as_tensor, (which, steps, changes)))
        for element in np.flatnonzero(which):
            pairs[element].append((steps[element], changes[element]))
        if push == 3:
            past.forget(torch.tensor([False, True, False]))
            pairs[1].clear()
    gradients = rng.standard_normal((count, size))
    found = past.descent(torch.as_tensor(gradients)).numpy()
    for element in range(count):
        expected = -inverse_hessian(pairs[element][-memory:], size) @ gradients[element]
        np.testing.assert_allclose(
            found[element], expected, rtol=1e-8, atol=1e-9 * np.linalg.norm(expected)
        )


def bowl(scale, middle):
    return lambda t: scale * (t - middle) ** 2, lambda t: 2 * scale * (t - middle)


def flat_then_steep(scale, middle):
    return lambda t: scale * (np.cosh(t - middle)), lambda t: scale * np.sinh(t - middle)


def rippled(scale, middle):
    """Falls over all, in waves."""
    return (
        lambda t: scale * ((t - middle) ** 2 / 50 - np.sin(t - middle) / 4),
        lambda t: scale * ((t - middle) / 25 - np.cos(t - middle) / 4),
    )


LINES = st.builds(
    lambda line, scale, middle: line(10.0**scale, middle),
    st.sampled_from([bowl, flat_then_steep, rippled]),
    st.floats(-3, 3),
    st.floats(0.01, 30),
)


@given(lines=st.lists(LINES, min_size=1, max_size=5))
def test_a_search_ends_where_the_wolfe_conditions_hold(lines):
    """Each element's own line, the first step being 1; lines that rise from the start are turned
    around.
    """

    def at(steps):
        values, slopes = zip(
            *(
                (value(float(t)), slope(float(t)))
                for (value, slope), t in zip(lines, steps, strict=True)
            ),
            strict=True,
        )
        return LinePoint(
            steps.clone(), *(torch.tensor(x, dtype=torch.float64) for x in (values, slopes))
        )

    start = at(torch.zeros(len(lines), dtype=torch.float64))
    if (start.slope >= 0).any():
        return
    bracket, steps = (
        Bracket.at(start.value, start.slope),
        torch.ones(len(lines), dtype=torch.float64),
    )
    done = torch.zeros(len(lines), dtype=torch.bool)
    for _ in range(TRIALS):
        trial = at(steps)
        accepted = bracket.accepts(trial, 1e-15)
        lower = (
            trial.value
            <= start.value + DECREASE * trial.step * start.slope + 1e-15 * start.value.abs()
        )
        assert (lower & (trial.slope.abs() <= CURVATURE * start.slope.abs()))[accepted].all()
        done |= accepted
        narrowed, following = bracket.narrowed(trial)
        bracket, steps = bracket.where(done, narrowed), torch.where(done, steps, following)
        if done.all():
            return
    raise AssertionError(f"no step was accepted on {int((~done).sum())} lines")


def test_where_losses_are_alike_the_slope_decides():
    bracket = Bracket.at(*(torch.tensor([x], dtype=torch.float64) for x in (1.0, -1e-3)))
    trial = LinePoint(*(torch.tensor([x], dtype=torch.float64) for x in (1.0, 1.0 + 1e-15, 1e-4)))
    assert bool(bracket.accepts(trial, 1e-14)) and not bool(bracket.accepts(trial, 1e-16))
    assert not bool(
        bracket.accepts(trial._replace(slope=torch.tensor([9e-4])), 1e-14)
    )  # climbs as steeply as it fell


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_trial_that_is_not_finite_is_stepped_back_from(bad):
    bracket = Bracket.at(*(torch.tensor([x], dtype=torch.float64) for x in (1.0, -1.0)))
    trial = LinePoint(*(torch.tensor([x], dtype=torch.float64) for x in (1.0, bad, bad)))
    assert not bool(bracket.accepts(trial, 1e-14))
    assert float(bracket.narrowed(trial)[1]) == 0.5
