"""Source of a new model file for `derive new`: a copy of another model, part by part, with comments
on the possible values.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import sympy as sp
from sympy.printing.str import StrPrinter

from attention_erm.runtime.model_files import file_of
from derive import models
from derive.language.model import Model
from derive.language.setting import Setting

_FIELDS = ("beta", "beta0", "noise_inside", "noise_on_label", "flips")
_LABELS = ("label", "drawn")

_TEXT = '''"""{title}.

Copied from `{base}`; docs/howto/change_the_model.md shows how to
change a model, docs/explanation/models.md lists the models.
"""

{imports}

{symbols}

# A setting that only this model has, from derive.language.setting:
# width = setting("width", "where the loss turns linear").

MODEL = Model(
    name="{name}",
    title={quoted},
    # Class of S: POSITIVE, SYMMETRIC (either sign) or GENERAL; an eigenvalue of size s costs linear
    # s + quadratic s^2.
    matrix={matrix},
    # Law of the target's eigenvalues by z(g): 1/g, and rate/(inverse jump - g) for each free
    # Poisson part.
    target=Target(
        name={target},
        g=g,
        inverse_stieltjes={z},
        definitions={definitions},
    ),
    # Geometry of the indices: SymmetricScores(tokens), CrossScores(queries, keys)
    # or MaskedScores(tokens).
    index={index},
    # Output of the indices h (a function of a SymPy matrix) at inverse temperature beta, loss of
    # output and label (functions of two lists), and the label's noise: a variance per unit inside,
    # one for each number on the label. By default the label is the output; label= gives another
    # function, drawn= probabilities of classes, and flips= a share of wrong labels.
    channel={channel},
)
'''


class _Source(StrPrinter):
    """Printer of Python source that evaluates to the expression."""

    def _print_Rational(self, expr: sp.Rational) -> str:
        return f"sp.Rational({expr.p}, {expr.q})"

    def _print_Mul(self, expr: sp.Mul) -> str:
        coefficient, rest = expr.as_coeff_Mul()
        if coefficient.is_Integer:
            return str(super()._print_Mul(expr))
        # keeps (r - g)/2 in factored form
        return f"{self._print(coefficient.p * rest)}/{coefficient.q}"

    def _print_Pow(self, expr: sp.Pow, rational: bool = False) -> str:
        if expr.exp == sp.Rational(1, 2):
            return f"sp.sqrt({self._print(expr.base)})"
        return str(super()._print_Pow(expr, rational=False))

    def _print_Function(self, expr: sp.Function) -> str:
        return f"sp.{super()._print_Function(expr)}"


def _python(expression: sp.Expr) -> str:
    return re.sub(r"(?<!\*)\*(?!\*)|/", r" \g<0> ", _Source({"order": "old"}).doprint(expression))


def source(name: str, base: Model) -> str:
    """Return the source of a file for a new model that is a copy of `base`.

    Args:
        name: name of the new model.
        base: model to copy.
    """
    matrix, target, sample = base.matrix, base.target, base.channel
    title = f"{base.title}, changed"
    penalty = {
        field: value for field in ("linear", "quadratic") if (value := getattr(matrix, field)) != 0
    }
    penalty |= {"rank_ratio": matrix.rank_ratio} if matrix.rank_ratio != 1 else {}
    cost = ", ".join(f"{field}={_python(value)}" for field, value in penalty.items())
    heats = {
        field: value
        for field in _FIELDS
        if (value := getattr(sample, field)) != type(sample).__dataclass_fields__[field].default
    }
    numbers = "".join(f", {field}={_python(value)}" for field, value in heats.items())
    definitions = "".join(f"({symbol}, {_python(value)}), " for symbol, value in target.definitions)
    functions = {
        part: _function(part, function, base.name)
        for part in ("output", "loss", *_LABELS)
        if (function := getattr(sample, part)) is not None
    }
    labels = "".join(f", {part}={functions[part][1]}" for part in _LABELS if part in functions)
    symbols = {*base.settings, *target.parameters, target.g}
    used_sp = "sp." in cost + numbers + definitions + _python(target.inverse_stieltjes)
    return _TEXT.format(
        name=name,
        base=base.name,
        title=title.replace("\\", ""),
        quoted=json.dumps(title, ensure_ascii=False),
        imports="\n".join(_imports(base, [line for line, _ in functions.values()], used_sp)),
        symbols="\n".join(_symbols(symbols)),
        matrix=f"Matrix({matrix.kind}, {cost})",
        target=json.dumps(target.name, ensure_ascii=False),
        z=_python(target.inverse_stieltjes),
        definitions=f"({definitions.rstrip()})" if definitions else "()",
        index=repr(base.index),
        channel=f"Channel({functions['output'][1]}, {functions['loss'][1]}{labels}{numbers})",
    )


def _function(part: str, function: Callable[..., object], base: str) -> tuple[str, str]:
    """Return the import line and the expression of an output, a loss or a label."""
    module, name = function.__module__, function.__qualname__
    if name.isidentifier():
        return f"from {module} import {name}", name
    return f"from derive.models.{base} import MODEL as BASE", f"BASE.channel.{part}"


def _imports(base: Model, functions: Iterable[str], used_sp: bool) -> Iterator[str]:
    settings = any(isinstance(symbol, Setting) for symbol in base.settings)
    lines = {
        "from derive.language.channel import Channel",
        f"from derive.language.index import {type(base.index).__name__}",
        "from derive.language.matrix import Kind, Matrix",
        "from derive.language.model import Model",
        "from derive.language.notation import sym",
        *(["from derive.language.setting import setting"] if settings else []),
        "from derive.language.target import Target",
        *functions,
    }
    if used_sp:
        yield from ("import sympy as sp", "")
    modules: dict[str, list[str]] = {}
    for line in lines:
        module, _, name = line.removeprefix("from ").partition(" import ")
        modules.setdefault(module, []).extend(name.split(", "))
    yield from (
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(modules.items())
    )


def _symbols(symbols: Iterable[sp.Symbol]) -> Iterator[str]:
    known = sorted(str(symbol) for symbol in symbols if not isinstance(symbol, Setting))
    yield f'{", ".join(known)}{"," if len(known) == 1 else ""} = sym("{" ".join(known)}")'
    for symbol in sorted(symbols, key=str):
        if isinstance(symbol, Setting):
            name, meaning, unit, domain, samples = symbol.declaration
            yield f'{name} = setting("{name}", {meaning!r}, "{samples}", "{domain}", {unit!r})'


def write(name: str, text: str) -> Path:
    """Write the file of a new model atomically.

    Args:
        name: name of the new model, or path of its file.
        text: source of the file.

    Raises:
        ModelError: the name is invalid.
        FileExistsError: a model has this name.
    """
    file = file_of(name)
    folder = file.parent if file else Path(next(iter(models.__path__)))
    name = file.stem if file else name
    models.require_name(name, f"NAME {name}")
    if file and name in models.available():
        raise FileExistsError(name)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        Path(temporary).chmod(0o644)
        os.link(
            temporary, path := folder / f"{name}.py"
        )  # fails if the file exists; otherwise the file is complete
    finally:
        Path(temporary).unlink()
    return path
