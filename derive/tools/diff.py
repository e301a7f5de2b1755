"""`derive diff`: what each equation of the generated code on disk computes against what the model now derives."""

import inspect
from dataclasses import dataclass
from types import ModuleType

import mpmath
import sympy as sp

from derive.code.printers import multiprecision
from derive.code.proofs.generated_module import load
from derive.code.proofs.oracles import POINTS, sample
from derive.language.elementary import TABLE
from derive.language.step import Function, Step
from derive.pipeline import functions

UNCHANGED = "unchanged"
_DIGITS = 30
_TOLERANCE = mpmath.mpf(10) ** (5 - _DIGITS)  # closed forms lose up to a few digits at the reference points


@dataclass(frozen=True)
class Change:
    """One equation: `unchanged`, `text changed`, `value changed`, `added` or `removed`, with a point that shows it."""

    equation: str
    verdict: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.equation}: {self.verdict}{f' at {self.where}' if self.where else ''}"


def compare(source: str, title: str, steps: tuple[Step, ...]) -> list[Change]:
    """Compare the source of a multiprecision module with a fresh one, equation by equation.

    Raises:
        SyntaxError: it is no Python; besides, whatever running it raises.
    """
    old, fresh = load(source), load(multiprecision.module(title, steps))
    found = [change for _, function in functions(steps) for change in _compare_function(old, fresh, function)]
    known = {function.name for _, function in functions(steps)} | {entry.name for entry in TABLE}
    return found + [
        Change(name, "removed") for name, _ in inspect.getmembers(old, inspect.isfunction) if name not in known
    ]


def _compare_function(old: ModuleType, fresh: ModuleType, function: Function) -> list[Change]:
    names = function.equation_ids()
    if not hasattr(old, function.name):
        return [Change(name, "added") for name in names]
    before, after = getattr(old, function.name), getattr(fresh, function.name)
    if inspect.signature(before) != inspect.signature(after):
        arguments = ", ".join(list(inspect.signature(before).parameters)[1:])
        return [Change(name, f"value changed (its inputs were {arguments})") for name in names]
    differing = _differing_points(before, after, function)
    same_text = inspect.getsource(before) == inspect.getsource(after)
    verdict = UNCHANGED if same_text else "text changed"
    return [
        Change(name, "value changed", differing[k]) if k in differing else Change(name, verdict)
        for k, name in enumerate(names)
    ]


def _differing_points(before, after, function: Function) -> dict[int, str]:  # type: ignore[no-untyped-def]
    """For each output that differs, a reference point with both values."""
    result: dict[int, str] = {}
    mp = mpmath.mp.clone()
    mp.dps = _DIGITS
    for point in range(POINTS):
        exact = sample(function, point)
        inputs = [_number(mp, value) for value in exact]
        pairs = zip(_as_tuple(before(mp, *inputs)), _as_tuple(after(mp, *inputs)), strict=True)
        for k, (left, right) in enumerate(pairs):
            if k not in result and abs(left - right) > _TOLERANCE * max(abs(left), abs(right)):
                where = ", ".join(f"{symbol} = {value}" for symbol, value in zip(function.inputs, exact, strict=True))
                result[k] = f"{where}: {mp.nstr(left, 10)} -> {mp.nstr(right, 10)}"
    return result


def _number(mp, value: sp.Expr):  # type: ignore[no-untyped-def]
    real, imaginary = value.as_real_imag()
    parts = [mp.mpf(int(part.p)) / int(part.q) for part in (real, imaginary)]
    return mp.mpc(*parts) if imaginary != 0 else parts[0]


def _as_tuple(value: object) -> tuple:  # type: ignore[type-arg]
    return value if isinstance(value, tuple) else (value,)
