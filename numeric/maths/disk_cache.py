"""Arrays that take longer to make than to read: kept on disk beside the compiled kernels."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from numeric.maths.kernels import KernelCache, digest

Array = NDArray[np.float64]


def disk_cached(make: Callable[..., Array], *arguments: Any) -> Array:
    """What `make(*arguments)` gives, made once per installation, and anew when its module, NumPy or SciPy has changed.

    Where nothing can be kept, it is made each time.
    """
    folder = KernelCache(make).folder
    if folder is None:
        return make(*arguments)
    made_of = digest(sys.modules[make.__module__]), np.__version__, scipy.__version__, arguments
    path = folder / f"{make.__name__}-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]}.npy"
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):  # there is none, or it was cut short
        made = make(*arguments)
        _keep(path, made)
        return made


def _keep(path: Path, made: Array) -> None:
    """Whole or not at all, whoever else makes it."""
    unfinished = path.with_suffix(f".{os.getpid()}.npy")
    try:
        np.save(unfinished, made)
        unfinished.replace(path)
    except (
        OSError
    ):  # a disk that is full or read-only, of which a line tells where kernels are compiled
        unfinished.unlink(missing_ok=True)
