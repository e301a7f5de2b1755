"""Stacked risks are those of each run, whatever the blocks; what leaves a batch leaves the others
alone.
"""

import pytest
import torch
from devices import DEVICES
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.batches.quasi_newton import QuasiNewton
from verify.batches.risk import StackedRisk
from verify.batches.shape import BatchShape
from verify.batches.stack import Stack
from verify.batches.watch import BatchWatch
from verify.core.draw import draw, empirical_risk
from verify.core.minimise import Lbfgs
from verify.core.proximal import ProximalSteps
from verify.core.run import Run

TINY = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=6)
KINDS = [
    {},
    {"width": 0.5},
    {"width": 1.5},
    {"tokens": 3},
    {"output": "sequences"},
    {"output": "sequences", "tokens": 3},
    {"parametrisation": "symmetric"},
    {"parametrisation": "general", "tokens": 4},
    {"data": "gaussian-equivalent"},
    {"data": "gaussian-equivalent", "tokens": 3, "parametrisation": "symmetric"},
]


def stacked(runs, samples):
    """Their risk in blocks of so many samples, and starting weights."""
    stack, drawn = Stack(BatchShape.of(runs[0]), len(runs), samples), [draw(run) for run in runs]
    for place, one in enumerate(drawn):
        stack.put(place, one.inputs, one.labels)
    return StackedRisk.of(runs, stack), torch.stack([one.start for one in drawn])


@pytest.mark.parametrize("device", DEVICES)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 99),
    samples=st.integers(1, 40),
    left=st.sets(st.integers(0, 2), min_size=1),
)
@examples(40)
def test_risks_and_gradients_are_those_of_each_run(device, kind, seed, samples, left):
    """And stay so when some of the runs are left out."""
    run = TINY.varied(**kind, entropy=seed, device=device)
    runs = [run, run.varied(index=1, lambda_=0.2), run.varied(index=2, beta=1.7)]
    risk, start = stacked(runs, samples)
    risk.keep(sorted(left))
    point = risk.at(start[sorted(left)])
    for place, index in enumerate(sorted(left)):
        alone, drawn = empirical_risk(runs[index], draw(runs[index])), draw(runs[index])
        value, gradient = alone.value_and_gradient(drawn.start)
        assert float(point.loss[place]) == pytest.approx(float(value), rel=1e-12)
        assert float(point.fit[place]) / run.samples == pytest.approx(
            alone.train_error(point.maps[place]), rel=1e-12
        )
        torch.testing.assert_close(
            point.gradient[place], gradient, rtol=1e-10, atol=1e-13 * float(gradient.norm())
        )


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_host_reads_nothing_in_a_step_but_which_runs_ended(kind):
    """Tensors without content know no number that the host could ask for, and mix with none of
    another device.
    """
    run = TINY.varied(**kind)
    shape = BatchShape.of(run)._replace(device="meta")
    risk = StackedRisk.of([run, run], Stack(shape, 2, 10))
    watch = BatchWatch(
        risk,
        torch.empty(2, 6, run.weight_columns, dtype=torch.float64, device="meta"),
        Lbfgs(tolerance=1e-5, max_steps=9),
    )
    point = watch.evaluate(watch.weights[watch.places])
    for method in (
        QuasiNewton(point, 3),
        ProximalSteps(point, risk.decays, risk.weights, shape.samples),
    ):
        for _ in range(2):
            watch.stall(method.receive(watch.evaluate(method.trial)))
    with pytest.raises(NotImplementedError):
        watch.running()
