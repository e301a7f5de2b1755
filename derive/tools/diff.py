"""Comparison for `derive diff`: each equation of the generated code on disk with the one that the
model now derives.
"""

import inspect
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flint import acb

from derive.code.printers.languages import BALLS
from derive.code.printers.python import module
from derive.code.proofs.generated_module import load
from derive.code.proofs.oracles import POINTS, sample
from derive.code.proofs.stored_values import ARITHMETIC
from derive.language.elementary import TABLE
from derive.language.step import Function, Step
from derive.pipeline import functions

UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Change:
    """Result for one equation: `unchanged`, `text changed`, `value changed`, `added` or `removed`,
    with a point that shows it.
    """

    equation: str
    verdict: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.equation}: {self.verdict}{f' at {self.where}' if self.where else ''}"


def compare(source: str, title: str, steps: tuple[Step, ...]) -> list[Change]:
    """Compare the source of a ball module with a new derivation, equation by equation.

    A value has changed if the enclosures before and after are disjoint.

    Args:
        source: source of the module on disk.
        title: title of the model.
        steps: new derivation.

    Raises:
        SyntaxError: `source` is not valid Python. Any exception from running it is also passed on.
    """
    old, fresh = load(source), load(module(title, steps, BALLS))
    found = [
        change
        for _, function in functions(steps)
        for change in _compare_function(old, fresh, function)
    ]
    known = {function.name for _, function in functions(steps)} | {entry.name for entry in TABLE}
    return found + [
        Change(name, "removed")
        for name, _ in inspect.getmembers(old, inspect.isfunction)
        if name not in known
    ]


def _compare_function(old: ModuleType, fresh: ModuleType, function: Function) -> list[Change]:
    names = function.equation_ids()
    if not hasattr(old, function.name):
        return [Change(name, "added") for name in names]
    before, after = getattr(old, function.name), getattr(fresh, function.name)
    if inspect.signature(before) != inspect.signature(after):
        arguments = ", ".join(inspect.signature(before).parameters)
        return [Change(name, f"value changed (its inputs were {arguments})") for name in names]
    differing = _differing_points(before, after, function)
    same_text = inspect.getsource(before) == inspect.getsource(after)
    verdict = UNCHANGED if same_text else "text changed"
    return [
        Change(name, "value changed", differing[k]) if k in differing else Change(name, verdict)
        for k, name in enumerate(names)
    ]


def _differing_points(before: Any, after: Any, function: Function) -> dict[int, str]:
    """Return a reference point with both values, for each output that differs."""
    result: dict[int, str] = {}
    for point in range(POINTS):
        exact = sample(function, point)
        pairs = zip(
            *(ARITHMETIC["balls"].outputs(module, exact) for module in (before, after)), strict=True
        )
        for k, (left, right) in enumerate(pairs):
            if k not in result and not acb(left).overlaps(acb(right)):
                where = ", ".join(
                    f"{symbol} = {value}"
                    for symbol, value in zip(function.inputs, exact, strict=True)
                )
                result[k] = f"{where}: {_text(left)} -> {_text(right)}"
    return result


def _text(ball) -> str:  # type: ignore[no-untyped-def]
    """Return the centre of a ball to ten digits."""
    return str(ball.mid().str(10, radius=False))
