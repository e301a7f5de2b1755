"""Sweeps from Python: the same numbers as a curve alone, kept, gone on with, and never mixed with others."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st
from made_up_sweep import LINES, POINTS, plan

import numeric
from numeric.engines.processes import Processes
from numeric.engines.task import EngineFailed, Task
from numeric.maths.domain import InvalidParameter
from numeric.problem.solution import QUANTITIES
from numeric.sweeps import theory
from numeric.sweeps.axes import axes_of, places, points_of
from numeric.sweeps.plan import Coordinate, regions
from numeric.sweeps.sweep import BlocksFailed, carry_out

PROBLEM = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, noise=0.5)
ALPHAS = [0.5, 1.0, 2.0]


class Counted(numeric.ThisProcess):
    """Does at most `most` tasks and then is lost; `asked` counts them."""

    def __init__(self, most=10**6):
        self.most, self.asked = most, 0

    def outcomes(self, tasks):
        for outcome in super().outcomes(tasks):
            if self.asked == self.most:
                raise EngineFailed("lost")
            self.asked += 1
            yield outcome


def test_a_sweep_says_what_a_curve_says(tmp_path):
    varied = {"alpha": ALPHAS, ("noise", "beta"): [(0.2, 1.0), (0.5, 2.0)]}
    swept = numeric.sweep(PROBLEM, varied, tmp_path / "out", Counted(), progress=False)
    assert swept.equals(numeric.sweep(PROBLEM, varied, engine=Counted(), progress=False))
    for k, (noise, beta) in enumerate(varied["noise", "beta"]):
        curve = numeric.learning_curve(replace(PROBLEM, noise=noise, beta=beta), ALPHAS)
        along = swept.isel(noise_and_beta=k)
        assert (along.noise, along.beta) == (noise, beta)
        for name in QUANTITIES:
            assert along[name].values.tolist() == [solution.value(name) for solution in curve]
            assert along[f"{name}_error_bar"].values.tolist() == [solution.errors.get(name, 0.0) for solution in curve]
    meanings = swept.status.attrs["flag_meanings"].split()
    assert {meanings[code] for code in swept.status.values.ravel()} == {"converged"}
    assert swept.m.attrs["units"] == "eigenvalue^2" and swept.alpha.attrs["long_name"] == "sample ratio n/d^2"


def test_what_was_finished_is_not_done_again(tmp_path):
    with pytest.raises(EngineFailed):
        carry_out(plan(), tmp_path / "out", Counted(5), progress=False)
    engine = Counted()
    swept = carry_out(plan(), tmp_path / "out", engine, progress=False)
    assert (swept.found, engine.asked) == (5 * POINTS, LINES - 5)
    assert swept.dataset.equals(carry_out(plan(), None, Counted(), progress=False).dataset)
    again = Counted()
    assert carry_out(plan(), tmp_path / "out", again, progress=False).found == LINES * POINTS and again.asked == 0


def test_values_that_were_not_stored_are_missing(tmp_path):
    with pytest.raises(EngineFailed):
        carry_out(plan(), tmp_path / "out", Counted(5), progress=False)
    half = xr.open_zarr(tmp_path / "out", chunks=None)
    assert int(half.value.notnull().sum()) == 5 * POINTS == int((half.status > 0).sum())


def broken(_):
    raise ValueError("no such line")


def test_a_task_that_fails_is_said_after_all_others_are_stored(tmp_path):
    made = plan()
    bad = replace(made.blocks[3], task=Task("broken", broken, (3,), 1.0))
    blocks = (*made.blocks[:3], bad, *made.blocks[4:])
    with pytest.raises(BlocksFailed, match=r"1 of 24 tasks failed, the first with ValueError: no such line"):
        carry_out(replace(made, blocks=blocks), tmp_path / "out", Processes(2), progress=False)
    assert int((xr.open_zarr(tmp_path / "out").status > 0).sum()) == (LINES - 1) * POINTS


def test_stores_are_not_mixed(tmp_path):
    out = tmp_path / "out"
    carry_out(plan(), out, Counted(), progress=False)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    other = replace(plan(), blocks=plan().blocks[1:])
    (tmp_path / "folder").mkdir()
    for what, path, rule in (
        (other, out, "holds another study"),
        (plan("later"), out, "was made by other code"),
        (plan(), tmp_path / "folder", "is no store of a sweep"),
    ):
        with pytest.raises(InvalidParameter, match=rule) as refused:
            carry_out(what, path, Counted(), progress=False)
        assert (refused.value.name, refused.value.value) == ("out", str(path))
    with FileLock(tmp_path / ".out.lock"), pytest.raises(InvalidParameter, match="is being written by another process"):
        carry_out(plan(), out, Counted(), progress=False)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "file",
    [
        "value/c/3/0",
        *(pytest.param(file, marks=pytest.mark.slow) for file in ("status/c/3/0", "place/c/0", "name/c/0")),
    ],
)
def test_a_store_of_which_a_file_is_cut_at_any_byte_ends_whole(file, tmp_path, monkeypatch):
    """As when the machine goes down: it was a traceback of what had compressed the file."""
    monkeypatch.setattr("made_up_sweep.SECONDS", 0.0)
    named = Coordinate("line", np.array([f"line {k}" for k in range(LINES)]))
    made = replace(plan(), coordinates={**plan().coordinates, "name": named})
    whole = carry_out(made, tmp_path / "out", Counted(), progress=False).dataset
    path = tmp_path / "out" / file
    content = path.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 12)):
        path.write_bytes(content[:length])
        engine = Counted()
        assert carry_out(made, tmp_path / "out", engine, progress=False).dataset.equals(whole)
        assert engine.asked == (0 if file.startswith(("place", "name")) else 1)
        assert xr.open_zarr(tmp_path / "out").load().equals(whole)


def test_what_a_store_says_of_itself_cut_at_any_byte_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("made_up_sweep.SECONDS", 0.0)
    carry_out(plan(), tmp_path / "out", Counted(), progress=False)
    content = (tmp_path / "out" / "zarr.json").read_bytes()
    for length in range(0, len(content) - 1, len(content) // 12):
        (tmp_path / "out" / "zarr.json").write_bytes(content[:length])
        with pytest.raises(InvalidParameter, match="is no store of a sweep; name another, or remove it"):
            carry_out(plan(), tmp_path / "out", Counted(), progress=False)


@pytest.mark.parametrize(
    ("varied", "said"),
    [
        ({"alpha": []}, "alpha = .*has no value"),
        ({"kappa": [1.0]}, "kappa = 1.0: is no parameter of a Problem"),
        ({("noise", "beta"): [(1.0, 1.0), 2.0]}, "noise.beta = 2.0: must hold 2 values"),
        ({"alpha": [1.0], ("alpha", "beta"): [(1.0, 1.0)]}, "stands on two axes"),
        ({"lambda_": [-1.0]}, "lambda_ = -1.0: must not be negative"),
    ],
)
def test_what_cannot_be_swept_is_refused(varied, said):
    with pytest.raises(InvalidParameter, match=said):
        numeric.sweep(PROBLEM, varied, engine=Counted(), progress=False)


def test_numbers_of_numpy_are_numbers():
    """A problem of NumPy's integers would be refused, and one of its floats have another key."""
    varied = {"alpha": np.array(ALPHAS), "tokens": np.array([2])}
    plain = {"alpha": ALPHAS, "tokens": [2]}
    first, second = (numeric.sweep(PROBLEM, these, engine=Counted(), progress=False) for these in (varied, plain))
    assert first.identical(second)


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 4)), min_size=1, max_size=3))
def test_blocks_cover_every_point_once(sizes):
    shape, chunks = zip(*sizes, strict=True)
    count = np.zeros(shape, int)
    for region in regions(shape, chunks):
        count[region] += 1
    assert (count == 1).all()


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_places_are_all_combinations(sizes):
    axes = axes_of({f"x{k}": list(range(size)) for k, size in enumerate(sizes)})
    found = list(places(axes))
    assert len({index for index, _ in found}) == len(found) == points_of(axes)
    assert all(tuple(settings.values()) == index for index, settings in found)


def test_a_script_without_a_guard_is_told_so(tmp_path):
    """Its workers import it, and would begin the sweep anew."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numeric\n"
        "problem = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, noise=0.5)\n"
        "numeric.sweep(problem, {'alpha': [1.0, 2.0]}, progress=False)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(numeric.__file__).parents[1])}
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 1
    assert "no worker process could begin" in ended.stderr.splitlines()[-1]
    assert '`if __name__ == "__main__":`' in ended.stderr.splitlines()[-1]


def test_a_task_holds_fewer_points_the_longer_they_take(monkeypatch):
    problems = np.array([numeric.Problem(alpha, numeric.MarchenkoPastur(0.5), 0.1, 0.5) for alpha in (0.5, 1, 2, 4)])
    for seconds, count in ((theory.TASK_SECONDS / 10, 4), (theory.TASK_SECONDS / 2.5, 2), (3 * theory.TASK_SECONDS, 1)):
        monkeypatch.setattr(theory, "seconds_of_point", lambda problem, seconds=seconds: seconds)
        assert theory._points_per_task(problems, 0) == count
