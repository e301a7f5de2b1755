"""Jobs over the cores: in which order, how often, and what becomes of one that fails."""

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attention_erm.runtime import interrupts
from attention_erm.runtime.digests import code_digest
from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.task import Task
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.domain import OutsideDomain
from numeric.problem.problem import Problem
from verify import __main__ as verify
from verify.core.measure import RunResult, execute
from verify.core.pool import Pool, WorkerError, training_task
from verify.core.run import Run
from verify.core.store import Store

ROOT = Path(__file__).parents[3]


def written_down(path: Path, word: str) -> str:
    with path.open("a") as file:
        file.write(f"{word}\n")
    return word.upper()


def fail(error: type[Exception]) -> None:
    time.sleep(0.3)  # so that what finished before is known to have
    raise error("at these values")


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


def job(notes, word, cost=0.0, stage="made up"):
    return Task(written_down, (notes, word), cost, word, stage)


def test_the_longest_job_begins_first_and_results_keep_their_order(notes):
    with Pool(1, progress=False) as pool:
        assert pool.results(
            [job(notes, "short", 1), job(notes, "long", 9), job(notes, "medium", 3)]
        ) == ["SHORT", "LONG", "MEDIUM"]
    assert notes.read_text().split() == ["long", "medium", "short"]


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    """It was told that it ran out of memory: each worker imports the script, which asks for
    workers.
    """
    (tmp_path / "script.py").write_text(
        "from numeric.engines.task import Task\n"
        "from verify.core.pool import Pool\n"
        "with Pool(1, progress=False) as pool:\n"
        "    pool.results([Task(abs, (-1,), 1.0, 'one', 'made up')])\n"
    )
    ended = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    last = ended.stderr.splitlines()[-1]
    assert ended.returncode == 1 and "out of memory" not in ended.stderr
    assert last.startswith("verify.core.pool.WorkerError: no worker process could begin")
    assert 'put the call below `if __name__ == "__main__":`' in last
    assert (
        "bootstrapping" not in ended.stderr and ended.stderr.count("Traceback") == 1
    )  # of no worker


def test_a_job_is_done_once_whoever_asks_for_it(notes):
    with Pool(2, progress=False) as pool:
        assert pool.results([job(notes, "one"), job(notes, "one", 5, "elsewhere")]) == [
            "ONE",
            "ONE",
        ]
        before = time.perf_counter()
        assert pool.results([job(notes, "one", 2, "later")]) == ["ONE"]
        assert time.perf_counter() - before < 0.1
        assert len(pool.seconds) == 1  # its time counts for one stage
    assert notes.read_text().split() == ["one"]


@pytest.mark.parametrize(
    ("error", "seen"),
    [(OutsideDomain, OutsideDomain), pytest.param(KeyError, WorkerError, marks=pytest.mark.slow)],
)
def test_where_the_theory_has_no_answer_is_told_from_what_went_wrong(error, seen, notes):
    """And what had finished is kept."""
    with Pool(1, progress=False) as pool:
        with pytest.raises(seen, match="at these values"):
            pool.results(
                [job(notes, "done", 9), Task(fail, (error,), 1, "the second job", "made up")]
            )
        assert pool.results([job(notes, "done")]) == ["DONE"]
    assert notes.read_text().split() == ["done"]


HEAD = Run(Problem(0.5, MarchenkoPastur(0.5), 0.05, 0.5), dim=6)


def test_runs_of_one_shape_are_trained_together_and_stored_one_by_one(notes, tmp_path):
    """Beside jobs of other kinds and runs whose minimiser trains no batches; what is stored is not
    done again.
    """
    store = Store(tmp_path, RunResult)
    batch = [HEAD.varied(index=index) for index in range(3)]
    runs = [*batch, HEAD.varied(dim=8), HEAD.varied(minimiser="proximal")]
    with Pool(1, progress=False, batched=("cpu",)) as pool:
        (known,) = pool.results([training_task(batch[1], store)])
        results = pool.results(
            [job(notes, "other", 9), *(training_task(run, store) for run in runs)]
        )
    assert results[0] == "OTHER" and results[2] == known
    assert [result.run for result in results[1:]] == runs
    assert results[1].seconds == results[3].seconds  # their share of the batch
    assert store.load(runs) == dict(zip(runs, results[1:], strict=True))
    assert len(store.path.read_text().splitlines()) == len(runs)
    assert results[1].m == pytest.approx(execute(batch[0]).m, rel=2e-5)


def test_an_interrupt_with_much_left_to_do_ends_the_pool_in_silence(monkeypatch):
    """A thread of the executor ended in a traceback, as what it had been told to leave out was
    still in its list.
    """

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("verify.core.pool._Progress.done", interrupt)
    with pytest.raises(KeyboardInterrupt), Pool(2, progress=False) as pool:
        pool.results(
            [Task(time.sleep, (0.3 + 1e-3 * k,), 0.3, f"sleep {k}", "made up") for k in range(12)]
        )


@pytest.mark.parametrize(
    ("done", "said"), [(0, "no run had finished"), (2, "2 finished runs are stored")]
)
def test_an_interrupt_says_what_is_kept(done, said, tmp_path):
    """Finished runs were said to be kept where there were none."""
    store, runs = Store(tmp_path, RunResult), [HEAD.varied(index=index) for index in range(2)]
    with pytest.raises(KeyboardInterrupt, match=said), Pool(1, progress=False) as pool:
        pool.results([training_task(run, store) for run in runs[:done]])
        raise KeyboardInterrupt
    assert len(store.load(runs)) == done


def test_an_interrupt_after_training_says_what_is_kept_too(tmp_path, notes, monkeypatch, capsys):
    """The bare word "interrupted" read as if all was lost, where the theory is solved once all is
    trained.
    """
    store = Store(tmp_path, RunResult)

    def command(*_):
        with Pool(1, progress=False) as pool:
            pool.results([training_task(HEAD, store), job(notes, "theory", 1)])
        raise KeyboardInterrupt

    monkeypatch.setattr("verify.cli.study.run_study", command)
    monkeypatch.setattr("attention_erm.runtime.interrupts._state", interrupts._State())
    assert verify.main(["curve"]) == interrupts.EXIT_CODE
    left = (
        "1 finished run is stored; run the same command again to continue "
        "(the theory is solved again)"
    )
    assert capsys.readouterr().err.endswith(f"interrupted: {left}\n")


def test_a_batch_that_fails_names_a_run(tmp_path):
    """Inputs of 40 GiB are refused before they are drawn."""
    runs = [HEAD.varied(dim=300, alpha=100.0, index=index) for index in range(2)]
    with (
        Pool(1, progress=False, batched=("cpu",)) as pool,
        pytest.raises(WorkerError, match=r"or one of the 1 .* GiB"),
    ):
        pool.results([training_task(run, Store(tmp_path, RunResult)) for run in runs])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_code_of_batches_is_part_of_the_protocol_of_what_a_gpu_trains(
    device, tmp_path, monkeypatch
):
    store, result = (
        Store(tmp_path, RunResult),
        dataclasses.replace(execute(HEAD), run=HEAD.varied(device=device)),
    )
    store.append(result)
    assert set(store.load([result.run])) == {result.run}
    monkeypatch.setattr(
        "verify.core.store.code_digest",
        lambda *modules: code_digest(*modules) + "batches" * ("verify.batches.execute" in modules),
    )
    assert set(store.load([result.run])) == ({result.run} if device == "cpu" else set())


HOLD = """
import sys
from pathlib import Path
from verify.core.store import Store
from verify.core.measure import RunResult
lock = Store(Path(sys.argv[1]), RunResult).lock()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_job_that_goes_on_says_how_many_runs_it_found(tmp_path, caplog):
    store, runs = Store(tmp_path, RunResult), [HEAD.varied(index=index) for index in range(3)]
    some, all_of_them = (
        f"{store.path}: {found}"
        for found in (
            "2 of 3 runs found, computing the rest",
            "3 of 3 runs found, nothing to compute",
        )
    )
    for asked, found in ((runs[:2], []), (runs, [some]), (runs, [all_of_them])):
        caplog.clear()
        with caplog.at_level("INFO", "verify"), Pool(1, progress=False) as pool:
            pool.results([training_task(run, store) for run in asked])
        assert caplog.messages == found


def test_two_jobs_do_not_write_one_store(tmp_path):
    """They did the work twice.

    What is finished can be read beside; a job that is killed holds nothing.
    """
    store = Store(tmp_path, RunResult)
    with Pool(1, progress=False) as pool:
        done = pool.results([training_task(HEAD, store)])
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert other.stdout.readline() == b"held\n"
    with Pool(1, progress=False) as pool:
        assert pool.results([training_task(HEAD, store)]) == done
        with pytest.raises(InvalidParameter, match="is being written by another process"):
            pool.results([training_task(HEAD.varied(index=1), store)])
    other.kill()
    other.communicate()
    with Pool(1, progress=False) as pool:
        assert pool.results([training_task(HEAD.varied(index=1), store)])
