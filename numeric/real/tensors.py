"""Named arrays in files of trained networks: .safetensors, .npz and .npy.

Pickled files are refused: reading one executes code that it contains.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attention_erm.cli.messages import nearest
from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.array_files import Unreadable, first_line, read_arrays

Array = NDArray[np.float64]
KINDS = (".safetensors", ".npz", ".npy")
_PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle")
#: Kinds of numbers in a .safetensors file that are read; bfloat16 is the upper half of a float32.
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_SHOWN = 8  # names in a message


class StoredTensor(NamedTuple):
    """Array of a file: its shape, the kind of its numbers, and a function that reads it."""

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], NDArray[Any]]


@dataclass(frozen=True)
class TensorFile:
    """Arrays in a file by name; the array of a .npy file has the name of the file.

    Args:
        path: file .safetensors, .npz or .npy.

    Raises:
        InvalidParameter: it is of another kind, or cannot be read.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        kind = self.path.suffix.lower()
        if kind in _PICKLED:
            rule = "is a pickled file, which executes code when it is read"
            way_out = "save the weights as .safetensors, with safetensors.torch.save_file"
            raise InvalidParameter("file", str(self.path), rule, way_out)
        if kind not in KINDS:
            rule = f"must end in {', '.join(KINDS)}"
            raise InvalidParameter("file", str(self.path), rule, "convert it")
        _ = self.tensors  # an unreadable file is refused at once

    @cached_property
    def tensors(self) -> Mapping[str, StoredTensor]:
        """Arrays by name."""
        kind = self.path.suffix.lower()
        try:
            if kind == ".safetensors":
                return _safetensors(self.path)
            return {name: _of_array(array) for name, array in read_arrays(self.path).items()}
        except Unreadable as error:
            rule = f"cannot be read ({error})"
            raise InvalidParameter("file", str(self.path), rule, "check the path") from None

    def array(self, name: str) -> Array:
        """Return an array as float64.

        Args:
            name: its name.

        Raises:
            InvalidParameter: there is no such array, or its numbers are quantised or not finite.
        """
        stored = self.stored(name)
        found = stored.read()
        if not np.issubdtype(found.dtype, np.floating):
            rule = "has quantised numbers or integers, which are no weights by themselves"
            shown = f"{name} ({stored.dtype})"
            raise InvalidParameter("tensor", shown, rule, "give a file with float weights")
        array = np.asarray(found, dtype=np.float64)
        if bad := int(np.sum(~np.isfinite(array))):
            rule = "must be finite"
            raise InvalidParameter("tensor", f"{name}: {bad} entries", rule, "use another file")
        return array

    def stored(self, name: str) -> StoredTensor:
        """Return an array without reading it.

        Args:
            name: its name.

        Raises:
            InvalidParameter: there is no such array.
        """
        if name not in self.tensors:
            close = nearest(name, self.tensors)
            names = close or ", ".join(list(self.tensors)[:_SHOWN]) or "none"
            rule = f"is not in {self.path.name}, which has {len(self.tensors)} arrays"
            raise InvalidParameter("tensor", name, rule, f"use {names}")
        return self.tensors[name]


def _of_array(array: NDArray[Any]) -> StoredTensor:
    return StoredTensor(array.shape, str(array.dtype), lambda: array)


def _safetensors(path: Path) -> Mapping[str, StoredTensor]:
    try:
        import safetensors
    except ModuleNotFoundError:
        rule = "needs the package safetensors"
        way_out = "install attention-erm[real]"
        raise InvalidParameter("file", str(path), rule, way_out) from None
    try:
        parts = safetensors.deserialize(path.read_bytes())
    except OSError as error:
        raise Unreadable(error.strerror or first_line(error)) from None
    except safetensors.SafetensorError as error:
        raise Unreadable(first_line(error)) from None
    return {name: _stored(part) for name, part in parts}


def _stored(part: Mapping[str, Any]) -> StoredTensor:
    kind, shape, data = part["dtype"], tuple(part["shape"]), part["data"]

    def read() -> NDArray[Any]:
        if kind not in _DTYPES:
            return np.zeros(0, dtype=np.int64)  # not a float: refused by its type
        array = np.frombuffer(data, dtype=_DTYPES[kind]).reshape(shape)
        if kind == "BF16":
            return np.asarray((array.astype(np.uint32) << 16).view(np.float32))
        return array

    return StoredTensor(shape, kind, read)
