"""Arrays that take longer to make than to read: kept on disk beside the compiled kernels."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numba.core.caching import FunctionCache
from numpy.typing import NDArray

from numeric.maths.kernels import digest

Array = NDArray[np.float64]


def kept(make: Callable[..., Array], *arguments: Any) -> Array:
    """What `make(*arguments)` gives, made once per installation, and anew when its module, NumPy or SciPy has changed."""
    made_of = digest(sys.modules[make.__module__]), np.__version__, scipy.__version__, arguments
    name = f"{make.__name__}-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]}"
    path = Path(FunctionCache(make).cache_path, f"{name}.npy")
    try:
        return np.load(path)
    except (OSError, ValueError, EOFError):  # there is none, or it was cut short
        made = make(*arguments)
        unfinished = path.with_name(f"{name}.{os.getpid()}.npy")
        np.save(unfinished, made)
        unfinished.replace(path)  # whole or not at all, whoever else makes it
        return made
