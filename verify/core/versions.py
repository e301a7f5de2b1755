"""Library versions on which numbers may depend."""

from __future__ import annotations

import platform
from importlib.metadata import version

LIBRARIES = ("torch", "numpy", "scipy", "numba")


def versions() -> dict[str, str]:
    """Return the versions of the libraries on which numbers may depend."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
