"""Errors of model files and of derivations. This module does not import SymPy, which commands load
only to derive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy as sp


class ModelError(ValueError):
    """Invalid model file; the message has the value, the rule, and a way out."""


class UnknownSymbol(KeyError):
    """Name that is not in the notation table."""


class DerivationError(AssertionError):
    """An assumption of a pass does not hold; no equation is produced."""


def require_exact(what: str, expression: sp.Expr) -> None:
    """Check that a value of a model file is an expression without floats.

    Args:
        what: name of the expression, for the error message.
        expression: the expression, or an array of expressions.

    Raises:
        ModelError: it contains floats, or is something else, such as None.
    """
    from sympy import Expr, MatrixBase

    if not isinstance(expression, Expr | MatrixBase):
        raise ModelError(f"{what} = {expression} is not an expression; give a number or a symbol")
    if any(atom.is_Float for atom in expression.atoms()):
        raise ModelError(
            f"{what} = {expression} has floats, which are not exact; write sp.Rational"
        )
