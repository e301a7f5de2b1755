"""Files of tensors: what is read, what is refused, and that no file is executed or ends in a
traceback.
"""

import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric.real.tensors import TensorFile

safetensors = pytest.importorskip("safetensors")

VALUES = np.array([[1.5, -2.0, 0.25], [0.0, 3.0, -0.5]])
KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def stored(name, kind, data, shape=VALUES.shape):
    """The bytes of a .safetensors file with one tensor."""
    header = json.dumps({name: {"dtype": kind, "shape": shape, "data_offsets": [0, len(data)]}})
    return struct.pack("<Q", len(header)) + header.encode() + data


def bfloat16(values):
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()


@pytest.mark.parametrize("kind", [*KINDS, "BF16"])
def test_floats_of_each_kind_are_read(tmp_path, kind):
    data = bfloat16(VALUES) if kind == "BF16" else VALUES.astype(KINDS[kind]).tobytes()
    path = tmp_path / "w.safetensors"
    path.write_bytes(stored("a.weight", kind, data))
    assert np.array_equal(TensorFile(path).array("a.weight"), VALUES)
    assert TensorFile(path).stored("a.weight").shape == (2, 3)


def test_arrays_of_numpy_are_read(tmp_path):
    np.save(tmp_path / "one.npy", VALUES.astype(np.float16))
    np.savez(tmp_path / "two.npz", first=VALUES, second=VALUES[0])
    assert np.array_equal(TensorFile(tmp_path / "one.npy").array("one"), VALUES)
    two = TensorFile(tmp_path / "two.npz")
    assert list(two.tensors) == ["first", "second"]
    assert np.array_equal(two.array("second"), VALUES[0])


class Trap:
    """An object whose pickle makes a file where it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("suffix", [".pt", ".bin", ".pkl", ".npy", ".npz", ".safetensors"])
def test_pickles_are_refused_and_not_executed(tmp_path, suffix):
    trap = tmp_path / "executed"
    path = tmp_path / f"w{suffix}"
    if suffix == ".npy":
        np.save(path, np.array([Trap(trap)], dtype=object), allow_pickle=True)
    elif suffix == ".npz":
        np.save(tmp_path / "x.npy", np.array([Trap(trap)], dtype=object), allow_pickle=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / "x.npy", "x.npy")
    else:
        path.write_bytes(pickle.dumps(Trap(trap)))
    with pytest.raises(InvalidParameter):
        TensorFile(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("w.safetensors", stored("a", "I8", b"123456"), "quantised"),
        ("w.safetensors", stored("a", "F8_E4M3", b"123456"), "quantised"),
        ("w.safetensors", stored("a", "F32", np.full(6, np.nan, "<f4").tobytes()), "finite"),
        ("w.safetensors", stored("a", "F64", VALUES.tobytes())[:-3], "cannot be read"),
        ("w.safetensors", b"", "cannot be read"),
        ("w.npy", b"\x93NUMPY", "cannot be read"),
        ("w.npz", b"PK", "cannot be read"),
        ("w.gguf", b"GGUF", "must end in"),
        ("w.safetensors", stored("b", "F64", VALUES.tobytes()), "use b"),
    ],
)
def test_what_is_no_weight_is_refused(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidParameter, match=words):
        TensorFile(path).array("a")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidParameter, match="No such file"):
        TensorFile(tmp_path / "none.npy")


def read_all(path):
    try:
        file = TensorFile(path)
        for name in file.tensors:
            file.array(name)
    except InvalidParameter:
        pass


@examples(150)
@given(header=st.binary(max_size=80), claimed=st.integers(0, 2**64 - 1), exact=st.booleans())
def test_any_header_of_safetensors_is_refused_in_one_line(tmp_path_factory, header, claimed, exact):
    path = tmp_path_factory.mktemp("f") / "w.safetensors"
    path.write_bytes(struct.pack("<Q", len(header) if exact else claimed) + header)
    read_all(path)


@examples(150)
@given(
    kind=st.sampled_from(["F32", "F64", "F16", "BF16", "I64", "BOOL", "F4", "C64", "x"]),
    shape=st.lists(st.integers(-1, 2**63), max_size=3),
    ends=st.lists(st.integers(-5, 2**63), min_size=2, max_size=2),
)
def test_any_entry_of_safetensors_is_read_or_refused(tmp_path_factory, kind, shape, ends):
    header = json.dumps({"a": {"dtype": kind, "shape": shape, "data_offsets": ends}}).encode()
    path = tmp_path_factory.mktemp("f") / "w.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(48))
    read_all(path)


@examples(200)
@given(data=st.data(), suffix=st.sampled_from([".npy", ".npz", ".safetensors"]))
def test_damaged_files_are_read_or_refused(tmp_path_factory, data, suffix):
    folder = tmp_path_factory.mktemp("f")
    path = folder / f"w{suffix}"
    if suffix == ".safetensors":
        path.write_bytes(stored("a", "F64", VALUES.tobytes()))
    else:
        (np.save if suffix == ".npy" else np.savez)(path, VALUES)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    read_all(path)
