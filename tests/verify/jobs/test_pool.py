"""Jobs over the cores: in which order, how often, and what becomes of one that fails."""

import time
from pathlib import Path

import pytest

from numeric.maths.domain import OutsideDomain
from verify.jobs.pool import Job, Pool, WorkerError


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
    return Job(written_down, (notes, word), stage, cost, word)


def test_the_longest_job_begins_first_and_results_keep_their_order(notes):
    with Pool(1, progress=False) as pool:
        assert pool.results([job(notes, "short", 1), job(notes, "long", 9), job(notes, "medium", 3)]) == [
            "SHORT", "LONG", "MEDIUM"
        ]  # fmt: skip
    assert notes.read_text().split() == ["long", "medium", "short"]


def test_a_job_is_done_once_whoever_asks_for_it(notes):
    with Pool(2, progress=False) as pool:
        assert pool.results([job(notes, "one"), job(notes, "one", 5, "elsewhere")]) == ["ONE", "ONE"]
        before = time.perf_counter()
        assert pool.results([job(notes, "one", 2, "later")]) == ["ONE"]
        assert time.perf_counter() - before < 0.1
        assert len(pool.seconds) == 1  # its time counts for one stage
    assert notes.read_text().split() == ["one"]


@pytest.mark.parametrize(("error", "seen"), [(OutsideDomain, OutsideDomain), (KeyError, WorkerError)])
def test_where_the_theory_has_no_answer_is_told_from_what_went_wrong(error, seen, notes):
    """And what had finished is kept."""
    with Pool(1, progress=False) as pool:
        with pytest.raises(seen, match="at these values"):
            pool.results([job(notes, "done", 9), Job(fail, (error,), "made up", 1, "the second job")])
        assert pool.results([job(notes, "done")]) == ["DONE"]
    assert notes.read_text().split() == ["done"]
