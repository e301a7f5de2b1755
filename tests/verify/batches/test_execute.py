"""Runs trained together end where each alone does, and say so in the same way."""

import dataclasses

import numpy as np
import pytest
import torch
from devices import DEVICES
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.batches.descent import minimise_batch
from verify.batches.execute import execute_batch
from verify.batches.memory import budget_of, plan_batch
from verify.batches.risk import StackedRisk
from verify.batches.shape import BatchShape
from verify.batches.stack import Stack
from verify.core.draw import draw
from verify.core.measure import execute
from verify.core.minimise import MINIMISERS, DescentStatus, Lbfgs
from verify.core.run import Run

BASE = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=12)
TINY = BASE.varied(dim=6)
MEASURED = ("m", "q", "train_error", "test_error", "loss")
#: Labels that determine S, and fewer whose minimum the penalty makes the only one.
SETTINGS = [
    *(
        {"alpha": alpha, "data": data}
        for alpha in (0.15, 1.5)
        for data in ("sequences", "gaussian-equivalent")
    ),
    *(
        {"alpha": alpha, "parametrisation": what}
        for alpha in (0.15, 1.5)
        for what in ("symmetric", "general")
    ),
    {"alpha": 1.5, "width": 0.5},
    {"alpha": 0.15, "tokens": 3},
    {"alpha": 0.5, "output": "sequences"},
    {"alpha": 0.3, "lambda_": 0.002, "minimiser": "lbfgs-weak"},
]


def measured(results):
    return np.array([[getattr(result, name) for name in MEASURED] for result in results])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_together_or_alone_runs_reach_the_same_minimum(setting, device):
    """Each descent ends within 5e-5 of its limit (5e-4 for the weak decay), two within twice
    that.
    """
    runs = [BASE.varied(**setting, index=index, device=device) for index in range(3)]
    alone, together = [execute(run) for run in runs], execute_batch(runs)
    assert [result.run for result in together] == runs
    assert {result.status for result in together} == {DescentStatus.CONVERGED}
    minimiser = MINIMISERS[setting.get("minimiser", "lbfgs")]()
    within = 1e-3 if setting.get("minimiser") == "lbfgs-weak" else 1e-4
    np.testing.assert_allclose(measured(together), measured(alone), rtol=within)
    for one, other in zip(alone, together, strict=True):
        assert (other.q0, other.t0) == pytest.approx((one.q0, one.t0), rel=1e-12)  # the same target
        assert other.best_error == pytest.approx(one.best_error, rel=1e-10)  # the same test samples
        assert other.relative_gradient <= minimiser.tolerance


@pytest.mark.parametrize("data", ["sequences", "gaussian-equivalent"])
def test_where_labels_determine_the_map_the_steps_are_those_of_one_run(data):
    """So the data are the same, the decay, the temperature, and the number of evaluations, though
    none of it is the others'.
    """
    runs = [
        BASE.varied(alpha=1.5, data=data),
        BASE.varied(alpha=1.5, data=data, lambda_=0.2, entropy=5),
        BASE.varied(alpha=1.5, data=data, beta=1.4, noise=0.1, shuffle_labels=True),
    ]
    alone, together = [execute(run) for run in runs], execute_batch(runs)
    np.testing.assert_allclose(measured(together), measured(alone), rtol=1e-9)
    assert [result.evaluations for result in together] == [result.evaluations for result in alone]


@given(
    order=st.permutations(range(4)), alpha=st.sampled_from([0.2, 1.5]), entropy=st.integers(0, 9)
)
@examples(2)
def test_the_order_and_the_number_of_runs_do_not_matter(order, alpha, entropy):
    runs = [TINY.varied(alpha=alpha, index=index, entropy=entropy) for index in range(4)]
    together, permuted = execute_batch(runs), execute_batch([runs[place] for place in order])
    one_by_one = [result for run in runs for result in execute_batch([run])]
    within = (
        1e-9 if alpha > 1 else 2e-5
    )  # on the long way below interpolation rounding grows to the tolerance
    np.testing.assert_allclose(measured(permuted), measured(together)[list(order)], rtol=within)
    np.testing.assert_allclose(measured(together), measured(one_by_one), rtol=within)


def test_memory_for_fewer_runs_or_samples_at_a_time_gives_the_same():
    runs = [TINY.varied(alpha=1.5, index=index) for index in range(3)]
    shape = BatchShape.of(runs[0])
    least = shape.run_bytes + shape.input_bytes + shape.sample_bytes()
    assert plan_batch(shape, 3, least)[:2] == (1, 1)
    np.testing.assert_allclose(
        measured(execute_batch(runs, budget=least)), measured(execute_batch(runs)), rtol=1e-9
    )


def prepared(runs, samples=20):
    drawn, stack = [draw(run) for run in runs], Stack(BatchShape.of(runs[0]), len(runs), samples)
    for place, one in enumerate(drawn):
        stack.put(place, one.inputs, one.labels)
    return StackedRisk.of(runs, stack), torch.stack([one.start for one in drawn])


def test_descents_cut_short_say_so():
    found = minimise_batch(*prepared([TINY, TINY.varied(index=1)]), Lbfgs(max_steps=5))
    assert [(minimum.status, minimum.evaluations) for minimum in found.minima] == 2 * [
        (DescentStatus.MAX_STEPS, 5)
    ]


@pytest.mark.parametrize("alpha", [0.2, 1.5])
def test_a_loss_that_is_not_finite_ends_one_run_and_no_other(alpha):
    risk, start = prepared([TINY.varied(alpha=alpha, index=index) for index in range(3)])
    start[1] = torch.inf
    statuses = [minimum.status for minimum in minimise_batch(risk, start, Lbfgs()).minima]
    assert statuses == [DescentStatus.CONVERGED, DescentStatus.DIVERGED, DescentStatus.CONVERGED]


def test_a_tolerance_out_of_reach_is_not_called_converged():
    found = minimise_batch(
        *prepared([TINY, TINY.varied(index=1)]),
        Lbfgs(tolerance=1e-30, max_steps=1000),
    )
    assert {minimum.status for minimum in found.minima} == {DescentStatus.STALLED}
    assert max(minimum.relative_gradient for minimum in found.minima) < 1e-11


def test_heavy_weight_decay_gives_the_zero_map():
    (result,) = execute_batch([TINY.varied(lambda_=100.0)])
    assert result.status is DescentStatus.CONVERGED and result.q < 1e-6


def test_nothing_is_trained_where_nothing_is_asked_for():
    assert execute_batch([]) == []


@pytest.mark.parametrize(
    "changes", [{"dim": 8}, {"alpha": 0.7}, {"width": 0.5}, {"minimiser": "lbfgs-weak"}], ids=str
)
def test_runs_of_other_shapes_are_refused(changes):
    with pytest.raises(InvalidParameter, match="differ in shape"):
        execute_batch([TINY, TINY.varied(**changes)])


@pytest.mark.parametrize("minimiser", ["adam", "proximal"])
def test_minimisers_without_batches_are_refused(minimiser):
    with pytest.raises(InvalidParameter, match="does not support batches"):
        execute_batch([TINY.varied(minimiser=minimiser)])


def test_what_does_not_fit_is_refused_before_it_is_drawn():
    with pytest.raises(
        InvalidParameter,
        match=r"dim = 6: one run of 36 samples takes .* GiB, 9.31e-10 GiB are free; lower it",
    ):
        execute_batch([TINY], budget=1)


@given(
    dim=st.integers(4, 300),
    alpha=st.floats(0.01, 20),
    tokens=st.integers(2, 5),
    count=st.integers(1, 100),
    budget=st.floats(5, 11).map(lambda digits: int(10**digits)),
)
def test_plans_stay_within_the_budget_and_use_it(dim, alpha, tokens, count, budget):
    shape = BatchShape.of(
        Run(dataclasses.replace(BASE.problem, alpha=alpha, tokens=tokens), dim=dim)
    )
    try:
        plan = plan_batch(shape, count, budget)
    except InvalidParameter:
        assert shape.run_bytes + shape.input_bytes + shape.sample_bytes() > budget
        return
    assert 1 <= plan.runs <= count and 1 <= plan.samples <= shape.samples and plan.bytes <= budget
    assert plan_batch(shape, count, 2 * budget).runs >= plan.runs


def test_inputs_take_the_bytes_that_are_planned():
    for data in ("sequences", "gaussian-equivalent"):
        shape = BatchShape.of(BASE.varied(data=data, tokens=3))
        blocks = Stack(shape, 2, 50).blocks()
        inputs = [value for block, labels in blocks for value in (*vars(block).values(), labels)]
        assert (
            sum(8 * value.numel() for value in inputs if isinstance(value, torch.Tensor))
            == 2 * shape.input_bytes
        )


@pytest.mark.parametrize("device", DEVICES[1:])
@pytest.mark.parametrize("data", ["sequences", "gaussian-equivalent"])
def test_a_device_holds_no_more_than_was_planned(device, data):
    """But for what its libraries take for themselves, of the order of 100 MB."""
    runs = [
        BASE.varied(dim=60, alpha=2.0, data=data, index=index, device=device) for index in range(8)
    ]
    execute_batch(runs[:1])
    plan = plan_batch(BatchShape.of(runs[0]), len(runs), budget_of(device))
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    execute_batch(runs)
    assert torch.cuda.max_memory_allocated() - before < plan.bytes + 100e6
