"""LaTeX of the derivation: one readable document per model, and single formulas for `explain` and reports."""

import re
from collections.abc import Iterable

import sympy as sp
from sympy.printing.latex import LatexPrinter

from derive.language.elementary import TABLE, ImaginaryPart
from derive.language.index import SymmetricScores
from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import LATEX, family
from derive.language.notation import TABLE as NOTATION
from derive.language.setting import Setting
from derive.language.step import Output, Step
from derive.passes.free_entropy.replicas import REPLICAS, TEMPERATURE
from derive.pipeline import functions, skipped_steps

_LINE = 80  # printed characters that fit a line of the document
_OPERATORS = {entry.symbolic: entry.latex for entry in TABLE if entry.latex}
_REMAINDER = r"\mathcal{R}"


class _Printer(LatexPrinter):
    def _print_Setting(self, expr: Setting) -> str:
        return expr.notation.latex

    def _print_Function(self, expr: sp.Expr, exp: str | None = None) -> str:
        operator = _OPERATORS.get(type(expr))
        if operator is None:
            return str(super()._print_Function(expr, exp))
        text = rf"{operator}\left({self._print(expr.args[0])}\right)"
        return f"{text}^{{{exp}}}" if exp else text


def formula(expression: sp.Expr) -> str:
    """LaTeX of an expression in the glyphs of the notation table."""
    return str(
        _Printer(
            {"symbol_names": LATEX | {REPLICAS: "r", TEMPERATURE: r"\tau"}, "order": "lex"}
        ).doprint(expression)
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
        "<": "$<$",
        ">": "$>$",
        "≤": r"$\le$",
        "²": "$^2$",
        "₀": "$_0$",
        "₁": "$_1$",
        "₂": "$_2$",
        "₊": "$_+$",
        "³": "$^3$",
        "⁴": "$^4$",
        "½": "{1/2}",
        "≥": r"$\ge$",
        "‖": r"$\|$",
        "ᵀ": "$^T$",
        "·": r"$\cdot$",
    }
    | {
        "α": r"$\alpha$",
        "γ": r"$\gamma$",
        "δ": r"$\delta$",
        "κ": r"$\kappa$",
        "ℓ": r"$\ell$",
        "τ": r"$\tau$",
        "μ": r"$\mu$",
        "Σ": r"$\Sigma$",
        "∂": r"$\partial$",
        "∫": r"$\int$",
    }
)


def _text(words: str) -> str:
    raised = re.sub(
        r"\^(-?[A-Za-z0-9]+)?", lambda found: f"$^{{{found[1]}}}$" if found[1] else r"\^{}", words
    )
    return raised.replace("->", r"$\to$").translate(_ESCAPES)


def _section(step: Step) -> str:
    parts = [f"\\section{{{_text(step.title)}}}\n{step.reason}\n"]
    if step.displays:
        parts.append(aligned((display.left, display.right) for display in step.displays))
    for function in step.functions:
        parts.append(
            f"\\paragraph{{\\texttt{{{_text(function.name)}}}}} {_text(function.meaning)}.\n"
        )
        parts.append(aligned((output.left, output.expression) for output in function.outputs))
    return "\n".join(parts)


def _used(steps: tuple[Step, ...]) -> set[sp.Symbol]:
    """Symbols of all that is shown and generated."""
    shown = (display.right for step in steps for display in step.displays)
    outputs = (output.expression for _, function in functions(steps) for output in function.outputs)
    return set().union(*(sp.sympify(expression).free_symbols for expression in (*shown, *outputs)))


def _symbols(used: set[sp.Symbol]) -> str:
    known = [row for row in NOTATION if row.symbol in used]
    known += sorted(
        (symbol.notation for symbol in used if isinstance(symbol, Setting)),
        key=lambda row: row.glyph,
    )
    rows = [f"${row.latex}$ & {_text(row.meaning)} \\\\" for row in known]
    return (
        "\\section*{Notation}\n\\begin{longtable}{ll}\n" + "\n".join(rows) + "\n\\end{longtable}\n"
    )


def document(model: Model, steps: tuple[Step, ...]) -> str:
    """A document that compiles with pdflatex (amsmath, longtable, geometry)."""
    head = (
        "\\documentclass[10pt]{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[margin=2cm]{geometry}\n\\usepackage{amsmath,amssymb,longtable}\n"
        "\\allowdisplaybreaks\n\\setlength{\\parindent}{0pt}\n"
        f"\\title{{{_text(model.title)}}}\n\\author{{derived by SymPy}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
    )
    sections = (_model(model), *map(_section, steps), _left_out(model))
    return (
        head
        + "\n".join(sections)
        + _symbols(_used(steps) | set(model.settings))
        + "\\end{document}\n"
    )


_CLASS = {
    Kind.POSITIVE: ("positive semidefinite", "$S=WW^T/\\sqrt{md}$", "eigenvalue"),
    Kind.SYMMETRIC: (
        "symmetric, of either sign",
        "$S=(W_+W_+^T-W_-W_-^T)/\\sqrt{md}$",
        "eigenvalue",
    ),
    Kind.GENERAL: ("general", "$S=QK^T/\\sqrt{md}$", "singular value"),
}


def _model(model: Model) -> str:
    """The section that states the problem."""
    matrix, target, channel = model.matrix, model.target, model.channel
    kind, factors, value = _CLASS[matrix.kind]
    trained = f"trained as {factors}" if matrix.linear != 0 else "trained itself"
    rows, columns = model.index.shape
    symmetric = isinstance(model.index, SymmetricScores)
    index = (
        rf"$h_{{ab}}=(x_a^TSx_b-\delta_{{ab}}\operatorname{{tr}}S)/\sqrt d$ of {rows} token{'s' * (rows > 1)}"
        if symmetric
        else rf"$h_{{ab}}=x_a^TSy_b/\sqrt d$ of {rows} queries against {columns} keys of other tokens"
    )
    numbers = zip(family("o", len(model.output_of_index)), model.output_of_index, strict=True)
    return "\n".join(
        (
            "\\section{The model}",
            rf"The matrix $S$ is {kind}, {trained}; of $n=\alpha d^2$ samples each shows {index}. One {value} of size $s$ costs "
            r"$d$ times",
            aligned((("\\text{penalty}", matrix.cost(sp.Symbol("s"))),)),
            f"The law of the {value}s of the target, {_text(target.name)}, is given by its inverse Stieltjes transform:",
            aligned(
                (
                    ("z(g)", target.inverse_stieltjes),
                    *((formula(one), form) for one, form in target.definitions),
                )
            ),
            rf"The student's numbers $o$ are the output at ${_times(channel.beta)}h$, the label's numbers $y$ that at "
            rf"${_times(channel.beta0)}(h_0+\text{{noise}})$, of a noise with the variance per unit below:",
            aligned(
                (
                    *((formula(number), form) for number, form in numbers),
                    (r"\ell(o,y)", model.loss_of_numbers),
                    (r"\text{noise inside}", channel.noise_inside),
                    (r"\text{noise on the label}", channel.noise_on_label),
                )
            ),
        )
    )


def _times(temperature: sp.Expr) -> str:
    return "" if temperature == 1 else rf"{formula(temperature)}\,"


def _left_out(model: Model) -> str:
    """Steps that do not apply, with their reasons."""
    items = [f"\\item {_text(title)}: {_text(reason)}.\n" for title, reason in skipped_steps(model)]
    if not items:
        return ""
    return (
        "\\section{Steps that do not apply}\n\\begin{itemize}\n"
        + "".join(items)
        + "\\end{itemize}\n"
    )


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
            records.append(
                {
                    "id": identifier,
                    "title": function.meaning,
                    "step": step.name,
                    "latex": equation(output),
                }
            )
    return records
