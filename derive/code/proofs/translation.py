"""Translation validation: generated code run on SymPy symbols gives back the expressions it was generated from."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import sympy as sp

from derive.language.step import Step
from derive.passes.spectral_function.rational_law import AngleAbove, AngleBelow, ImaginaryPart
from derive.pipeline import functions

_ELEMENTARY = {"sqrt": sp.sqrt, "tanh": sp.tanh, "sin": sp.sin, "cos": sp.cos, "pi": sp.pi}
_NUMPY = SimpleNamespace(imag=ImaginaryPart, **_ELEMENTARY)
_MPMATH = SimpleNamespace(im=ImaginaryPart, **_ELEMENTARY)


def load_source(path: Path) -> ModuleType:
    """A fresh module object of a generated file, apart from the one that imports see."""
    spec = importlib.util.spec_from_file_location(f"generated_copy_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def symbolic_module(path: Path) -> tuple[ModuleType, tuple[object, ...]]:
    """The generated module with its numerical library replaced by SymPy, and the arguments before the inputs."""
    module = load_source(path)
    if hasattr(module, "np"):
        module.np, module.angle_below, module.angle_above = _NUMPY, AngleBelow, AngleAbove  # type: ignore[attr-defined]
        return module, ()
    if hasattr(module, "arb"):
        module.arb, module.imaginary_part = SimpleNamespace(pi=lambda: sp.pi), ImaginaryPart  # type: ignore[attr-defined]
        for name in ("sqrt", "tanh", "sin", "cos"):
            setattr(module, name, _ELEMENTARY[name])
        module.angle_below, module.angle_above = AngleBelow, AngleAbove  # type: ignore[attr-defined]
        return module, ()
    module.angle_below = lambda _, w: AngleBelow(w)  # type: ignore[attr-defined]
    module.angle_above = lambda _, w: AngleAbove(w)  # type: ignore[attr-defined]
    return module, (_MPMATH,)


def same(left: sp.Expr, right: sp.Expr) -> bool:
    """Exact equality, after expansion where the structures differ."""
    return left == right or sp.expand(left) == sp.expand(right) or sp.cancel(sp.together(sp.expand(left - right))) == 0


def mistranslated(path: Path, steps: tuple[Step, ...]) -> list[str]:
    """Identifiers of the equations whose generated code in `path` is not its source expression."""
    module, leading = symbolic_module(path)
    wrong = []
    for _, function in functions(steps):
        values = getattr(module, function.name)(*leading, *function.inputs)
        values = values if isinstance(values, tuple) else (values,)
        for identifier, output, value in zip(function.equation_ids(), function.outputs, values, strict=True):
            if not same(sp.sympify(value, rational=True), output.expression):
                wrong.append(identifier)
    return wrong
