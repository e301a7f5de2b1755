"""Containers of a derivation: a Step has a reason, formulas to show, and functions to generate."""

from dataclasses import dataclass

import sympy as sp

from derive.language.errors import DerivationError


@dataclass(frozen=True)
class Display:
    """One formula shown in the derivation: `left` is LaTeX, `right` an expression."""

    left: str
    right: sp.Expr


@dataclass(frozen=True)
class Output:
    """One named value of a generated function; `left` is the LaTeX of its left-hand side."""

    name: str
    left: str
    expression: sp.Expr


@dataclass(frozen=True)
class Function:
    """A function to generate; `inputs` in the order of its signature.

    `cancels` if its value can be much smaller than its terms: its float64 code then comes with a bound on the rounding error.
    """

    name: str
    meaning: str
    inputs: tuple[sp.Symbol, ...]
    outputs: tuple[Output, ...]
    cancels: bool = False

    def __post_init__(self) -> None:
        names = [str(symbol) for symbol in self.inputs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise DerivationError(f"{self.name}: two inputs are named {min(twice)}; rename the setting of the model")
        for output in self.outputs:
            if stray := output.expression.free_symbols - set(self.inputs):
                raise DerivationError(
                    f"{self.name}.{output.name}: free symbols {sorted(map(str, stray))} are not inputs "
                    f"{[str(symbol) for symbol in self.inputs]}: was a limit left untaken?"
                )

    def equation_ids(self) -> tuple[str, ...]:
        """Identifiers of the equations, `function` or `function.output` where it has several."""
        if len(self.outputs) == 1:
            return (self.name,)
        return tuple(f"{self.name}.{output.name}" for output in self.outputs)


def scalar(name: str, meaning: str, inputs: tuple[sp.Symbol, ...], left: str, expression: sp.Expr) -> Function:
    """A function of one value, which bears the function's name."""
    return Function(name, meaning, inputs, (Output(name, left, expression),))


@dataclass(frozen=True)
class Step:
    """One pass of the derivation, with the reason for its place as LaTeX text."""

    name: str
    title: str
    reason: str
    displays: tuple[Display, ...] = ()
    functions: tuple[Function, ...] = ()


def require_zero(expression: sp.Expr, claim: str) -> None:
    """Stop the derivation unless `expression` cancels to zero.

    Raises:
        DerivationError: it does not.
    """
    rest = sp.cancel(sp.together(sp.expand(expression)))
    if rest != 0:
        raise DerivationError(f"{claim}: {rest} is left over")
