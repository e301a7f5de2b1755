"""Lazy import of torch: it takes seconds, so it is loaded at its first use and not for help or
refused arguments.

Modules that import torch get the module object at once and may use it inside functions. If torch is
not installed, the object stays empty and the command lines still parse.
"""

import sys
from functools import partial
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


def install_lazy_torch() -> None:
    """Make `import torch` return a module that loads itself at its first use."""
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
    """Return whether torch is installed, loaded or not."""
    return sys.modules["torch"].__spec__ is not None
