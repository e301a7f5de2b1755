"""Explanation for `derive explain`: the equation behind a name or a line of generated code, with
its derivation step.
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import sympy as sp

from attention_erm.runtime.text_table import WIDTH
from derive.code import emit, manifest
from derive.code.printers import latex
from derive.language.model import Model
from derive.language.notation import BY_NAME
from derive.language.setting import notation_of
from derive.language.step import Function, Step
from derive.pipeline import derive, functions


class UnknownEquation(LookupError):
    """There is no such equation, or no equation at this line."""


@dataclass(frozen=True)
class Explanation:
    """Generated function, with its derivation step and its locations in the generated files."""

    step: Step
    function: Function
    locations: tuple[str, ...]

    def record(self) -> dict[str, object]:
        """Return the explanation as plain data."""
        return {
            "function": self.function.name,
            "meaning": self.function.meaning,
            "step": {"name": self.step.name, "title": self.step.title, "reason": self.step.reason},
            "equations": [
                {
                    "id": identifier,
                    "expression": str(output.expression),
                    "latex": latex.equation(output),
                }
                for identifier, output in zip(
                    self.function.equation_ids(), self.function.outputs, strict=True
                )
            ],
            "inputs": [
                {
                    "name": str(symbol),
                    **{
                        part: getattr(notation_of(symbol), part)
                        for part in ("glyph", "meaning", "unit", "domain")
                    },
                }
                for symbol in self.function.inputs
            ],
            "locations": list(self.locations),
        }

    def text(self) -> str:
        """Return the explanation as text for a terminal."""
        lines = [f"{self.function.name}: {self.function.meaning}", ""]
        for identifier, output in zip(
            self.function.equation_ids(), self.function.outputs, strict=True
        ):
            lines += [
                f"{identifier} =",
                *(f"    {row}" for row in _pretty(output.expression).splitlines()),
                "",
            ]
        lines += [
            f"    {row.glyph:4} {row.meaning} [{row.unit}], {row.domain}"
            for row in map(notation_of, self.function.inputs)
        ]
        reason = textwrap.wrap(
            self.step.reason, WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4
        )
        lines += ["", f"step {self.step.name}: {self.step.title}", *reason, ""]
        return "\n".join([*lines, *(f"at {place}" for place in self.locations)])


def _pretty(expression: sp.Expr) -> str:
    glyphs = {
        symbol: sp.Symbol(notation_of(symbol).glyph)
        for symbol in expression.free_symbols
        if str(symbol) in BY_NAME
    }
    return str(
        sp.pretty(
            expression.xreplace(glyphs), use_unicode=True, num_columns=WIDTH - 4, wrap_line=True
        )
    )


def explain(query: str, model: Model) -> Explanation:
    """Find an equation by its id, by the name of its function, or by FILE:LINE.

    A name that the current files do not record is refused without a derivation.

    Args:
        query: the id, name, or FILE:LINE.
        model: the model.

    Raises:
        Unknown: nothing has this name, or the line belongs to no generated function.
    """
    folder = manifest.model_folder(model.name)
    wanted = _function_at(query, folder) if re.fullmatch(r".+:\d+", query) else query
    records = manifest.current_records(model.name)
    known = {record["id"] for record in records or ()}
    if records is None or wanted in known | {identifier.split(".")[0] for identifier in known}:
        for step, function in functions(derive(model)):
            if wanted in (function.name, *function.equation_ids()):
                return Explanation(step, function, tuple(_locations(function.name, folder)))
    raise UnknownEquation(
        f"unknown equation {query!r}; `python -m derive list {model.name}` lists all equations; "
        "--model names another model"
    )


def _locations(name: str, folder: Path) -> list[str]:
    places = []
    for path in (*sorted(folder.glob("*.py")), *emit.imported_shared_files(folder)):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith(f"def {name}("):
                places.append(f"generated/{path.relative_to(manifest.GENERATED)}:{number}")
    return places


def _is_named(path: Path, file: Path) -> bool:
    """Return whether `path`, which may be partial, names this file."""
    return path.parts[-len(file.parts) :] == file.parts


def _function_at(query: str, folder: Path) -> str:
    file, line = query.rsplit(":", 1)
    paths = [
        path
        for path in (*folder.glob("*.py"), *emit.imported_shared_files(folder))
        if _is_named(path, Path(file))
    ]
    if not paths:
        raise UnknownEquation(
            f"no generated file {Path(file).name!r} in generated/{folder.name}, and none that it "
            "imports"
        )
    path = paths[0]
    lines = path.read_text().splitlines()
    if not 1 <= int(line) <= len(lines):
        raise UnknownEquation(f"{path.name} has lines 1 to {len(lines)}, not {line}")
    above = lines[: int(line)]
    names = [
        match.group(1) for match in (re.match(r"def (\w+)\(", text) for text in above) if match
    ]
    if not names:
        raise UnknownEquation(
            f"line {line} of {path.name} lies before the first generated function"
        )
    return names[-1]
