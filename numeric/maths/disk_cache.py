"""Disk cache of arrays, in the folder of the compiled kernels."""

import hashlib
import io
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.maths.kernels import KernelCache, digest

Array = NDArray[np.float64]


def disk_cached(make: Callable[..., Array], *arguments: Any) -> Array:
    """Return `make(*arguments)`, computed once per installation.

    The result is computed again if the module of `make`, NumPy or SciPy changes, if the file does
    not fit its checksum, or if no cache folder is writable.

    Args:
        make: function that computes the array.
        *arguments: its arguments.
    """
    folder = KernelCache(make).folder
    if folder is None:
        return make(*arguments)
    key = digest(sys.modules[make.__module__]), np.__version__, scipy.__version__, arguments
    path = folder / f"{make.__name__}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.npy"
    with suppress(OSError, ValueError):
        content = path.read_bytes()
        if content[-4:] == _checksum(content[:-4]):
            return np.load(io.BytesIO(content[:-4]), allow_pickle=False)
    array = make(*arguments)
    written = io.BytesIO()
    np.save(written, array)
    unfinished = path.with_suffix(f".{os.getpid()}")  # renamed once complete
    try:
        unfinished.write_bytes(written.getvalue() + _checksum(written.getvalue()))
        unfinished.replace(path)
    except OSError:  # the disk is full or read-only; compilation of kernels logs this
        unfinished.unlink(missing_ok=True)
    return array


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")
