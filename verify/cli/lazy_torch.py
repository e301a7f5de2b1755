"""torch takes seconds to load, which nobody should wait who reads help or is refused: it is loaded
at its first use.

What imports it before gets the module that will be torch, and may use it in functions, not where it
is defined. Where torch is not installed the place stays empty, and the command lines can be read
all the same.
"""

import sys
from functools import partial
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


def install_lazy_torch() -> None:
    """From here on `import torch` gives a module with nothing in it, which fills itself when asked
    for anything.
    """
    spec = find_spec("torch")
    module = sys.modules["torch"] = module_from_spec(spec) if spec else ModuleType("torch")
    if spec:
        module.__dict__["__getattr__"] = partial(_filled, module)


def _filled(module: ModuleType, name: str) -> Any:
    del module.__dict__["__getattr__"]
    assert module.__spec__ and module.__spec__.loader
    module.__spec__.loader.exec_module(module)
    return getattr(module, name)


def has_torch() -> bool:
    """Return whether it is installed, loaded or not."""
    return sys.modules["torch"].__spec__ is not None
