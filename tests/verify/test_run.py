"""Runs are reproducible, stored once, resumed, and their failures are seen."""

import dataclasses
import json
import os
import time

import numpy as np
import pytest

from numeric.arguments import BadInput
from verify.data import DataKind, TargetKind
from verify.execution import WorkerError, execute_all
from verify.minimise import Status
from verify.run import Run, RunResult, execute
from verify.store import Store

TINY = Run(dim=8, alpha=0.5, kappa0=0.5, width=1.0, lambda_=0.05, noise=0.5)


def canned(run: Run) -> RunResult:
    """A result at no cost: what the store and the pool do does not depend on what is in it."""
    return RunResult(run, 1, 1, 1, 1, 1, 1, 1, (1.0, 0.5), 1, Status.CONVERGED, 0.0, 1, 0.0)


def fail(run: Run) -> RunResult:
    raise RuntimeError("the disk is on fire")


def die(run: Run) -> RunResult:
    os._exit(9)


def test_equal_runs_give_equal_results():
    first, second = execute(TINY), execute(TINY)
    assert dataclasses.replace(first, seconds=0) == dataclasses.replace(second, seconds=0)


def test_seeds_differ_where_the_physics_differs_and_only_there():
    def state(**changes):
        return dataclasses.replace(TINY, **changes).seeds()["inputs"].generate_state(4).tolist()

    same = [state(), state(minimiser="adam"), state(shuffle_labels=True), state(restart=1)]
    assert all(s == same[0] for s in same)
    other = [state(), state(index=1), state(entropy=1), state(alpha=0.6), state(width=0.5), state(noise=0.4)]
    assert len({tuple(s) for s in other}) == len(other)


def test_a_measured_run_is_consistent():
    result = execute(dataclasses.replace(TINY, dim=16))
    values = np.array(result.singular_values)
    assert result.q == pytest.approx((values**2).mean(), rel=1e-10)
    assert result.estimation_error == pytest.approx(result.q0 - 2 * result.m + result.q, rel=1e-12)
    assert result.m**2 <= result.q * result.q0
    assert result.train_error < result.test_error
    penalty = 0.05 * values.mean()  # lambda ||W||^2/d^2 = lambda sqrt(kappa) tr S/d
    assert result.loss == pytest.approx(0.5 * result.train_error + penalty, rel=1e-10)


def test_restarts_see_other_weights_and_reach_the_same_minimum():
    first, second = execute(TINY), execute(dataclasses.replace(TINY, restart=1))
    assert first.relative_gradient != second.relative_gradient
    assert first.m == pytest.approx(second.m, rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.0}, "--alpha 0.0: must be positive"),
        ({"kappa0": -1.0}, "--kappa0 -1.0: must be positive"),
        ({"noise": -0.1}, "--noise -0.1: must not be negative"),
        ({"tokens": 1}, "--tokens 1: must be at least 2"),
        ({"lambda_": 0.0}, "--lambda 0.0: must be positive"),
        ({"minimiser": "sgd"}, "--minimiser sgd: is unknown"),
        ({"alpha": float("nan")}, "--alpha nan: must be positive"),
    ],
)
def test_a_run_cannot_be_invalid(changes, message):
    with pytest.raises(BadInput, match=message):
        dataclasses.replace(TINY, **changes)


def test_stored_results_come_back_whole(tmp_path):
    run = dataclasses.replace(TINY, target=TargetKind.GAUSSIAN, data=DataKind.GAUSSIAN_EQUIVALENT)
    result = execute(run)
    Store(tmp_path, RunResult).append(result)
    assert Store(tmp_path, RunResult).load() == {run: result}


def test_a_line_cut_short_is_passed_over_and_does_not_take_the_next_with_it(tmp_path):
    store = Store(tmp_path, RunResult)
    runs = [dataclasses.replace(TINY, index=i) for i in range(3)]
    for run in runs[:2]:
        store.append(canned(run))
    store.path.write_bytes(store.path.read_bytes()[:-40])
    assert set(store.load()) == {runs[0]}
    store.append(canned(runs[2]))
    assert set(store.load()) == {runs[0], runs[2]}


def test_records_of_another_protocol_or_key_are_not_used(tmp_path):
    store = Store(tmp_path, RunResult)
    store.append(canned(TINY))
    record = json.loads(store.path.read_text())
    for change in ({"protocol": 0}, {"key": "0"}):
        store.path.write_text(json.dumps({**record, **change}) + "\n")
        assert store.load() == {}


def test_resuming_does_only_what_is_missing(tmp_path):
    store = Store(tmp_path, RunResult)
    runs = [dataclasses.replace(TINY, index=i) for i in range(4)]
    store.append(canned(runs[2]))
    results = execute_all(runs, store, workers=2, progress=False)
    assert [r.run for r in results] == runs
    assert results[2] == canned(runs[2])  # the stored one, not a new one
    assert len(store.path.read_text().splitlines()) == 4
    before = time.perf_counter()
    assert execute_all(runs, store, progress=False, task=fail) == results
    assert time.perf_counter() - before < 0.5  # no process was started


@pytest.mark.parametrize(("task", "message"), [(fail, "the disk is on fire"), (die, "a worker process died")])
def test_a_failure_in_a_worker_is_raised(tmp_path, task, message):
    with pytest.raises(WorkerError, match=message):
        execute_all([TINY], Store(tmp_path, RunResult), workers=1, progress=False, task=task)
