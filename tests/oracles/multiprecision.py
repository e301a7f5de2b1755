"""Derived functions of mpmath numbers, printed in memory: `f(mp, ...)` with an explicit context
`mp`.
"""

from functools import cache
from types import ModuleType

from derive.code.printers.languages import MULTIPRECISION
from derive.code.printers.python import module
from derive.code.proofs.generated_module import load
from derive.models import load as load_model
from derive.pipeline import derive


@cache
def multiprecision_functions(model_name: str = "tied_attention") -> ModuleType:
    """Return a module with every derived function of a model."""
    model = load_model(model_name)
    return load(module(model.title, derive(model), MULTIPRECISION))
