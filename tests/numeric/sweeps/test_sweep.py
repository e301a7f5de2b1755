"""Sweeps from Python: the same numbers as a curve alone, kept, gone on with, and never mixed with
others.
"""

import json
import os
import shutil
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
from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.processes import Processes
from numeric.engines.task import EngineFailed, Task
from numeric.problem.solution import QUANTITIES, Status, failed_solution
from numeric.sweeps import sweep as sweeps
from numeric.sweeps import theory
from numeric.sweeps.attributes import status_attributes
from numeric.sweeps.axes import Axis, axes_of, coordinates_of, grid_points, points_of
from numeric.sweeps.costs import LONGER, WEAK_BELOW, seconds_of_point
from numeric.sweeps.plan import Coordinate, regions, task_key
from numeric.sweeps.sweep import BlocksFailed, run_plan

PROBLEM = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, noise=0.5)
ALPHAS = [0.5, 1.0, 2.0]


class Counted(numeric.ThisProcess):
    """Does at most `most` tasks and then is lost; `asked` counts them."""

    def __init__(self, most=10**6):
        super().__init__()
        self.most, self.asked = most, 0

    def finished(self):
        for outcome in super().finished():
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
            assert along[f"{name}_error_bar"].values.tolist() == [
                solution.errors.get(name, 0.0) for solution in curve
            ]
    meanings = swept.status.attrs["flag_meanings"].split()
    assert {meanings[code] for code in swept.status.values.ravel()} == {"converged"}
    assert (
        swept.m.attrs["units"] == "eigenvalue^2"
        and swept.alpha.attrs["long_name"] == "sample ratio n/d^2"
    )


def test_what_was_finished_is_not_done_again(tmp_path):
    with pytest.raises(EngineFailed):
        run_plan(plan(), tmp_path / "out", Counted(5), progress=False)
    engine = Counted()
    swept = run_plan(plan(), tmp_path / "out", engine, progress=False)
    assert (swept.found, engine.asked) == (5 * POINTS, LINES - 5)
    assert swept.dataset.equals(run_plan(plan(), None, Counted(), progress=False).dataset)
    again = Counted()
    assert (
        run_plan(plan(), tmp_path / "out", again, progress=False).found == LINES * POINTS
        and again.asked == 0
    )


def test_values_that_were_not_stored_are_missing(tmp_path):
    with pytest.raises(EngineFailed):
        run_plan(plan(), tmp_path / "out", Counted(5), progress=False)
    half = xr.open_zarr(tmp_path / "out", chunks=None)
    assert int(half.value.notnull().sum()) == 5 * POINTS == int((half.status > 0).sum())


def broken(_):
    raise ValueError("no such line")


def test_a_task_that_fails_is_said_after_all_others_are_stored(tmp_path):
    made = plan()
    bad = replace(made.blocks[3], task=Task(broken, (3,), 1.0, key="broken"))
    blocks = (*made.blocks[:3], bad, *made.blocks[4:])
    with pytest.raises(
        BlocksFailed, match=r"1 of 24 tasks failed, the first with ValueError: no such line"
    ):
        run_plan(replace(made, blocks=blocks), tmp_path / "out", Processes(2), progress=False)
    assert int((xr.open_zarr(tmp_path / "out").status > 0).sum()) == (LINES - 1) * POINTS


def test_stores_are_not_mixed(tmp_path):
    out = tmp_path / "out"
    run_plan(plan(), out, Counted(), progress=False)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    other = replace(plan(), blocks=plan().blocks[1:])
    (tmp_path / "folder").mkdir()
    for what, path, rule in (
        (other, out, "contains another study"),
        (plan("later"), out, "was computed by other code"),
        (plan(), tmp_path / "folder", "is not a sweep store"),
    ):
        with pytest.raises(InvalidParameter, match=rule) as refused:
            run_plan(what, path, Counted(), progress=False)
        assert (refused.value.name, refused.value.value) == ("out", str(path))
    with (
        FileLock(tmp_path / ".out.lock"),
        pytest.raises(InvalidParameter, match="is being written by another process"),
    ):
        run_plan(plan(), out, Counted(), progress=False)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "file",
    [
        "value/c/3/0",
        *(
            pytest.param(file, marks=pytest.mark.slow)
            for file in ("status/c/3/0", "place/c/0", "name/c/0")
        ),
    ],
)
def test_a_store_of_which_a_file_is_cut_at_any_byte_ends_whole(file, tmp_path, monkeypatch):
    """As when the machine goes down: it was a traceback of what had compressed the file."""
    monkeypatch.setattr("made_up_sweep.SECONDS", 0.0)
    named = Coordinate("line", np.array([f"line {k}" for k in range(LINES)]))
    made = replace(plan(), coordinates={**plan().coordinates, "name": named})
    whole = run_plan(made, tmp_path / "out", Counted(), progress=False).dataset
    path = tmp_path / "out" / file
    content = path.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 12)):
        path.write_bytes(content[:length])
        engine = Counted()
        assert run_plan(made, tmp_path / "out", engine, progress=False).dataset.equals(whole)
        assert engine.asked == (0 if file.startswith(("place", "name")) else 1)
        assert xr.open_zarr(tmp_path / "out").load().equals(whole)


def test_metadata_cut_at_any_byte_are_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr("made_up_sweep.SECONDS", 0.0)
    whole = run_plan(plan(), tmp_path / "out", Counted(), progress=False).dataset
    for path in (tmp_path / "out" / "zarr.json", tmp_path / "out" / "value" / "zarr.json"):
        content = path.read_bytes()
        for length in range(0, len(content) - 1, len(content) // 12):
            path.write_bytes(content[:length])
            again = run_plan(plan(), tmp_path / "out", Counted(), progress=False)
            assert again.dataset.identical(whole) and again.found == LINES * POINTS
            assert json.loads(path.read_bytes()) == json.loads(content)


def test_a_store_without_any_metadata_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("made_up_sweep.SECONDS", 0.0)
    run_plan(plan(), tmp_path / "out", Counted(), progress=False)
    for path in (tmp_path / "out").rglob("zarr.json"):
        path.unlink()
    with pytest.raises(InvalidParameter, match="is not a sweep store; name another, or remove it"):
        run_plan(plan(), tmp_path / "out", Counted(), progress=False)


@pytest.mark.parametrize("damage", ["flip", "delete", "delete folder"])
def test_a_damaged_store_is_found_and_mended(damage, tmp_path, monkeypatch, caplog):
    """Zstandard writes no checksum by default: 192 of 264 single flips gave other numbers."""
    monkeypatch.setattr("made_up_sweep.SECONDS", 0.0)
    out, random = tmp_path / "out", np.random.default_rng(0)
    whole = run_plan(plan(), out, Counted(), progress=False).dataset
    for _ in range(12):
        caplog.clear()
        files = sorted(path for path in out.rglob("*") if path.is_file())
        path = files[random.integers(len(files))]
        if damage == "flip":
            content = bytearray(path.read_bytes())
            content[random.integers(len(content))] ^= 1 << random.integers(8)
            path.write_bytes(content)
        elif damage == "delete":
            path.unlink()
        else:
            shutil.rmtree(path.parent if path.parent != out else out / "value")
        again = run_plan(plan(), out, Counted(), progress=False)
        assert again.dataset.identical(whole), path
        assert xr.open_zarr(out).load().equals(whole)
        if again.found < LINES * POINTS:
            assert "incomplete or damaged and are computed again" in caplog.text


@pytest.mark.parametrize(
    ("varied", "said"),
    [
        ({"alpha": []}, "alpha = .*has no value"),
        ({"kappa": [1.0]}, "kappa = 1.0: is not a parameter of a Problem"),
        ({("noise", "beta"): [(1.0, 1.0), 2.0]}, "noise.beta = 2.0: must have 2 values"),
        ({"alpha": [1.0], ("alpha", "beta"): [(1.0, 1.0)]}, "is on two axes"),
        ({"lambda_": [-1.0]}, "lambda_ = -1.0: must be finite and not negative"),
    ],
)
def test_what_cannot_be_swept_is_refused(varied, said):
    with pytest.raises(InvalidParameter, match=said):
        numeric.sweep(PROBLEM, varied, engine=Counted(), progress=False)


def test_numbers_of_numpy_are_numbers():
    """A problem of NumPy's integers would be refused, and one of its floats have another key."""
    varied = {"alpha": np.array(ALPHAS), "tokens": np.array([2])}
    plain = {"alpha": ALPHAS, "tokens": [2]}
    first, second = (
        numeric.sweep(PROBLEM, these, engine=Counted(), progress=False) for these in (varied, plain)
    )
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
    found = list(grid_points(axes))
    assert len({index for index, _ in found}) == len(found) == points_of(axes)
    assert all(tuple(settings.values()) == index for index, settings in found)


@pytest.mark.parametrize("out", ["None", "'swept'"])  # which its workers find in use
def test_a_script_without_a_guard_is_told_so(out, tmp_path):
    """Its workers import it, and would begin the sweep anew; their tracebacks came before what it
    is told.
    """
    script = tmp_path / "script.py"
    script.write_text(
        "import numeric\n"
        "problem = numeric.Problem(alpha=1.0, target=numeric.MarchenkoPastur(0.5), lambda_=0.1, "
        "noise=0.5)\n"
        f"numeric.sweep(problem, {{'alpha': [1.0, 2.0]}}, {out}, progress=False)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(numeric.__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert ended.returncode == 1
    assert ended.stderr.count("Traceback") == 1  # of this process; how its workers died is no news
    assert "no worker process could begin" in ended.stderr.splitlines()[-1]
    assert '`if __name__ == "__main__":`' in ended.stderr.splitlines()[-1]


def test_a_task_holds_fewer_points_the_longer_they_take(monkeypatch):
    problems = np.array(
        [numeric.Problem(alpha, numeric.MarchenkoPastur(0.5), 0.1, 0.5) for alpha in (0.5, 1, 2, 4)]
    )
    for seconds, count in (
        (theory.TASK_SECONDS / 10, 4),
        (theory.TASK_SECONDS / 2.5, 2),
        (3 * theory.TASK_SECONDS, 1),
    ):
        monkeypatch.setattr(theory, "seconds_of_point", lambda problem, seconds=seconds: seconds)
        assert theory._points_per_task(problems, 0) == count


def planned(varied):
    """The plan of a sweep of these, and for each task the settings of its points."""
    axes = axes_of(varied)
    plan = theory.theory_plan(theory.problems_over(PROBLEM, axes), axes, {}, "theory_")
    return plan, [
        [(one.alpha, one.lambda_, one.noise) for one in block.task.arguments[0]]
        for block in plan.blocks
    ]


@pytest.mark.parametrize(
    "varied", [{"lambda_": [0.1, 0.2], "alpha": ALPHAS}, {"alpha": ALPHAS, "lambda_": [0.1, 0.2]}]
)
def test_a_task_is_a_curve_along_the_sample_ratio_wherever_its_axis_stands(varied):
    plan, lines = planned(varied)
    assert lines == [[(alpha, decay, 0.5) for alpha in ALPHAS] for decay in (0.1, 0.2)]
    assert (plan.points, plan.sizes) == (6, {"alpha": 3, "lambda": 2}) and {
        block.points for block in plan.blocks
    } == {3}
    assert plan.seconds == pytest.approx(6 * seconds_of_point(PROBLEM))
    assert all(name.startswith("theory_") for name in plan.variables)
    assert {block.status for block in plan.blocks} == {"theory_status"}
    for k, block in enumerate(plan.blocks):
        assert block.region["lambda"] == slice(k, k + 1) and block.region["alpha"] == slice(0, 3)


def test_without_a_sample_ratio_a_task_is_a_line_along_the_last_axis():
    _, lines = planned({"noise": [0.1, 0.2, 0.3], "lambda_": [0.1, 0.2]})
    assert lines == [[(1.0, decay, noise) for decay in (0.1, 0.2)] for noise in (0.1, 0.2, 0.3)]


def test_a_line_that_is_no_curve_is_solved_point_by_point():
    problems = tuple(replace(PROBLEM, noise=noise) for noise in (0.2, 0.5))
    found = theory.solve_block(problems, "its_", (2, 1))
    assert found["its_q"].shape == (2, 1)
    for value, problem in zip(found["its_q"].ravel(), problems, strict=True):
        assert value == numeric.solve(problem).q


def test_a_point_without_a_solution_has_no_value_and_no_error_bar():
    row = theory._row(
        replace(failed_solution(PROBLEM, Status.STEP_LIMIT, 0.5), m=1.0, errors={"m": 0.1})
    )
    assert np.isnan(row["m"]) and np.isnan(row["m_error_bar"]) and row["residual"] == 0.5
    solved = theory._row(
        replace(
            failed_solution(PROBLEM, Status.CONVERGED), m=1.0, q=2.0, V=np.inf, errors={"m": 0.1}
        )
    )
    assert (solved["m"], solved["m_error_bar"], solved["q_error_bar"]) == (1.0, 0.1, 0.0)
    assert np.isnan(solved["V"]) and np.isnan(solved["V_error_bar"])
    endings = status_attributes("how it ended", [("converged", "well"), ("lost", "not well")])
    assert endings["flag_meanings"] == "unfinished converged lost" and endings["flag_values"] == [
        0,
        1,
        2,
    ]
    names = theory.theory_variables(("alpha",), (1,))["status"].attributes["flag_meanings"].split()
    assert names[int(row["status"])] == "step_limit" and names[int(solved["status"])] == "converged"


def test_coordinates_are_whole_numbers_numbers_or_texts():
    axes = (Axis(("tokens", "beta"), ((2, 3), (1, 0.5))), Axis(("model",), (("a", "b", "c"),)))
    found = coordinates_of(axes)
    assert found["tokens"].values.dtype.kind == "i" and found["beta"].values.tolist() == [1.0, 0.5]
    assert (
        found["model"].values.tolist() == ["a", "b", "c"]
        and found["tokens"].dimension == "tokens_and_beta"
    )
    with pytest.raises(InvalidParameter, match="tokens 2, beta 1"):
        Axis(("tokens", "beta"), ((2, 3), (1,)))


def test_a_point_takes_the_longer_the_harder_its_channel():
    """Estimates are told before a sweep, and cut its tasks; each is more than another."""
    seconds = {
        name: seconds_of_point(replace(PROBLEM, **changed))
        for name, changed in {
            "two": {},
            "three": {"tokens": 3},
            "symmetric": {"parametrisation": "symmetric"},
            "general": {"parametrisation": "general"},
            "weak": {"lambda_": 0.99 * WEAK_BELOW},
            "not weak": {"lambda_": WEAK_BELOW},
            "fitted": {"sample_minimum": "fitted"},
            "closed": {"model": "quadratic_network"},
            "blocks": {"model": "tied_attention_cross_entropy"},
        }.items()
    }
    assert (
        seconds["two"] == seconds["symmetric"] == seconds["not weak"]
        and seconds["three"] == seconds["general"]
    )
    assert (
        seconds["closed"]
        < seconds["two"]
        < seconds["three"]
        < min(seconds["blocks"], seconds["fitted"])
    )
    assert seconds["weak"] == pytest.approx(LONGER * seconds["two"]) and LONGER > 1


def test_keys_tell_tasks_and_studies_apart():
    assert task_key("f", (1, "a"), "code") == task_key("f", (1, "a"), "code")
    assert (
        len(
            {
                task_key("f", (1,), "code"),
                task_key("f", (2,), "code"),
                task_key("f", (1,), "other"),
                task_key("g", (1,), "code"),
            }
        )
        == 4
    )
    plans = [
        planned({"alpha": alphas, "noise": noises})[0]
        for alphas, noises in ((ALPHAS, [0.5]), (ALPHAS, [0.4]), ([1.0], [0.5]))
    ]
    assert len({plan.study for plan in plans}) == 3
    assert replace(plans[0], code="other").study == plans[0].study


def test_the_bar_of_a_sweep_ends_at_its_end(monkeypatch):
    """Costs in another order add up to another sum, by rounding: a bar that is full takes no
    more.
    """

    class Bar:
        n = 0.0

        def __init__(self, title, seconds, shown):
            self.total, self.shown = seconds, shown
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, amount):
            assert amount >= 0 and self.n + amount <= self.total
            self.n += amount

    bars = []
    monkeypatch.setattr(sweeps, "time_bar", Bar)
    monkeypatch.setattr("made_up_sweep.SECONDS", 0.0)
    blocks = tuple(
        replace(one, task=replace(one.task, cost=0.1 * k)) for k, one in enumerate(plan().blocks)
    )
    run_plan(replace(plan(), blocks=blocks[::-1]), None, Counted(), progress=False)
    assert (
        bars[0].n
        == pytest.approx(bars[0].total)
        == pytest.approx(sum(0.1 * k for k in range(LINES)))
    )
    assert bars[0].shown is False


def test_lambda_has_one_name_in_data_and_a_single_value_is_taken():
    by_field, by_name = (
        numeric.sweep(
            PROBLEM, {"alpha": 1.0, name: [0.1]}, engine=numeric.ThisProcess(), progress=False
        )
        for name in ("lambda_", "lambda")
    )
    assert by_field.sizes == by_name.sizes == {"alpha": 1, "lambda": 1}
    assert by_field.equals(by_name)
