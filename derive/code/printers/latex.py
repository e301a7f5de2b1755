"""LaTeX of the derivation: one readable document per model, and single formulas for `explain` and reports."""

import re
from collections.abc import Iterable

import sympy as sp
from sympy.printing.latex import LatexPrinter

from derive.language.elementary import TABLE, ImaginaryPart
from derive.language.model import Model
from derive.language.notation import LATEX
from derive.language.notation import TABLE as NOTATION
from derive.language.step import Output, Step
from derive.passes.free_entropy.replicas import REPLICAS, TEMPERATURE
from derive.pipeline import functions

_LINE = 80  # printed characters that fit a line of the document
_OPERATORS = {entry.symbolic: entry.latex for entry in TABLE if entry.latex}
_REMAINDER = r"\mathcal{R}"


class _Printer(LatexPrinter):
    def _print_Function(self, expr: sp.Expr, exp: str | None = None) -> str:
        operator = _OPERATORS.get(type(expr))
        if operator is None:
            return str(super()._print_Function(expr, exp))
        text = rf"{operator}\left({self._print(expr.args[0])}\right)"
        return f"{text}^{{{exp}}}" if exp else text


def formula(expression: sp.Expr) -> str:
    """LaTeX of an expression in the glyphs of the notation table."""
    return str(
        _Printer({"symbol_names": LATEX | {REPLICAS: "r", TEMPERATURE: r"\tau"}, "order": "lex"}).doprint(expression)
    )


def _width(text: str) -> int:
    """Printed characters, about: markup does not count."""
    bare = re.sub(r"\\(frac|left|right|operatorname|hat|sqrt|quad)|[{}^_ ]", "", text)
    return len(re.sub(r"\\[a-zA-Z]+", "xx", bare))


def equation(output: Output) -> str:
    """One generated equation, left-hand side included."""
    return f"{output.left} = {formula(output.expression)}"


def _lines(left: str, expression: sp.Expr) -> str:
    """The equation in as many lines as its terms need."""
    lines: list[str] = []
    current = ""
    for term in expression.as_ordered_terms():
        text = formula(term)
        piece = text if text.startswith("-") or not (current or lines) else "+" + text
        if current and _width(current + piece) > _LINE:
            lines.append(current)
            current = ""
        current += piece
    return f"{left} &= " + " \\\\\n  &\\quad ".join([*lines, current])


def _rows(left: str, expression: sp.Expr) -> list[str]:
    """Lines of one equation; the argument of an imaginary part gets its own when it is long."""
    if isinstance(expression, sp.MatrixBase):
        return [f"{left} &= {formula(expression)}"]
    long_product = expression.is_Mul and _width(formula(expression)) > _LINE
    rows, shown = [], sp.expand_mul(expression, deep=False) if long_product else expression
    for part in sorted(shown.atoms(ImaginaryPart), key=sp.default_sort_key):
        if _width(formula(part)) > _LINE:
            shown = shown.xreplace({part: ImaginaryPart(sp.Symbol(_REMAINDER))})
            rows.append(_lines(_REMAINDER, part.args[0]))
    return [_lines(left, shown), *rows]


def aligned(equations: Iterable[tuple[str, sp.Expr]]) -> str:
    """Display of equations given as (left-hand side, expression)."""
    rows = [row for left, expression in equations for row in _rows(left, expression)]
    return "\\begin{align*}\n  " + " \\\\\n  ".join(rows) + "\n\\end{align*}\n"


_ESCAPES = str.maketrans(
    {
        "_": r"\_",
        "^": r"\^{}",
        "<": "$<$",
        ">": "$>$",
        "≤": r"$\le$",
        "²": "$^2$",
        "₀": "$_0$",
        "₁": "$_1$",
        "₂": "$_2$",
        "₊": "$_+$",
        "·": r"$\cdot$",
    }
    | {
        "α": r"$\alpha$",
        "γ": r"$\gamma$",
        "δ": r"$\delta$",
        "κ": r"$\kappa$",
        "μ": r"$\mu$",
        "Σ": r"$\Sigma$",
        "∂": r"$\partial$",
        "∫": r"$\int$",
    }
)


def _text(words: str) -> str:
    return words.replace("->", r"$\to$").translate(_ESCAPES)


def _section(step: Step) -> str:
    parts = [f"\\section{{{_text(step.title)}}}\n{step.reason}\n"]
    if step.displays:
        parts.append(aligned((display.left, display.right) for display in step.displays))
    for function in step.functions:
        parts.append(f"\\paragraph{{\\texttt{{{_text(function.name)}}}}} {_text(function.meaning)}.\n")
        parts.append(aligned((output.left, output.expression) for output in function.outputs))
    return "\n".join(parts)


def _symbols() -> str:
    rows = [f"${entry.latex}$ & {_text(entry.meaning)} \\\\" for entry in NOTATION]
    return "\\section*{Notation}\n\\begin{longtable}{ll}\n" + "\n".join(rows) + "\n\\end{longtable}\n"


def document(model: Model, steps: tuple[Step, ...]) -> str:
    """A document that compiles with pdflatex (amsmath, longtable, geometry)."""
    head = (
        "\\documentclass[10pt]{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[margin=2cm]{geometry}\n\\usepackage{amsmath,amssymb,longtable}\n"
        "\\allowdisplaybreaks\n\\setlength{\\parindent}{0pt}\n"
        f"\\title{{{_text(model.title)}}}\n\\author{{derived by SymPy}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
    )
    return head + "\n".join(_section(step) for step in steps) + _symbols() + "\\end{document}\n"


def equation_records(steps: tuple[Step, ...]) -> list[dict[str, str]]:
    """Shown formulas and generated equations, in order, as records for reports."""
    records = []
    for step in steps:
        for number, display in enumerate(step.displays, 1):
            records.append(
                {
                    "id": f"{step.name}.{number}",
                    "title": step.title,
                    "step": step.name,
                    "latex": f"{display.left} = {formula(display.right)}",
                }
            )
    for step, function in functions(steps):
        for identifier, output in zip(function.equation_ids(), function.outputs, strict=True):
            records.append({"id": identifier, "title": function.meaning, "step": step.name, "latex": equation(output)})
    return records
