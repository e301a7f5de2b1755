"""What a model file may not state, and what a derivation may not meet. Without SymPy, which commands load only where they derive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy as sp


class ModelError(ValueError):
    """A model file that states something impossible; the text gives value, rule and way out."""


class UnknownSymbol(KeyError):
    """A name that is not in the notation table."""


class DerivationError(AssertionError):
    """A pass found that what it relies on does not hold; no equation is produced."""


def require_exact(what: str, expression: sp.Expr) -> None:
    """Raises ModelError if there are floats in the expression."""
    if any(atom.is_Float for atom in expression.atoms()):
        raise ModelError(f"{what} = {expression} has floats, which are not exact; write sp.Rational")
