"""Settings declared by a model file: symbols with their own row of the notation, unknown to other
models.
"""

import keyword
import re

import sympy as sp

from derive.language import elementary
from derive.language.errors import ModelError
from derive.language.notation import BY_NAME, LATEX, SETTINGS, Notation

_TAKEN = {
    code.name.split(".")[0]
    for row in elementary.TABLE
    for name in elementary.PI
    if (code := row.code(name))
}
_TAKEN |= {
    "arb",
    "acb",
    "I",
    "ROUNDING",
    "torch",
    "np",
    "mp",
}  # names in generated modules besides functions
_TEMPORARY = re.compile(r"x\d+")
_INTERVAL = re.compile(r"\(\s*([^,]+?)\s*,\s*([^,]+?)\s*\)")


class Setting(sp.Symbol):
    """Real symbol with its notation; two settings of one name are equal only if everything they
    state is equal.
    """

    __slots__ = ("notation",)

    def __new__(cls, notation: Notation) -> "Setting":
        """Return the symbol of this row."""
        known = notation.symbol.assumptions0
        symbol = sp.Symbol.__xnew__(
            cls, str(notation.symbol), real=True, positive=known.get("positive")
        )
        symbol.notation = notation
        return symbol

    def __getnewargs_ex__(self) -> tuple[tuple[Notation], dict[str, object]]:
        return (self.notation,), {}

    def _hashable_content(self) -> tuple[object, ...]:
        return (*super()._hashable_content(), *self.declaration)

    @property
    def declaration(self) -> tuple[str, ...]:
        """Return what the model file states about the setting."""
        row = self.notation
        return str(row.symbol), row.meaning, row.unit, row.domain, " ".join(map(str, row.samples))


def setting(
    name: str, meaning: str, samples: str = "1/2 1 2", domain: str = "(0, inf)", unit: str = "1"
) -> Setting:
    """Declare a setting of the model in this file: `--settings NAME=VALUE` on the command line.

    Args:
        name: name of the symbol.
        meaning: short description.
        samples: three exact values inside `domain`, separated by blanks; equations are evaluated
            and compared there.
        domain: interval of valid values.
        unit: unit.

    Raises:
        ModelError: the name cannot be used in generated code or has another meaning there, or
            values are outside the domain.
    """
    what = f"setting {name!r}"
    if not (isinstance(name, str) and name.isidentifier()) or keyword.iskeyword(name):
        raise ModelError(f"{what}: must be a Python name; write letters, digits and underscores")
    if name in SETTINGS:
        raise ModelError(
            f"{what}: the notation has it, {BY_NAME[name].meaning}; write sym({name!r}), or "
            "another name"
        )
    if name in _TAKEN or _TEMPORARY.fullmatch(name):
        raise ModelError(
            f"{what}: generated code uses this name; choose another, e.g. {name}_value"
        )
    if not meaning.strip():
        raise ModelError(f"{what}: meaning is empty; say in a few words what it is")
    low, high = _ends(what, domain)
    values = _exact(what, samples)
    if not all(low < value < high for value in values):
        raise ModelError(
            f"{what}: samples {samples!r} must lie inside its domain {domain}; give three values "
            "there"
        )
    symbol = sp.Symbol(name, real=True, positive=True if low >= 0 else None)
    return Setting(
        Notation(symbol, name, _latex(name), " ".join(meaning.split()), unit, domain, values)
    )


def notation_of(symbol: sp.Symbol) -> Notation:
    """Return the row of the notation of a symbol: its own, or that of the table.

    Raises:
        KeyError: it has neither.
    """
    return symbol.notation if isinstance(symbol, Setting) else BY_NAME[str(symbol)]


def require_setting(what: str, symbol: sp.Symbol) -> None:
    """Check that a model may use a symbol.

    Args:
        what: part of the model, for the error message.
        symbol: the symbol.

    Raises:
        ModelError: the symbol is unknown, or belongs to the theory.
    """
    name = str(symbol)
    if isinstance(symbol, Setting) or (name in SETTINGS and BY_NAME[name].symbol == symbol):
        return
    if name in SETTINGS:
        raise ModelError(
            f"{what}: {name} is not the symbol of the notation; write sym({name!r}) for it"
        )
    known = (
        f"is {BY_NAME[name].meaning} and no setting"
        if name in BY_NAME
        else "is not in the notation table"
    )
    raise ModelError(f"{what}: {name} {known}; declare one by setting({name!r}, 'what it is')")


def _ends(what: str, domain: str) -> tuple[sp.Expr, sp.Expr]:
    found = _INTERVAL.fullmatch(domain)
    ends = found.groups() if found else ()
    try:
        low, high = (
            sp.oo if end == "inf" else -sp.oo if end == "-inf" else sp.Rational(end) for end in ends
        )
    except (TypeError, ValueError, ZeroDivisionError):
        raise ModelError(
            f"{what}: domain {domain!r} is not an interval; write it as (0, inf) or (0, 1)"
        ) from None
    if not low < high:
        raise ModelError(f"{what}: domain {domain!r} is empty; write it as (0, inf) or (0, 1)")
    return low, high


def _exact(what: str, samples: str) -> tuple[sp.Rational, ...]:
    try:
        values = tuple(sp.Rational(value) for value in samples.split())
    except (TypeError, ValueError, ZeroDivisionError, AttributeError):
        values = ()
    if len(values) != 3:
        raise ModelError(
            f'{what}: samples {samples!r} must be three exact values; write them as "1/2 1 2"'
        )
    return values


def _latex(name: str) -> str:
    """Return the name as LaTeX, with a distinct form if the theory already uses this notation."""
    plain = str(sp.latex(sp.Symbol(name)))
    return rf"{{{plain}}}_{{\rm model}}" if plain in LATEX.values() else plain
