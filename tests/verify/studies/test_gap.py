"""The universality gap: trends found in numbers made up, and a small one measured."""

import json

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.sobol import Sampling
from numeric.prediction import leading_features
from verify.__main__ import main
from verify.studies.gap.study import GapAtSize, _trend

pytestmark = pytest.mark.usefixtures("no_workers")


@pytest.mark.parametrize(("gamma", "power"), [(0.25, 0.5), (0.1, 0.8), (0.75, 1.0)])
def test_the_limit_of_a_trend_is_found_within_its_error(gamma, power):
    rng, scores = np.random.default_rng(0), []
    for _ in range(200):
        gaps = [
            GapAtSize(d, 8, 1.05 + 0.7 * d**-power + 0.01 * rng.standard_normal(), 0.01)
            for d in (20, 40, 80, 160)
        ]
        trend = _trend(gamma, 0, tuple(gaps))
        assert trend.power == pytest.approx(power)
        scores.append((trend.limit - 1.05) / trend.error)
    assert np.std(scores) == pytest.approx(1, abs=0.15)
    assert abs(np.mean(scores)) < 4 / np.sqrt(200)


def test_only_a_flat_spectrum_or_features_kept_exactly_must_lose_the_gap():
    gaps = tuple(GapAtSize(d, 8, 1.1, 0.001) for d in (20, 40, 80))
    assert not _trend(0.25, 0, gaps).agrees
    assert _trend(0.75, 0, gaps).agrees
    assert not _trend(0.75, 8, gaps).agrees


@pytest.fixture
def rough_theory(monkeypatch):
    """Of few points, as it is tested with numeric; what is remembered of it would be rough
    elsewhere.
    """
    remembered = (leading_features._best_factor, leading_features._best_errors)
    monkeypatch.setattr(leading_features, "SAMPLING", Sampling(1 << 11))
    for function in remembered:
        function.cache_clear()
    yield
    for function in remembered:
        function.cache_clear()


@pytest.mark.slow
def test_the_command_measures_and_draws(rough_theory, tmp_path, capsys):
    assert main(["gap", "--dim", "8,10,12", "--runs", "3", "--out", str(tmp_path), "--json"]) in (
        0,
        1,
    )
    found = json.loads(capsys.readouterr().out)
    assert [trend["gamma"] for trend in found["trends"]] == [0.25, 0.75, 0.75]
    assert all(
        gap["ratio"] > 0 and gap["error"] > 0 for trend in found["trends"] for gap in trend["gaps"]
    )
    assert (tmp_path / "gap.png").stat().st_size > 5_000


def test_two_sizes_show_no_trend(tmp_path):
    with pytest.raises(InvalidParameter, match="from 3 sizes or more"):
        main(["gap", "--dim", "8,12", "--out", str(tmp_path)])
