"""Query and key weights of the attention heads of a trained network, read from a file.

The score of two tokens is x^T S y with S = W_Q^T W_K, a d x d matrix of rank m, the dimension of
the head. Biases, which shift a score by terms of one token, are left out.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attention_erm.runtime.errors import InvalidParameter
from numeric.real.tensors import TensorFile
from numeric.real.tokens import TokenTable

Array = NDArray[np.float64]
LAYER = "{layer}"  #: place of the number of the layer in the pattern of a name
CONFIG = "config.json"
_HEAD_KEYS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads")
_SHOWN = 4  # names in a message


class Head(NamedTuple):
    """One attention head.

    Attributes:
        layer: number of the layer, from 0 on, in the order of the file's names.
        number: number of the head in its layer, from 0 on.
        source: name of the array with the query weights.
        query: W_Q, shape (m, d).
        key: W_K, shape (m, d).
    """

    layer: int
    number: int
    source: str
    query: Array
    key: Array

    def seen_by(self, tokens: TokenTable) -> "Head":
        """Return the head in the coordinates of tokens of covariance one, C^1/2 S C^1/2.

        Args:
            tokens: token vectors with their covariance C.

        Raises:
            InvalidParameter: the tokens have another dimension.
        """
        size, dim = len(tokens.axes), self.query.shape[1]
        if size != dim:
            rule = f"must have the dimension of the weights, {dim}"
            raise InvalidParameter("tokens_file", f"vectors of length {size}", rule, "use others")
        root = tokens.axes * np.sqrt(tokens.covariance)
        return self._replace(query=self.query @ root, key=self.key @ root)


def random_heads(heads: Sequence[Head], seed: int = 0) -> list[Head]:
    """Return heads of the same shapes with independent Gaussian weights.

    Args:
        heads: the heads.
        seed: seed of the weights.
    """
    rng = np.random.default_rng(seed)
    return [
        one._replace(
            query=rng.standard_normal(one.query.shape), key=rng.standard_normal(one.key.shape)
        )
        for one in heads
    ]


class _Layout(NamedTuple):
    """How networks of one kind name and store query and key weights.

    Attributes:
        query: pattern of the query's name.
        key: pattern of the key's name, the same if one array has queries, keys and values.
        parts: divides a stored array, (rows, d) with one row for each output, and the number of
            heads into queries and keys; used if both have one name.
        transposed: whether inputs are rows.
    """

    query: str
    key: str
    parts: "Callable[[Array, int], tuple[Array, Array]] | None" = None
    transposed: bool = False


def _stacked(array: Array, heads: int) -> tuple[Array, Array]:
    """Queries of all heads, then keys, then values."""
    query, key, _ = np.split(array, 3)
    return query, key


def _by_head(array: Array, heads: int) -> tuple[Array, Array]:
    """Query, key and value of each head in turn."""
    size = array.shape[1]
    query, key, _ = np.moveaxis(array.reshape(heads, 3, -1, size), 1, 0)
    return query.reshape(-1, size), key.reshape(-1, size)


#: BERT and ViT; DistilBERT; Llama, Mistral, OPT, CLIP; T5; GPT-2; torch; timm; GPT-NeoX.
LAYOUTS = (
    _Layout("{layer}.attention.self.query.weight", "{layer}.attention.self.key.weight"),
    _Layout("{layer}.attention.attention.query.weight", "{layer}.attention.attention.key.weight"),
    _Layout("{layer}.attention.q_lin.weight", "{layer}.attention.k_lin.weight"),
    _Layout("{layer}.self_attn.q_proj.weight", "{layer}.self_attn.k_proj.weight"),
    _Layout("{layer}.layer.0.SelfAttention.q.weight", "{layer}.layer.0.SelfAttention.k.weight"),
    _Layout("{layer}.attn.c_attn.weight", "{layer}.attn.c_attn.weight", _stacked, True),
    _Layout("{layer}.self_attn.in_proj_weight", "{layer}.self_attn.in_proj_weight", _stacked),
    _Layout("{layer}.attn.in_proj_weight", "{layer}.attn.in_proj_weight", _stacked),
    _Layout("{layer}.attn.qkv.weight", "{layer}.attn.qkv.weight", _stacked),
    _Layout(
        "{layer}.attention.query_key_value.weight",
        "{layer}.attention.query_key_value.weight",
        _by_head,
    ),
)


@dataclass(frozen=True)
class HeadFile:
    """Attention heads in a file of weights.

    Args:
        path: file .safetensors, .npz or .npy.
        query: pattern of the names of query weights with `{layer}` for the number of the layer, by
            default that of a known kind of network. It must match the end of a name, and the
            arrays have one row for each output.
        key: pattern of the names of key weights; the same as `query` if one array has queries,
            keys and values.
        heads: number of heads of a layer; by default that in config.json beside the file.

    Raises:
        InvalidParameter: a file cannot be read, or a pattern is no pattern.
    """

    path: Path
    query: str | None = None
    key: str | None = None
    heads: int | None = None

    def __post_init__(self) -> None:
        if (self.query is None) != (self.key is None):
            name = "key" if self.key is None else "query"
            raise InvalidParameter(name, "", "is missing: both are needed", f"add --{name}")
        for name in ("query", "key"):
            pattern = getattr(self, name)
            if pattern is not None and pattern.count(LAYER) != 1:
                rule = f"must contain {LAYER} once, for the number of the layer"
                way_out = "write layers.{layer}.query.weight"
                raise InvalidParameter(name, repr(pattern), rule, way_out)

    @cached_property
    def file(self) -> TensorFile:
        """The file of weights."""
        return TensorFile(self.path)

    @cached_property
    def layers(self) -> tuple[tuple[str, str], ...]:
        """Names of the arrays of queries and keys, layer by layer.

        Raises:
            InvalidParameter: there are none, or some layers lack one.
        """
        query, key = self._layout.query, self._layout.key
        queries, keys = (_matches(pattern, self.file.tensors) for pattern in (query, key))
        if missing := sorted(set(queries) ^ set(keys)):
            prefix, number = missing[0]
            name, pattern = ("key", key) if missing[0] in queries else ("query", query)
            shown = f"{prefix}{pattern.replace(LAYER, str(number))}"
            rule = f"is not in {self.path.name}, which has the other half of this layer"
            raise InvalidParameter(name, shown, rule, f"check the pattern {pattern}")
        return tuple((queries[place], keys[place]) for place in sorted(queries))

    @cached_property
    def _layout(self) -> _Layout:
        if self.query is not None and self.key is not None:
            parts = _stacked if self.query == self.key else None
            layouts: Sequence[_Layout] = (_Layout(self.query, self.key, parts),)
        else:
            layouts = LAYOUTS
        for one in layouts:
            if _matches(one.query, self.file.tensors):
                return one
        rule = f"has no array whose name ends like {self.query or 'that of a known network'}"
        matrices = [name for name, one in self.file.tensors.items() if len(one.shape) == 2]
        shown = ", ".join(sorted(matrices)[:_SHOWN]) or "no matrix"
        way_out = f"name them with --query and --key; it has {shown}"
        raise InvalidParameter("file", str(self.path), rule, way_out)

    @cached_property
    def count(self) -> int:
        """Number of heads of a layer.

        Raises:
            InvalidParameter: it is not stated, and config.json beside the file does not state it.
        """
        if self.heads is not None:
            return self.heads
        path = self.path.with_name(CONFIG)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {}
        for name in _HEAD_KEYS:
            stated = found.get(name) if isinstance(found, dict) else None
            if type(stated) is int and stated > 0:
                return stated
        rule = f"is not known: {path} does not state it"
        raise InvalidParameter("heads", "", rule, "add --heads")

    def read(self) -> list[Head]:
        """Return all heads, layer by layer.

        Raises:
            InvalidParameter: an array is quantised, or has no shape of weights of these heads.
        """
        found = []
        for layer, names in enumerate(self.layers):
            queries, keys = self._read_layer(*names)
            shared = len(queries) // len(keys)  # queries of each key
            found += [
                Head(layer, number, names[0], query, keys[number // shared])
                for number, query in enumerate(queries)
            ]
        return found

    def _read_layer(self, query: str, key: str) -> tuple[Array, Array]:
        """Return queries (heads, m, d) and keys (heads that have their own, m, d)."""
        layout, count = self._layout, self.count
        for name in (query, key):
            stored = self.file.stored(name)
            _require_weights(len(stored.shape) == 2, name, stored.shape, "must be a matrix")
        if layout.parts is None:
            queries, keys = (_oriented(self.file.array(name), layout) for name in (query, key))
        else:
            whole = _oriented(self.file.array(query), layout)
            rule = f"must have rows for queries, keys and values of {count} heads"
            _require_weights(len(whole) % (3 * count) == 0, query, whole.shape, rule)
            queries, keys = layout.parts(whole, count)
        rows, columns = queries.shape
        rule = f"must have rows for {count} heads, of at most {columns} dimensions each"
        size = rows // count
        fits = rows % count == 0 and 0 < size <= columns
        _require_weights(fits, query, queries.shape, rule)
        rule = f"must have as many columns as the queries, {columns}"
        _require_weights(keys.shape[1] == columns, key, keys.shape, rule)
        own = len(keys) // size
        rule = f"must have {size} rows for each of {count} heads, or of equal groups of heads"
        fits = len(keys) == own * size and own > 0 and count % own == 0
        _require_weights(fits, key, keys.shape, rule)
        return queries.reshape(count, size, columns), keys.reshape(own, size, columns)


def _require_weights(holds: bool, name: str, shape: tuple[int, ...], rule: str) -> None:
    if not holds:
        shown = f"{name} of shape {' x '.join(map(str, shape))}"
        raise InvalidParameter("tensor", shown, rule, "check --heads and the patterns of names")


def _oriented(array: Array, layout: _Layout) -> Array:
    return array.T if layout.transposed else array


def _matches(pattern: str, names: Mapping[str, object]) -> dict[tuple[str, int], str]:
    """Return the names that are a pattern after some prefix, by prefix and number of the layer."""
    before, after = map(re.escape, pattern.split(LAYER))
    ending = re.compile(rf"((?:.*[./])?){before}(\d+){after}")
    found = {name: ending.fullmatch(name) for name in names}
    return {(one[1], int(one[2])): name for name, one in found.items() if one}
