"""Runs are reproducible, stored once, resumed, and their failures are seen."""

import contextlib
import dataclasses
import io
import json
import os
import resource
import signal
import tempfile
import time

import numpy as np
import pytest
import torch

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import finite_rank
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from verify.core import store as store_module
from verify.core.data import DataKind
from verify.core.draw import draw, empirical_risk
from verify.core.measure import RunResult, execute, fresh_errors, leading_overlaps
from verify.core.minimise import DescentStatus
from verify.core.pool import WorkerError, execute_all
from verify.core.run import Run
from verify.core.store import Store
from verify.core.target import TargetKind, haar_rotation

SEEDED = [2816187078, 1618268423, 2139964010]
TINY = Run(Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5), dim=8)


def canned(run: Run) -> RunResult:
    """A result at no cost: what the store and the pool do does not depend on what is in it."""
    return RunResult(
        run,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        (1.0, 0.5),
        (1.0, 0.5),
        (0.9, 0.4),
        (0.9, 0.4),
        (0.1, 0.0),
        1,
        DescentStatus.CONVERGED,
        0.0,
        1,
        0.0,
    )


def fail(run: Run) -> RunResult:
    raise RuntimeError("the disk is on fire")


def die(run: Run) -> RunResult:
    os._exit(9)


def test_equal_runs_give_equal_results():
    first, second = execute(TINY), execute(TINY)
    assert dataclasses.replace(first, seconds=0) == dataclasses.replace(second, seconds=0)


def test_seeds_differ_where_the_physics_differs_and_only_there():
    def state(**changes):
        return TINY.varied(**changes).seeds()["inputs"].generate_state(4).tolist()

    same = [
        state(),
        state(parametrisation="symmetric"),
        state(minimiser="adam"),
        state(shuffle_labels=True),
        state(restart=1),
    ]
    assert all(s == same[0] for s in same)
    other = [
        state(),
        state(index=1),
        state(entropy=1),
        state(alpha=0.6),
        state(width=0.5),
        state(noise=0.4),
    ]
    other += [state(target=power_law(gamma, 8)) for gamma in (0.5, 1.0)] + [
        state(target=finite_rank((2.0,), 8))
    ]
    assert len({tuple(s) for s in other}) == len(other)


def test_a_power_law_follows_the_dimension():
    run = TINY.varied(target=power_law(0.75, 8))
    assert run.varied(dim=16, noise=0.2) == Run(
        Problem(0.5, power_law(0.75, 16), 0.05, 0.2), dim=16
    )


def test_data_are_those_of_the_first_release():
    """A seed is that of the parameters by name: what holds them must not matter."""
    laws = (TINY.problem.target, power_law(0.75, 8), finite_rank((2.0,), 8))
    states = [int(TINY.varied(target=law).seeds()["inputs"].generate_state(1)[0]) for law in laws]
    assert states == SEEDED


def test_a_measured_run_is_consistent():
    result = execute(TINY.varied(dim=16))
    values = np.array(result.singular_values)
    assert result.q == pytest.approx((values**2).mean(), rel=1e-10)
    assert result.estimation_error == pytest.approx(result.q0 - 2 * result.m + result.q, rel=1e-12)
    assert result.m**2 <= result.q * result.q0
    assert result.train_error < result.test_error
    penalty = 0.05 * values.mean()  # lambda ||W||^2/d^2 = lambda sqrt(kappa) tr S/d
    assert result.loss == pytest.approx(0.5 * result.train_error + penalty, rel=1e-10)


def everywhere():
    """Tokens, temperatures, widths about kappa0, parametrisations: all that a run may vary, not all
    at once; two of three quick.
    """
    found = [
        *({"tokens": tokens, "beta": beta} for tokens in (2, 3, 4) for beta in (0.5, 2.0)),
        *({"width": width, "alpha": alpha} for width in (0.25, 0.75) for alpha in (0.1, 2.0)),
        *(
            {"parametrisation": what, "tokens": t}
            for what in ("symmetric", "general")
            for t in (2, 4)
        ),
    ]
    return [
        pytest.param(one, marks=[pytest.mark.slow] if place % 3 == 1 else [])
        for place, one in enumerate(found)
    ]


@pytest.mark.parametrize("changes", everywhere(), ids=str)
def test_every_kind_of_run_converges_and_learns(changes):
    run = TINY.varied(dim=16, **{"alpha": 1.0, **changes})
    result, drawn = execute(run), draw(run)
    assert result.status is DescentStatus.CONVERGED
    untrained = fresh_errors(run, torch.zeros_like(drawn.s0), drawn.s0, drawn.test, None).test
    assert result.train_error < result.test_error < untrained


def test_a_general_map_is_measured_whole():
    result = execute(TINY.varied(dim=16, alpha=1.0, parametrisation="general"))
    assert result.q == pytest.approx((np.array(result.singular_values) ** 2).mean(), rel=1e-10)
    penalty = 0.05 * result.q  # lambda d ||A||^2/d^2
    assert result.loss == pytest.approx(result.train_error + penalty, rel=1e-10)


def test_targets_have_the_eigenvalues_they_state():
    power = TINY.varied(target=power_law(0.75, 8)).target_eigenvalues()
    assert (power**2).mean() == pytest.approx(1.0, rel=1e-14)
    assert power[0] / power[3] == pytest.approx(4**0.75, rel=1e-14)
    spiked = TINY.varied(target=finite_rank((1.0, 3.0), 8))
    assert spiked.target_eigenvalues().tolist() == [3.0, 1.0] + [0.0] * 6
    drawn = draw(spiked)
    np.testing.assert_allclose(np.linalg.eigvalsh(drawn.s0)[-2:], [1.0, 3.0], rtol=1e-12)


def test_overlaps_see_a_rotation_and_not_one_within_an_eigenspace():
    """Levels 5, 3, 3, 0 ..

    0; the first vector turned by .3 into the kernel, the next two by .7 into one another.
    """
    axes = torch.as_tensor(haar_rotation(12, np.random.default_rng(0)))
    levels = torch.tensor([5.0, 3.0, 3.0] + [0.0] * 9, dtype=torch.float64)
    turned = axes.clone()
    for i, j, angle in ((0, 5, 0.3), (1, 2, 0.7)):
        turned[:, i], turned[:, j] = (
            np.cos(angle) * axes[:, i] + np.sin(angle) * axes[:, j],
            np.cos(angle) * axes[:, j] - np.sin(angle) * axes[:, i],
        )
    learned = (turned * (levels + torch.tensor([0.0, 0.2] + [0.0] * 10))) @ turned.T
    values, overlaps, held = leading_overlaps(learned, (axes * levels) @ axes.T)
    assert values[:3] == pytest.approx((5.0, 3.2, 3.0))
    assert overlaps[:3] == pytest.approx((np.cos(0.3) ** 2, 1.0, 1.0))
    assert held[0] == pytest.approx(5.0 * np.cos(0.3) ** 2)
    assert sum(held[1:3]) == pytest.approx(
        6.2
    )  # of an eigenspace: which directions of it is rounding's choice


def test_restarts_see_other_weights_and_reach_the_same_minimum():
    first, second = execute(TINY), execute(TINY.varied(restart=1))
    assert first.relative_gradient != second.relative_gradient
    assert first.m == pytest.approx(second.m, rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.0}, "alpha = 0.0: must be positive"),
        ({"noise": -0.1}, "noise = -0.1: must be finite and not negative"),
        ({"tokens": 1}, "tokens = 1: must be an integer from 2"),
        ({"lambda_": 0.0}, "lambda_ = 0.0: must be positive"),
        ({"minimiser": "sgd"}, "minimiser = 'sgd': is unknown"),
        (
            {"target": power_law(0.75, 8), "target_kind": "gaussian"},
            "target = 'gaussian': this law has no Gaussian factor",
        ),
        ({"target": finite_rank((1.0,), 9)}, "target = .*: is not a list of dim = 8 eigenvalues"),
        ({"target": MarchenkoPastur(0.5, 2.0)}, "target = .*: sets the scale itself"),
        (
            {"leading": 2, "target": power_law(0.75, 8)},
            "leading = 2: is supported by the theory only",
        ),
        ({"dim": 3}, "dim = 3: must be at least 4"),
        (
            {"parametrisation": "symmetric", "width": 0.5},
            "width = 0.5: a symmetric matrix has no rank limit",
        ),
        (
            {"parametrisation": "general", "data": "gaussian-equivalent"},
            "data = 'gaussian-equivalent': has symmetric",
        ),
        ({"alpha": float("nan")}, "alpha = nan: must be positive"),
    ],
)
def test_a_run_cannot_be_invalid(changes, message):
    with pytest.raises(InvalidParameter, match=message):
        TINY.varied(**changes)


def test_stored_results_come_back_whole(tmp_path):
    runs = [
        TINY.varied(target_kind=TargetKind.GAUSSIAN, data=DataKind.GAUSSIAN_EQUIVALENT),
        TINY.varied(target=finite_rank((2.0, 1.0), 8), parametrisation="general"),
        TINY.varied(target=power_law(0.75, 8), tokens=3),
    ]
    results = {run: execute(run) for run in runs}
    for result in results.values():
        Store(tmp_path, RunResult).append(result)
    assert Store(tmp_path, RunResult).load(runs) == results


def test_a_line_cut_short_is_passed_over_and_does_not_take_the_next_with_it(tmp_path):
    store = Store(tmp_path, RunResult)
    runs = [TINY.varied(index=i) for i in range(3)]
    for run in runs[:2]:
        store.append(canned(run))
    store.path.write_bytes(store.path.read_bytes()[:-40])
    assert set(store.load(runs)) == {runs[0]}
    store.append(canned(runs[2]))
    assert set(store.load(runs)) == {runs[0], runs[2]}


def test_a_store_cut_at_any_byte_of_its_last_line_loses_that_line_alone(tmp_path):
    store = Store(tmp_path, RunResult)
    runs = [TINY.varied(index=i) for i in range(3)]
    store.append(canned(runs[0]))
    first = store.path.read_bytes()
    store.append(canned(runs[1]))
    whole = store.path.read_bytes()
    for length in range(len(first), len(whole) - 1):
        store.path.write_bytes(whole[:length])
        assert set(store.load(runs)) == {runs[0]}
    store.append(canned(runs[2]))
    assert set(store.load(runs)) == {runs[0], runs[2]}
    store.path.write_bytes(whole[:-1])  # all but the end of the line
    assert set(store.load(runs)) == {runs[0], runs[1]}


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path):
    """A disk that takes half of a line says nothing; the job went on as if it were kept."""
    store, runs = Store(tmp_path, RunResult), [TINY.varied(index=i) for i in range(3)]
    store.append(canned(runs[0]))
    child = os.fork()
    if child == 0:
        room = int(1.5 * store.path.stat().st_size)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        code = 0
        try:
            with contextlib.redirect_stderr(io.StringIO()) as said:
                run_to_exit(lambda: store.append(canned(runs[1])))
        except SystemExit as stop:
            line = f"failed: {store.path}: cannot be written (No space left on device); make room"
            code = 7 if stop.code == 1 and said.getvalue().startswith(line) else 8
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert set(store.load(runs)) == {runs[0]}
    store.append(canned(runs[2]))
    assert set(store.load(runs)) == {runs[0], runs[2]}


def test_a_store_is_nothing_on_disk_before_its_first_result(tmp_path):
    """Commands that were refused left empty files and folders."""
    store = Store(tmp_path / "new" / "folder", RunResult)
    assert store.load([TINY]) == {} and not (tmp_path / "new").exists()
    store.append(canned(TINY))
    assert set(Store(tmp_path / "new" / "folder", RunResult).load([TINY])) == {TINY}


def test_a_store_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "runs.jsonl").mkdir()
    with pytest.raises(NotADirectoryError):
        Store(tmp_path / "file" / "folder", RunResult)
    with pytest.raises(IsADirectoryError):
        Store(tmp_path, RunResult)

    def refused(dir):
        raise PermissionError(dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    with pytest.raises(PermissionError, match=str(tmp_path)):
        Store(tmp_path / "new" / "folder", RunResult)


def test_records_of_another_protocol_or_key_are_not_used(tmp_path, caplog):
    store = Store(tmp_path, RunResult)
    store.append(canned(TINY))
    record = json.loads(store.path.read_text())
    for change in ({"protocol": 0}, {"key": "0"}):
        changed = {**record, **change}
        del changed["checksum"]
        written = json.dumps({**changed, "checksum": store_module.checksum(changed)})
        store.path.write_text(written + "\n")
        assert store.load([TINY]) == {}
    (said,) = caplog.messages
    assert "1 stored results are stale" in said


def test_a_line_with_a_flipped_bit_or_cut_short_is_not_used(tmp_path, caplog):
    """A flipped digit gave another number silently."""
    store = Store(tmp_path, RunResult)
    store.append(canned(TINY))
    content = store.path.read_bytes()
    for place in range(0, len(content) - 1, 3):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        for damaged in (flipped, content[:place]):
            store.path.write_bytes(damaged)
            assert store.load([TINY]) in ({}, {TINY: canned(TINY)})
    assert "1 damaged lines; what is missing is computed again" in caplog.text
    store.path.write_bytes(flipped + content)
    caplog.clear()
    assert store.load([TINY]) == {TINY: canned(TINY)} and not caplog.messages


def test_resuming_does_only_what_is_missing(tmp_path):
    store = Store(tmp_path, RunResult)
    runs = [TINY.varied(index=i) for i in range(4)]
    store.append(canned(runs[2]))
    results = execute_all(runs, store, workers=2, progress=False)
    assert [r.run for r in results] == runs
    assert results[2] == canned(runs[2])  # the stored one, not a new one
    assert len(store.path.read_text().splitlines()) == 4
    before = time.perf_counter()
    assert execute_all(runs, store, progress=False, function=fail) == results
    assert time.perf_counter() - before < 0.5  # no process was started


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (fail, "the disk is on fire"),
        (
            die,
            "worker processes died 3 times, the last one near run .*, ended with exit code 9; "
            "finished",
        ),
    ],
)
def test_a_failure_in_a_worker_is_raised(tmp_path, task, message):
    with pytest.raises(WorkerError, match=message):
        execute_all([TINY], Store(tmp_path, RunResult), workers=1, progress=False, function=task)


def test_an_informed_start_is_near_the_target_and_sees_the_same_data():
    """All columns of W move: those that the target leaves at zero would stay there."""
    run = Run(Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5), dim=24)
    random, informed = draw(run), draw(run.varied(start="target"))
    assert torch.equal(random.labels, informed.labels) and torch.equal(random.s0, informed.s0)
    risk = empirical_risk(run, informed)
    distance = [
        float((risk.weights.attention_map(drawn.start) - drawn.s0).norm())
        for drawn in (random, informed)
    ]
    assert distance[1] < 0.3 * distance[0]
    assert float(informed.start.norm(dim=0).min()) > 0
    assert run.key != run.varied(start="target").key
