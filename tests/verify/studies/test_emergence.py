"""Emerging features: intervals of n_k in made-up curves, the model's maps, and a small study from
end to end.
"""

import dataclasses
import json

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.sequential_recovery import feature_overlaps
from verify.__main__ import main
from verify.core.data import DataKind
from verify.core.run import Run
from verify.studies.emergence.location import emergence_interval
from verify.studies.emergence.overlaps import model_overlaps
from verify.studies.emergence.study import OverlapPoint

pytestmark = pytest.mark.usefixtures("no_workers")

SAMPLES = np.array([100, 150, 225, 340, 500, 760])
RUN = Run(
    Problem(4000 / 60**2, power_law(0.75, 60), 1.0, 0.5), 60, data=DataKind.GAUSSIAN_EQUIVALENT
)


def share_and_chance(samples: np.ndarray, n_k: float) -> np.ndarray:
    """A made-up feature: what is held of it rises from n_k on, and its eigenvector jumps into place
    around it, shape (samples, 2).
    """
    steps = np.log(samples / n_k)
    return np.stack([0.4 * np.maximum(steps, 0.0), 0.9 / (1 + np.exp(-30 * steps))], axis=1)


LINE = (np.geomspace(40, 2000, 400), share_and_chance(np.geomspace(40, 2000, 400), 300.0))


def drawn(n_k: float, runs: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Runs that hold so much, up to .02, and see the eigenvector or do not."""
    found = share_and_chance(SAMPLES, n_k)
    return [
        np.stack(
            [held + 0.02 * rng.standard_normal(runs), 0.9 * (rng.random(runs) < aligned / 0.9)],
            axis=1,
        )
        for held, aligned in found
    ]


def located(n_k: float, rng: np.random.Generator, seed: int):
    model = drawn(300.0, 400, np.random.default_rng(1))
    return emergence_interval(SAMPLES, drawn(n_k, 8, rng), model, LINE, 300.0, 0.95, seed)


@pytest.mark.slow
def test_the_interval_holds_what_the_runs_were_drawn_from_as_often_as_it_says():
    rng = np.random.default_rng(0)
    found = [located(n_k, rng, seed) for seed, n_k in enumerate([250.0, 300.0, 360.0] * 40)]
    assert all(one is not None and one.low <= one.value <= one.high for one in found)
    hits = sum(n_k in one for one, n_k in zip(found, [250.0, 300.0, 360.0] * 40, strict=True))
    assert abs(hits / 120 - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 120)
    assert np.median([one.high / one.low for one in found]) < 1.2  # no empty statement either


def test_a_jump_between_two_numbers_of_samples_is_not_taken_for_knowledge_of_where():
    """Runs all see the feature at one n and none at the one before: a level interpolated between
    had an interval of one per cent.
    """
    jump = [np.tile([0.0, 0.9 if n > 240 else 0.0], (8, 1)) for n in SAMPLES]
    noisy = [values + [[0.05 * (-1) ** i, 0.0] for i in range(8)] for values in jump]
    model = drawn(300.0, 400, np.random.default_rng(1))
    assert emergence_interval(SAMPLES, noisy, model, LINE, 300.0, 0.95, 0).high > 1.05 * 300


def test_a_feature_that_is_never_seen_has_no_interval():
    nothing = [np.zeros((8, 2)) for _ in SAMPLES]
    model = drawn(300.0, 400, np.random.default_rng(0))
    assert emergence_interval(SAMPLES, nothing, model, LINE, 300.0, 0.95, 0) is None


def test_maps_of_the_model_have_the_overlaps_of_the_formula():
    solution = solve(RUN.problem)
    maps, expected = model_overlaps(solution, RUN, 3, 200), feature_overlaps(solution, 3)
    for found, formula in zip(maps, expected, strict=True):
        assert np.all(
            np.abs(found.mean(axis=0) - formula)
            < 4 * found.std(axis=0) / np.sqrt(200) + formula / 60
        )
    again = model_overlaps(solution, RUN, 3, 200)
    assert np.array_equal(maps.held, again.held)
    unlearned = solve(dataclasses.replace(RUN.problem, lambda_=50.0))
    assert not model_overlaps(unlearned, RUN, 3, 5).held.any()


def test_maps_of_the_model_score_as_normal_numbers_and_those_of_another_noise_do_not():
    solution = solve(RUN.problem)
    model, formula = model_overlaps(solution, RUN, 4, 400), feature_overlaps(solution, 4)
    judged = np.ones(4, bool)
    scores = [
        OverlapPoint(
            60,
            4000,
            model_overlaps(solution, RUN.varied(entropy=seed), 4, 8),
            model,
            formula,
            judged,
        ).z
        for seed in range(1, 31)
    ]
    assert np.std(scores) == pytest.approx(1, abs=0.2)
    shifted = dataclasses.replace(solution, b=1.2 * solution.b)
    wrong = OverlapPoint(
        60, 4000, model_overlaps(shifted, RUN.varied(entropy=1), 4, 8), model, formula, judged
    )
    assert np.abs(wrong.z).max() > 4


SMALL = [
    "emergence",
    "--dim",
    "24",
    "--runs",
    "3",
    "--alpha",
    "0.15:1.5:6",
    "--features",
    "2",
    "--workers",
    "1",
    "--json",
]


@pytest.mark.slow
def test_the_command_trains_judges_and_draws(tmp_path, capsys):
    assert main([*SMALL, "--out", str(tmp_path)]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert [one["feature"] for one in found["emergences"]] == [1, 2]
    for one in found["emergences"]:
        assert one["trained"]["low"] < one["trained"]["value"] < one["trained"]["high"]
        assert one["judged"]["low"] <= one["trained"]["low"]
    assert [place["samples"] for place in found["places"]] == sorted(
        place["samples"] for place in found["places"]
    )
    assert found["places"][0]["held"]["model"] == [0.0, 0.0] and found["places"][0]["z"] == [
        None,
        None,
    ]
    assert (tmp_path / "emergence.png").stat().st_size > 20_000


@pytest.mark.slow
def test_shuffled_labels_show_no_feature(tmp_path, capsys):
    assert main([*SMALL, "--out", str(tmp_path), "--shuffle-labels"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["agrees"] and not any(one["agrees"] for one in found["emergences"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--alpha", "1,2"], "--alpha 1,2: must have at least 4 values"),
        (["--alpha", "1,2,3,7"], "--alpha 1,2,3,7: has steps beyond a factor of two"),
        (["--features", "11"], "--features 11: must be at most 10|--features 11"),
        (["--dim", "10"], "--dim 10"),
        (
            ["--dim", "400", "--alpha", "1,2,3,4"],
            "--dim 400: .* GiB, allowed are 8; lower it, or alpha",
        ),
    ],
)
def test_bad_input_is_one_line(changed, message, tmp_path):
    with pytest.raises(InvalidParameter, match=message):
        main(["emergence", "--out", str(tmp_path), *changed])
