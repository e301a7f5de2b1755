"""What a model file may not state."""

import sympy as sp


class ModelError(ValueError):
    """A model file that states something impossible; the text gives value, rule and way out."""


class UnknownSymbol(KeyError):
    """A name that is not in the notation table."""


def require_exact(what: str, expression: sp.Expr) -> None:
    """Raises ModelError if there are floats in the expression."""
    if expression.atoms(sp.Float):
        raise ModelError(f"{what} = {expression} has floats, which are not exact; write sp.Rational")
