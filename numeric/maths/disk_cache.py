"""Disk cache of arrays, in the folder of the compiled kernels."""

import hashlib
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.maths.kernels import KernelCache, digest

Array = NDArray[np.float64]


def disk_cached(make: Callable[..., Array], *arguments: Any) -> Array:
    """Return `make(*arguments)`, computed once per installation.

    The result is computed again if the module of `make`, NumPy or SciPy changes, or if no cache
    folder is writable.

    Args:
        make: function that computes the array.
        *arguments: its arguments.
    """
    folder = KernelCache(make).folder
    if folder is None:
        return make(*arguments)
    key = digest(sys.modules[make.__module__]), np.__version__, scipy.__version__, arguments
    path = folder / f"{make.__name__}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.npy"
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):  # the file does not exist or is incomplete
        array = make(*arguments)
    unfinished = path.with_suffix(f".{os.getpid()}.npy")  # renamed once complete
    try:
        np.save(unfinished, array)
        unfinished.replace(path)
    except OSError:  # the disk is full or read-only; compilation of kernels logs this
        unfinished.unlink(missing_ok=True)
    return array
