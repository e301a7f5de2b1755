"""Comparison of two models for `derive diff A B`, part by part and equation by equation."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from attention_erm.runtime.text_table import WIDTH
from derive.code.proofs import oracles
from derive.code.proofs.translation import is_equal
from derive.language.model import Model
from derive.language.step import Function
from derive.pipeline import derive, functions

_MOST = 400  # maximum number of printed characters of one side
_CLOSE = (
    sp.Float(10) ** -40
)  # relative tolerance of values at the reference points, which have 80 digits


@dataclass(frozen=True)
class Equation:
    """One statement of a model: title of its step, name, left-hand side or inputs, and content."""

    step: str
    name: str
    text: str
    content: sp.Basic
    function: Function | None = None


@dataclass(frozen=True)
class Row:
    """Comparison of one equation: `same`, `differs`, `only in A` or `only in B`, with both sides as
    text.
    """

    step: str
    name: str
    verdict: str
    first: str | None
    second: str | None


@dataclass(frozen=True)
class Difference:
    """Comparison of all equations of two models, in the order of the first derivation."""

    models: tuple[str, str]
    rows: tuple[Row, ...]

    def count(self, verdict: str) -> int:
        """Return the number of rows with a verdict."""
        return sum(row.verdict == verdict for row in self.rows)

    def record(self) -> dict[str, object]:
        """Return the comparison as plain data."""
        return {"models": list(self.models), "rows": [vars(row) for row in self.rows]}

    def text(self) -> str:
        """Return the comparison as text, step by step.

        It has both sides of equations that differ, names of equations of one model only, and
        counts.
        """
        steps = filter(None, map(self._of_step, dict.fromkeys(row.step for row in self.rows)))
        counts = ", ".join(
            f"{self.count(verdict)} {verdict}" for verdict in ("same", "differ", *self._alone)
        )
        return "\n\n".join([*steps, counts])

    def _of_step(self, step: str) -> str:
        rows = [row for row in self.rows if row.step == step]
        lines: list[str] = []
        for row in rows:
            if row.verdict == "differ":
                lines.append(f"  {row.name}: differ")
                for name, side in zip(self.models, (row.first, row.second), strict=True):
                    lines += wrap_text(f"    {name}: ", truncate(side or ""))
        for verdict in self._alone:
            names = [row.name for row in rows if row.verdict == verdict]
            lines += wrap_text(f"  {verdict}: ", ", ".join(names)) if names else []
        return "\n".join([step, *lines]) if lines else ""

    @property
    def _alone(self) -> tuple[str, ...]:
        return tuple(f"only in {name}" for name in self.models)


def truncate(text: str) -> str:
    """Return a text, cut if it would fill a screen."""
    return (
        text
        if len(text) <= _MOST
        else f"{text[:_MOST]}... ({len(text)} characters, all of them with --json)"
    )


def wrap_text(head: str, text: str) -> list[str]:
    """Return lines for a terminal; lines after the first are indented.

    Args:
        head: beginning of the first line.
        text: the rest.
    """
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * 6, break_on_hyphens=False
    )


def compare(first: Model, second: Model) -> Difference:
    """Compare everything that two models state and derive.

    Args:
        first: first model.
        second: second model.
    """
    left, right = ({(e.step, e.name): e for e in equations(model)} for model in (first, second))
    rows = []
    for key in (*left, *(key for key in right if key not in left)):
        one, other = left.get(key), right.get(key)
        verdict = f"only in {first.name if one else second.name}"
        if one and other:
            verdict = "same" if expressions_equal(one, other) else "differ"
        rows.append(Row(*key, verdict, one.text if one else None, other.text if other else None))
    order = list(dict.fromkeys(row.step for row in rows))
    return Difference(
        (first.name, second.name), tuple(sorted(rows, key=lambda row: order.index(row.step)))
    )


def equations(model: Model) -> Iterator[Equation]:
    """Yield the statements of the model, and each formula and each generated function of its
    derivation.
    """
    for name, value in model_parts(model).items():
        yield Equation(
            "What is stated",
            name,
            str(value),
            sp.sympify(value) if isinstance(value, sp.Basic) else sp.Symbol(value),
        )
    for step in derive(model):
        for display in step.displays:
            yield Equation(step.title, display.left, str(display.right), sp.sympify(display.right))
    for step, function in functions(derive(model)):
        for name, output in zip(function.equation_ids(), function.outputs, strict=True):
            yield Equation(step.title, name, str(output.expression), output.expression, function)


def model_parts(model: Model) -> dict[str, str | sp.Basic]:
    """Return the parts of a model file."""
    matrix, target, channel = model.matrix, model.target, model.channel
    return {
        "class of the matrix": matrix.kind.value,
        "cost of an eigenvalue s": matrix.cost(sp.Symbol("s")),
        "rank over d": matrix.rank_ratio,
        "law of the target": target.name,
        "z(g)": target.inverse_stieltjes,
        **{f"{symbol} of the target": value for symbol, value in target.definitions},
        "index": repr(model.index),
        "output": model.output_of_index,
        "label": model.label(model.symbols).as_immutable(),
        "label is drawn": str(channel.drawn is not None),
        "flips": channel.flips,
        "loss": model.loss_of_numbers,
        "inverse temperatures": sp.Tuple(channel.beta, channel.beta0),
        "noise inside, on the label": sp.Tuple(channel.noise_inside, channel.noise_on_label),
    }


def expressions_equal(one: Equation, other: Equation) -> bool:
    """Return whether both equations have the same expression.

    Numerical values at the reference points show a difference; equality is proven symbolically.

    Args:
        one: first equation.
        other: second equation.
    """
    left, right = one.content, other.content
    if left == right:
        return True
    if (
        isinstance(left, sp.MatrixBase | sp.Tuple)
        or isinstance(right, sp.MatrixBase | sp.Tuple)
        or left.is_Symbol
    ):
        return False
    if one.function and other.function and _values_differ(one, other):
        return False
    return is_equal(left, right)


def _values_differ(one: Equation, other: Equation) -> bool:
    symbols = one.content.free_symbols | other.content.free_symbols
    for point in range(oracles.POINTS):
        values = oracles.reference(symbols, point)
        left, right = (oracles.evaluate(equation.content, values) for equation in (one, other))
        if abs(left - right) > _CLOSE * max(abs(left), abs(right)):
            return True
    return False
