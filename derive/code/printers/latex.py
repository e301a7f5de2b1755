"""LaTeX of the derivation: one document for each model, and single formulas for `explain` and
reports.
"""

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

_LINE = 80  # maximum number of printed characters of a line
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
    """Return the LaTeX of an expression in the notation of the table."""
    names = LATEX | {REPLICAS: "r", TEMPERATURE: r"\tau"}
    return str(_Printer({"symbol_names": names, "order": "lex"}).doprint(expression))


def _width(text: str) -> int:
    """Return the approximate number of printed characters, without markup."""
    bare = re.sub(r"\\(frac|left|right|operatorname|hat|sqrt|quad)|[{}^_ ]", "", text)
    return len(re.sub(r"\\[a-zA-Z]+", "xx", bare))


def equation(output: Output) -> str:
    """Return the LaTeX of a generated equation, with its left-hand side."""
    return f"{output.left} = {formula(output.expression)}"


def _lines(left: str, expression: sp.Expr) -> str:
    """Return an equation, with line breaks between terms if it is long."""
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
    """Return the lines of an equation; a long argument of an imaginary part gets its own line."""
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
    """Return a display of equations, each given as left-hand side and expression."""
    rows = [row for left, expression in equations for row in _rows(left, expression)]
    return "\\begin{align*}\n  " + " \\\\\n  ".join(rows) + "\n\\end{align*}\n"


_GLYPHS = "<>≤≥²³⁴₀₁₂₊‖ᵀ·αγδκℓτμΣ∂∫"
_COMMANDS = r"""< > \le \ge ^2 ^3 ^4 _0 _1 _2 _+ \| ^T \cdot
\alpha \gamma \delta \kappa \ell \tau \mu \Sigma \partial \int"""
_MATH = {glyph: f"${tex}$" for glyph, tex in zip(_GLYPHS, _COMMANDS.split(), strict=True)}
_ESCAPES = str.maketrans({"_": r"\_", "½": "{1/2}", **_MATH})


def _text(words: str) -> str:
    """Return plain text as LaTeX; ^ followed by letters or digits is a power."""
    raised = re.sub(
        r"\^(-?[A-Za-z0-9]+)?", lambda found: f"$^{{{found[1]}}}$" if found[1] else r"\^{}", words
    )
    return raised.replace("->", r"$\to$").translate(_ESCAPES)


def _section(step: Step) -> str:
    parts = [f"\\section{{{_text(step.title)}}}\n{step.reason}\n"]
    if step.displays:
        parts.append(aligned((display.left, display.right) for display in step.displays))
    for function in step.functions:
        name, meaning = _text(function.name), _text(function.meaning)
        parts.append(f"\\paragraph{{\\texttt{{{name}}}}} {meaning}.\n")
        parts.append(aligned((output.left, output.expression) for output in function.outputs))
    return "\n".join(parts)


def _used(steps: tuple[Step, ...]) -> set[sp.Symbol]:
    """Return the symbols of all formulas and generated equations."""
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
    """Return the document, which pdflatex compiles with amsmath, longtable and geometry.

    Args:
        model: the model.
        steps: its derivation.
    """
    title = _text(model.title)
    head = rf"""\documentclass[10pt]{{article}}
\usepackage[T1]{{fontenc}}
\usepackage[margin=2cm]{{geometry}}
\usepackage{{amsmath,amssymb,longtable}}
\allowdisplaybreaks
\setlength{{\parindent}}{{0pt}}
\title{{{title}}}
\author{{derived by SymPy}}
\date{{}}
\begin{{document}}
\maketitle
"""
    sections = (_model(model), *map(_section, steps), _skipped(model))
    notation = _symbols(_used(steps) | set(model.settings))
    return head + "\n".join(sections) + notation + "\\end{document}\n"


_CLASS = {
    Kind.POSITIVE: ("positive semidefinite", r"$S=WW^T/\sqrt{md}$", "eigenvalue"),
    Kind.SYMMETRIC: ("symmetric", r"$S=(W_+W_+^T-W_-W_-^T)/\sqrt{md}$", "eigenvalue"),
    Kind.GENERAL: ("general", r"$S=QK^T/\sqrt{md}$", "singular value"),
}


def _model(model: Model) -> str:
    """Return the section on the model."""
    matrix, target, channel = model.matrix, model.target, model.channel
    kind, factors, value = _CLASS[matrix.kind]
    trained = f"trained by the factors of {factors}" if matrix.linear != 0 else "trained directly"
    rows, columns = model.index.shape
    index = rf"$h_{{ab}}=x_a^TSy_b/\sqrt d$ of {rows} queries and {columns} keys, which differ"
    if isinstance(model.index, SymmetricScores):
        tokens = "one token" if rows == 1 else f"{rows} tokens"
        index = rf"$h_{{ab}}=(x_a^TSx_b-\delta_{{ab}}\operatorname{{tr}}S)/\sqrt d$ of {tokens}"
    numbers = zip(family("o", len(model.output_of_index)), model.output_of_index, strict=True)
    definitions = ((formula(symbol), form) for symbol, form in target.definitions)
    channel_equations = (
        *((formula(number), form) for number, form in numbers),
        (r"\ell(o,y)", model.loss_of_numbers),
        (r"\text{noise inside}", channel.noise_inside),
        (r"\text{noise on the label}", channel.noise_on_label),
    )
    label = model.label(model.symbols)
    if channel.has_own_label:
        letter = "y" if channel.drawn is None else "p"
        channel_equations += tuple(
            (rf"{letter}_{{{k}}}", number) for k, number in enumerate(label, 1)
        )
    if channel.flips != 0:
        channel_equations += ((r"\text{flips}", channel.flips),)
    student, teacher = (
        "" if beta == 1 else rf"{formula(beta)}\," for beta in (channel.beta, channel.beta0)
    )
    return "\n".join(
        (
            r"\section{The model}",
            rf"The matrix $S$ is {kind} and {trained}. There are $n=\alpha d^2$ samples.",
            rf"Each sample shows the indices {index}. Each {value} of size $s$ costs $d$ times",
            aligned(((r"\text{penalty}", matrix.cost(sp.Symbol("s"))),)),
            f"The law of the {value}s of the target, {_text(target.name)}, has the inverse "
            "Stieltjes",
            "transform",
            aligned((("z(g)", target.inverse_stieltjes), *definitions)),
            rf"The output $o$ of the student is the function below at ${student}h$. The label $y$ "
            r"is",
            rf"{_label_in_words(model)} at ${teacher}(h_0+\text{{noise}})$, with the index $h_0$ "
            r"of the target.",
            "The variances of the noise are given below; inside, per unit of variance of the "
            "index.",
            aligned(channel_equations),
        )
    )


def _label_in_words(model: Model) -> str:
    """Return the continuation of "The label $y$ is"."""
    channel = model.channel
    flips = "" if channel.flips == 0 else ", with a share of flips replaced by another value,"
    if channel.drawn is not None:
        return rf"one-hot, drawn with the probabilities $p${flips}"
    return f"{'the function $y$ below' if channel.label else 'the same function'}{flips}"


def _skipped(model: Model) -> str:
    """Return the section on skipped steps, with the reasons."""
    items = [f"\\item {_text(title)}: {_text(reason)}.\n" for title, reason in skipped_steps(model)]
    if not items:
        return ""
    head = "\\section{Steps that do not apply}\n\\begin{itemize}\n"
    return f"{head}{''.join(items)}\\end{{itemize}}\n"


def equation_records(steps: tuple[Step, ...]) -> list[dict[str, str]]:
    """Return the formulas and the generated equations as records for reports, in order."""
    formulas = [
        {
            "id": f"{step.name}.{number}",
            "title": step.title,
            "step": step.name,
            "latex": f"{display.left} = {formula(display.right)}",
        }
        for step in steps
        for number, display in enumerate(step.displays, 1)
    ]
    equations = [
        {"id": name, "title": function.meaning, "step": step.name, "latex": equation(output)}
        for step, function in functions(steps)
        for name, output in zip(function.equation_ids(), function.outputs, strict=True)
    ]
    return formulas + equations
