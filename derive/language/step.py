"""Containers of a derivation: a Step has a reason, formulas to show, and functions to generate."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.notation import LATEX


@dataclass(frozen=True)
class Display:
    """Formula shown in the derivation: `left` is LaTeX, `right` an expression."""

    left: str
    right: sp.Expr


@dataclass(frozen=True)
class Output:
    """Named value of a generated function; `left` is the LaTeX of its left-hand side."""

    name: str
    left: str
    expression: sp.Expr


@dataclass(frozen=True)
class Function:
    """Function to generate, with `inputs` in the order of its signature.

    `cancels` is True if the value can be much smaller than its terms. The float64 code then
    includes a bound on the rounding error.
    """

    name: str
    meaning: str
    inputs: tuple[sp.Symbol, ...]
    outputs: tuple[Output, ...]
    cancels: bool = False

    def __post_init__(self) -> None:
        names = [str(symbol) for symbol in self.inputs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise DerivationError(
                f"{self.name}: two inputs are named {min(twice)}; rename the setting of the model"
            )
        for output in self.outputs:
            if stray := output.expression.free_symbols - set(self.inputs):
                raise DerivationError(
                    f"{self.name}.{output.name}: free symbols {sorted(map(str, stray))} are not "
                    "inputs "
                    f"{[str(symbol) for symbol in self.inputs]}: was a limit left untaken?"
                )

    def equation_ids(self) -> tuple[str, ...]:
        """Identifiers of the equations: `function`, or `function.output` if there are several
        outputs.
        """
        if len(self.outputs) == 1:
            return (self.name,)
        return tuple(f"{self.name}.{output.name}" for output in self.outputs)


def scalar(
    name: str, meaning: str, inputs: tuple[sp.Symbol, ...], left: str, expression: sp.Expr
) -> Function:
    """Return a function with one output that has the name of the function.

    Args:
        name: name.
        meaning: short description.
        inputs: symbols in the order of the signature.
        left: LaTeX of the left-hand side.
        expression: the value.
    """
    return Function(name, meaning, inputs, (Output(name, left, expression),))


@dataclass(frozen=True)
class Step:
    """One pass of the derivation; `reason` is LaTeX text that explains why it is needed here."""

    name: str
    title: str
    reason: str
    displays: tuple[Display, ...] = ()
    functions: tuple[Function, ...] = ()


def outputs(
    values: Mapping[sp.Symbol, sp.Expr] | Mapping[str, sp.Expr], left: str = "{}", name: str = "{}"
) -> tuple[Output, ...]:
    """Return the outputs of a function.

    Args:
        values: expression of each output, by its symbol or by a text.
        left: LaTeX of the left-hand sides, with {} in place of the symbol or text.
        name: names of the outputs, with {} in place of the symbol or text.
    """
    return tuple(
        Output(name.format(key), left.format(key if isinstance(key, str) else latex(key)), value)
        for key, value in values.items()
    )


def latex(symbol: sp.Symbol) -> str:
    """Return the LaTeX of a symbol, from the table of symbols if it is there."""
    return LATEX.get(symbol) or sp.latex(symbol)


def other_symbols(*expressions: sp.Basic, known: Iterable[sp.Symbol] = ()) -> tuple[sp.Symbol, ...]:
    """Return the free symbols of expressions, without known ones, sorted by name.

    Args:
        *expressions: the expressions.
        known: symbols to leave out.
    """
    return tuple(sorted(sp.Tuple(*expressions).free_symbols - set(known), key=str))


def factored(expression: sp.Expr) -> sp.Expr:
    """Return a factored expression whose signs do not depend on the hash seed.

    SymPy sorts generators by name and number, and reads t as t0: which of the two leads, and so the
    sign of a factor, is left to the order of a set. So names that end in 0 are changed meanwhile.

    Args:
        expression: the expression.
    """
    renamed = {
        one: sp.Symbol(f"{one.name}_", **one.assumptions0)
        for one in expression.free_symbols
        if isinstance(one, sp.Symbol) and one.name.endswith("0")
    }
    back = {new: one for one, new in renamed.items()}
    return sp.factor(expression.xreplace(renamed)).xreplace(back)


def require_zero(expression: sp.Expr, claim: str) -> None:
    """Check that `expression` is zero after simplification.

    Args:
        expression: the expression.
        claim: the claim, for the error message.

    Raises:
        DerivationError: it is not zero.
    """
    rest = sp.cancel(sp.together(sp.expand(expression)))
    if rest != 0:
        raise DerivationError(f"{claim}: {rest} is left over")
