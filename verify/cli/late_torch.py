"""torch takes seconds to load, which nobody should wait who reads help or mistyped an option: its place is held until it is needed.

What imports it meanwhile gets the module that will be torch, and may use it in functions, not where it is defined. Where torch is not
installed the place stays empty, and the command lines can be read all the same.
"""

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType


def hold_place() -> None:
    """From here on `import torch` gives a module with nothing in it, until `load`."""
    spec = find_spec("torch")
    sys.modules["torch"] = module_from_spec(spec) if spec else ModuleType("torch")


def load() -> bool:
    """Fill the place, if it was held; whether torch is installed."""
    spec = sys.modules["torch"].__spec__
    if spec is None or spec.loader is None:
        return False
    if not hasattr(sys.modules["torch"], "Tensor"):
        spec.loader.exec_module(sys.modules["torch"])
    return True
