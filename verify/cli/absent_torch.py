"""A stand-in for torch where it is not installed: with it command lines can be read and helped with, which trains nothing.

Modules name types of torch where they are imported, and use the rest where they train.
"""

import sys
from importlib.util import find_spec
from types import ModuleType


class AbsentTorch(ModuleType):
    """What modules of this package name of torch at their import."""

    Tensor = object
    float64 = None


def torch_is_absent() -> bool:
    """Whether torch is not installed; then `import torch` gives the stand-in from here on."""
    absent = find_spec("torch") is None
    if absent:
        sys.modules["torch"] = AbsentTorch("torch")
    return absent
