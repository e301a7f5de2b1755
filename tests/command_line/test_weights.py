"""`python -m numeric weights`: what it prints and writes, its control, and its figure."""

import csv
import json

import numpy as np
import pytest
from matplotlib.image import imread

from numeric.plotting import caption_of, heads_figure
from numeric.real.head_spectra import head_spectra
from numeric.real.heads import HeadFile

pytest.importorskip("powerlaw")

LAYERS, HEADS, RANK, DIM = 2, 3, 8, 40


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A file of random heads; head 2 of layer 1 has one direction of its own."""
    rng, arrays = np.random.default_rng(4), {}
    for layer in range(LAYERS):
        for one in "qk":
            array = rng.standard_normal((HEADS * RANK, DIM))
            if layer == 1:
                array[2 * RANK] = 4 * np.sqrt(DIM) * np.eye(DIM)[0]
            arrays[f"layers.{layer}.self_attn.{one}_proj.weight"] = array
    folder = tmp_path_factory.mktemp("weights")
    (folder / "config.json").write_text(json.dumps({"num_attention_heads": HEADS}))
    np.savez(folder / "model.npz", **arrays)
    np.save(folder / "tokens.npy", rng.standard_normal((200, DIM)) * np.linspace(0.2, 2, DIM))
    return folder / "model.npz"


@pytest.fixture(autouse=True)
def no_wait(monkeypatch):
    """No line of progress on a slow machine."""
    monkeypatch.setattr("attention_erm.runtime.progress.PATIENCE", 1e9)


def test_one_head_of_six_has_an_outlier(said, weights, tmp_path):
    table, figure = tmp_path / "heads.csv", tmp_path / "heads.png"
    code, out, err = said("weights", str(weights), "--csv", str(table), "--plot", str(figure))
    assert (code, err.count("\n")) == (0, 1), err  # where the data of the figure are
    heading, *lines = out.splitlines()
    assert heading.split()[:2] == ["layer", "head"] and "explained by" in heading
    assert len(lines[: LAYERS * HEADS]) == 6
    with table.open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    outliers = [int(row["outliers"]) for row in rows]
    assert outliers[-1] == 1
    assert sum(outliers[:-1]) <= 1  # one random matrix of 20 has a value above the edge
    assert rows[-1]["explanation"] != "initialisation"
    assert sum(row["explanation"] == "initialisation" for row in rows) >= 4
    assert imread(figure).std() > 0
    assert len(json.loads(figure.with_suffix(".json").read_text())["heads"]) == 6


def test_the_document_has_all_fits_with_intervals(numeric, weights):
    document = json.loads(numeric("weights", str(weights), "--json"))
    assert document["parameters"]["file"] == str(weights)
    last = document["heads"][-1]
    assert len(last["values"]) == RANK and len(last["fits"]) == 5
    for fit in last["fits"]:
        assert set(fit["intervals"]) <= set(fit["numbers"])
        assert 0 < fit["p_value"] <= 1


def test_random_weights_in_place_of_the_file_have_no_outlier(numeric, weights):
    document = json.loads(numeric("weights", str(weights), "--random-weights", "--json"))
    assert sum(one["outliers"] for one in document["heads"]) <= 1
    assert sum(one["explanation"] == "initialisation" for one in document["heads"]) >= 4


def test_tokens_change_the_coordinates_of_a_head(numeric, weights):
    """A covariance is no product of random matrices."""
    tokens = str(weights.with_name("tokens.npy"))
    document = json.loads(numeric("weights", str(weights), "--tokens-file", tokens, "--json"))
    plain = json.loads(numeric("weights", str(weights), "--json"))
    ours, theirs = (
        np.array([one["effective_rank"] for one in found["heads"]]) for found in (document, plain)
    )
    assert np.all(np.abs(ours - theirs) > 1e-3)


def test_the_figure_shows_the_chosen_head(weights):
    found = head_spectra(HeadFile(weights).read())
    default, chosen = heads_figure(found), heads_figure(found, found[1])
    assert "layer 1, head 2" in caption_of(default)
    assert "layer 0, head 1" in caption_of(chosen)
    grid, values, *_ = chosen.axes
    assert grid.images[0].get_array().shape == (LAYERS, HEADS)
    assert np.allclose(values.lines[0].get_ydata(), found[1].values)


def test_a_head_that_is_not_there_is_refused_before_anything_is_fitted(said, weights, monkeypatch):
    monkeypatch.setattr("numeric.real.head_spectra.head_spectra", None)
    code, out, err = said("weights", str(weights), "--head", "2,0")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("--head 2,0: is not among the 6 heads")
