"""Containers of a derivation: a Step has a reason, formulas to show, and functions to generate."""

from dataclasses import dataclass

import sympy as sp

from derive.language.errors import DerivationError


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
                    f"{self.name}.{output.name}: free symbols {sorted(map(str, stray))} are not inputs "
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
