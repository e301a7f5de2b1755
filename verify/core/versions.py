"""What numbers may depend on besides their parameters."""

from __future__ import annotations

import platform
from importlib.metadata import version

LIBRARIES = ("torch", "numpy", "scipy", "numba")


def versions() -> dict[str, str]:
    """Return what the numbers may depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
