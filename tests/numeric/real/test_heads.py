"""Reading query and key weights: names of known networks, stacked arrays, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.real.heads import HeadFile
from numeric.real.tokens import TokenFile

LAYERS, HEADS, SIZE, DIM = 3, 4, 2, 8
RNG = np.random.default_rng(0)
QUERIES, KEYS, VALUES = RNG.standard_normal((3, LAYERS, HEADS * SIZE, DIM))


def stacked(layer):
    return np.concatenate([QUERIES[layer], KEYS[layer], VALUES[layer]])


def by_head(layer):
    parts = [one[layer].reshape(HEADS, SIZE, DIM) for one in (QUERIES, KEYS, VALUES)]
    return np.concatenate(parts, axis=1).reshape(-1, DIM)


def separate(query, key):
    return lambda layer: {query.format(layer): QUERIES[layer], key.format(layer): KEYS[layer]}


NETWORKS = {
    "BERT": separate(
        "encoder.layer.{}.attention.self.query.weight", "encoder.layer.{}.attention.self.key.weight"
    ),
    "DistilBERT": separate(
        "transformer.layer.{}.attention.q_lin.weight", "transformer.layer.{}.attention.k_lin.weight"
    ),
    "Llama": separate(
        "model.layers.{}.self_attn.q_proj.weight", "model.layers.{}.self_attn.k_proj.weight"
    ),
    "T5": separate(
        "encoder.block.{}.layer.0.SelfAttention.q.weight",
        "encoder.block.{}.layer.0.SelfAttention.k.weight",
    ),
    "GPT-2": lambda layer: {f"h.{layer}.attn.c_attn.weight": stacked(layer).T},
    "torch": lambda layer: {f"layers.{layer}.self_attn.in_proj_weight": stacked(layer)},
    "timm": lambda layer: {f"blocks.{layer}.attn.qkv.weight": stacked(layer)},
    "GPT-NeoX": lambda layer: {f"layers.{layer}.attention.query_key_value.weight": by_head(layer)},
}


def saved(folder, arrays, heads=HEADS, name="model.npz"):
    """A file of these arrays, with a config.json that states the number of heads."""
    path = folder / name
    np.savez(path, **arrays)
    if heads is not None:
        (folder / "config.json").write_text(json.dumps({"num_attention_heads": heads}))
    return path


def all_layers(network):
    return {
        name: one for layer in reversed(range(LAYERS)) for name, one in network(layer).items()
    } | {"embeddings.weight": np.ones((5, DIM))}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_heads_of_known_networks_are_found(tmp_path, network):
    heads = HeadFile(saved(tmp_path, all_layers(network))).read()
    places = [(one.layer, one.number) for one in heads]
    assert places == [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    for one in heads:
        rows = slice(SIZE * one.number, SIZE * (one.number + 1))
        assert np.array_equal(one.query, QUERIES[one.layer, rows])
        assert np.array_equal(one.key, KEYS[one.layer, rows])


def test_layers_are_ordered_by_number_and_not_by_name(tmp_path):
    arrays = {
        f"layers.{layer}.self_attn.{one}_proj.weight": np.full((4, 8), float(layer))
        for layer in (10, 9, 2)
        for one in "qk"
    }
    heads = HeadFile(saved(tmp_path, arrays, heads=2)).read()
    assert [one.query[0, 0] for one in heads] == [2, 2, 9, 9, 10, 10]


def test_grouped_keys_are_shared_by_neighbours(tmp_path):
    arrays = NETWORKS["Llama"](0)
    name = next(name for name in arrays if "k_proj" in name)
    arrays[name] = KEYS[0, : 2 * SIZE]
    heads = HeadFile(saved(tmp_path, arrays)).read()
    assert [float(one.key[0, 0]) for one in heads] == [KEYS[0, 0, 0]] * 2 + [KEYS[0, SIZE, 0]] * 2


@pytest.mark.parametrize("before", ["blocks.", "net.blocks.", ""])
def test_patterns_name_other_networks(tmp_path, before):
    """A pattern is the end of a name, from some part of it on."""
    path = saved(tmp_path, {"net.blocks.0.to_q": QUERIES[0], "net.blocks.0.to_k": KEYS[0]})
    (first, *_) = HeadFile(path, before + "{layer}.to_q", before + "{layer}.to_k").read()
    assert np.array_equal(first.query, QUERIES[0, :SIZE])


def test_one_pattern_names_stacked_queries_keys_and_values(tmp_path):
    path = saved(tmp_path, {"net.blocks.0.to_qkv": stacked(0)}, heads=None)
    (first, *_) = HeadFile(path, "{layer}.to_qkv", "{layer}.to_qkv", HEADS).read()
    assert np.array_equal(first.key, KEYS[0, :SIZE])


BERT = NETWORKS["BERT"](0)
QUERY, KEY = BERT


@pytest.mark.parametrize(
    ("arrays", "options", "told"),
    [
        ({"a": np.ones((4, 4))}, {}, "no array whose name ends like.*it has a"),
        ({QUERY: BERT[QUERY]}, {}, "other half of this layer"),
        (BERT, {"heads": 3}, "must have rows for 3 heads"),
        (BERT, {"heads": 16}, "must have rows for 16 heads"),
        (BERT | {KEY: KEYS[0, :, :5]}, {}, "as many columns as the queries, 8"),
        (BERT | {KEY: KEYS[0, :6]}, {}, "equal groups of heads"),
        (BERT | {KEY: KEYS[0, :3]}, {}, "equal groups of heads"),
        (BERT | {QUERY: np.ones(8)}, {}, "must be a matrix"),
        (BERT | {QUERY: np.ones((8, 8), dtype=int)}, {}, "quantised"),
        (BERT | {QUERY: np.full((8, 8), np.nan)}, {}, "must be finite"),
        ({"0.attn.qkv.weight": np.ones((8, 8))}, {}, "queries, keys and values of 4 heads"),
        (BERT, {"query": "{layer}.q"}, "key .* both are needed"),
        (BERT, {"query": "q", "key": "{layer}.k"}, "must contain {layer} once"),
        (BERT, {"query": "{layer}.q", "key": "{layer}.k"}, "ends like {layer}.q"),
    ],
)
def test_unusable_weights_are_refused(tmp_path, arrays, options, told):
    path = saved(tmp_path, arrays)
    with pytest.raises(InvalidParameter, match=told):
        HeadFile(path, **options).read()


@pytest.mark.parametrize("config", [None, "{", "[]", '{"num_attention_heads": "many"}'])
def test_an_unknown_number_of_heads_is_asked_for(tmp_path, config):
    path = saved(tmp_path, BERT, heads=None)
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    with pytest.raises(InvalidParameter, match="add --heads"):
        HeadFile(path).read()


SHAPES = st.lists(st.integers(0, 9), max_size=3).map(tuple)
NAMES = st.sampled_from(
    [
        *BERT,
        "h.0.attn.c_attn.weight",
        "0.attention.query_key_value.weight",
        "9.attn.qkv.weight",
        "0.self_attn.q_proj.weight",
        "0.self_attn.k_proj.weight",
        "attn.qkv.weight",
        "",
    ]
)


@given(
    arrays=st.dictionaries(NAMES, SHAPES, max_size=4),
    heads=st.integers(1, 5),
    kind=st.sampled_from(["f4", "f2", "i1", "c8", "U1"]),
)
@examples(200)
def test_arrays_of_any_shape_are_heads_or_refused(arrays, heads, kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    arrays = {name: np.ones(shape, dtype=kind) for name, shape in arrays.items()}
    try:
        found = HeadFile(saved(folder, arrays, heads)).read()
    except InvalidParameter as refused:
        assert "\n" not in str(refused)
    else:
        assert found and all(one.query.shape == one.key.shape for one in found)


@pytest.mark.identity
@given(seed=st.integers(0, 2**32 - 1), heads=st.sampled_from([1, 2, 4]))
@examples(10)
def test_scores_of_tokens_are_those_of_whitened_ones(seed, heads, tmp_path_factory):
    """x^T S y = z^T (C^1/2 S C^1/2) z' for tokens x = C^1/2 z, as the theory takes them."""
    folder, rng = tmp_path_factory.mktemp("tokens"), np.random.default_rng(seed)
    np.save(folder / "tokens.npy", rng.standard_normal((40, DIM)) * rng.uniform(0.5, 2, DIM))
    tokens = TokenFile(str(folder / "tokens.npy")).table
    head = HeadFile(saved(folder, BERT, heads)).read()[-1]
    seen = head.seen_by(tokens)
    x, z = (one[:2] for one in (tokens.vectors @ tokens.axes.T, tokens.whitened))
    scores = [(a @ one.query.T) @ (one.key @ b) for one, (a, b) in ((head, x), (seen, z))]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9, abs=1e-9)


def test_tokens_of_another_dimension_are_refused(tmp_path):
    np.save(tmp_path / "tokens.npy", RNG.standard_normal((40, DIM + 1)))
    head = HeadFile(saved(tmp_path, BERT)).read()[0]
    with pytest.raises(InvalidParameter, match="dimension of the weights, 8"):
        head.seen_by(TokenFile(str(tmp_path / "tokens.npy")).table)
