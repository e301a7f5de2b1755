"""Table of the elementary functions of generated code: symbol, text in every language, rounding
error, value.

The expression tree, the printers, the bounds on rounding errors, translation validation and the
oracles use this table. To add a function, add a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import sympy as sp
from sympy.core.function import Application

from derive.language.errors import ModelError

#: Symbols for the error of the argument (in units of the rounding of one operation), the argument,
#: and the value.
ERROR, ARGUMENT, VALUE = sp.symbols("error argument value", positive=True)


class ImaginaryPart(sp.Function):
    """Im w, not evaluated."""

    nargs = 1


class AngleBelow(sp.Function):
    """Angle arg w in [-pi, 0] of a point w of the closed lower half-plane (-pi for a negative real
    w).
    """

    nargs = 1


class AngleAbove(sp.Function):
    """Angle arg w in [0, pi] of a point w of the closed upper half-plane (pi for a negative real
    w).
    """

    nargs = 1


class Logistic(sp.Function):
    """Logistic function 1/(1 + exp(-x)), which overflows for no x."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative in x."""
        (x,) = self.args
        return Logistic(x) * Logistic(-x)

    def _eval_evalf(self, prec: int) -> sp.Expr:
        return _logistic(self.args[0])._eval_evalf(prec)


class Softplus(sp.Function):
    """Function log(1 + exp(x)), which overflows for no x; it is -log(1 - Logistic(x))."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative in x."""
        return Logistic(self.args[0])

    def _eval_evalf(self, prec: int) -> sp.Expr:
        return _softplus(self.args[0])._eval_evalf(prec)


class Sign(sp.Function):
    """Sign of x, -1 or 1 and 0 at x = 0, whose derivative is 0: it tells the pieces of a function
    apart, and expressions with it are differentiated within a piece.
    """

    nargs = 1

    @classmethod
    def eval(cls, x: sp.Expr) -> sp.Expr | None:
        """Return the value at a number, and otherwise the sign without positive factors."""
        for known, value in ((x.is_positive, 1), (x.is_negative, -1), (x.is_zero, 0)):
            if known:
                return sp.Integer(value)
        if x.could_extract_minus_sign():
            return -cls(-x)
        factors = [factor for factor in sp.Mul.make_args(x) if factor.is_positive is not True]
        return cls(sp.Mul(*factors)) if sp.Mul(*factors) != x else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return zero."""
        return sp.Integer(0)


def _logistic(x: sp.Expr) -> sp.Expr:
    return 1 / (1 + sp.exp(-x))


def _softplus(x: sp.Expr) -> sp.Expr:
    return sp.log(1 + sp.exp(x))


@dataclass(frozen=True)
class Definition:
    """Source of a function that a language does not have: `name(argument)` returns `body`;
    `meaning` describes it.
    """

    argument: str
    meaning: str
    body: str


@dataclass(frozen=True)
class Code:
    """Call of a function in a language: its dotted name, and its definition if the generated module
    has to contain one.
    """

    name: str
    definition: Definition | None = None


def _defined(name: str, argument: str, meaning: str, body: str) -> Code:
    return Code(name, Definition(argument, meaning, body))


@dataclass(frozen=True)
class Elementary:
    """One function of one argument.

    `error` bounds the error of its value in terms of ERROR, ARGUMENT and VALUE, to first order.
    `latex` is its operator, and `evaluated` its value at a number; both are None if SymPy knows
    them.
    """

    name: str
    symbolic: Callable[[sp.Expr], sp.Expr]
    float64: Code
    multiprecision: Code
    balls: Code
    error: sp.Expr
    torch: Code | None = None
    latex: str | None = None
    evaluated: Callable[[sp.Expr], sp.Expr] | None = None

    def code(self, language: str) -> Code | None:
        """Return how `language` calls the function; None if it does not.

        The languages are "float64", "multiprecision", "balls" and "torch".
        """
        found: Code | None = getattr(self, language)
        return found


def _angle(w: sp.Expr) -> sp.Expr:
    return sp.atan2(sp.Abs(sp.im(w)), sp.re(w))


def _library(name: str, meaning: str) -> tuple[Code, Code, Code]:
    """Return the code of a real function that NumPy and mpmath have, and balls have as a method."""
    return (
        Code(f"np.{name}"),
        Code(f"mp.{name}"),
        _defined(name, "x", f"the {meaning} of a ball", f"x.{name}()"),
    )


_BELOW = "arg w in [-pi, 0] of w in the closed lower half-plane"
_ABOVE = "arg w in [0, pi] of w in the closed upper half-plane"

TABLE: tuple[Elementary, ...] = (
    Elementary(
        "sqrt",
        sp.sqrt,
        Code("np.sqrt"),
        Code("mp.sqrt"),
        _defined("sqrt", "x", "the square root of a ball or an integer", "arb(x).sqrt()"),
        error=ERROR / VALUE + VALUE,
        torch=_defined(
            "sqrt", "x", "the square root of a tensor or an integer", "x**0.5"
        ),  # twice the effect of the error of the argument
    ),
    Elementary(
        "tanh",
        sp.tanh,
        *_library("tanh", "hyperbolic tangent"),
        error=ERROR + VALUE,
        torch=Code("torch.tanh"),
    ),  # real argument: the slope is at most one
    Elementary(
        "exp",
        sp.exp,
        *_library("exp", "exponential"),
        error=ERROR * VALUE + VALUE,
        torch=Code("torch.exp"),
    ),
    Elementary(
        "log",
        sp.log,
        *_library("log", "logarithm"),
        error=ERROR / ARGUMENT + VALUE,
        torch=Code("torch.log"),
    ),
    Elementary(
        "logistic",
        Logistic,
        # exp(700) is in range; the hyperbolic tangent never overflows, but takes 2 to 3 times as
        # long
        _defined("logistic", "x", "1/(1 + exp(-x))", "1/(1 + np.exp(-np.maximum(x, -700)))"),
        _defined("logistic", "x", "1/(1 + exp(-x))", "1/(1 + mp.exp(-x))"),
        _defined("logistic", "x", "1/(1 + exp(-x))", "1/(1 + (-x).exp())"),
        error=ERROR + 2,
        torch=Code("torch.sigmoid"),
        latex=r"\operatorname{logistic}",
        evaluated=_logistic,
    ),
    Elementary(
        "softplus",
        Softplus,
        _defined(
            "softplus", "x", "log(1 + exp(x))", "np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))"
        ),
        _defined("softplus", "x", "log(1 + exp(x))", "mp.log1p(mp.exp(x))"),
        _defined("softplus", "x", "log(1 + exp(x))", "x.exp().log1p()"),
        error=ERROR + 2 * VALUE,
        torch=_defined(
            "softplus", "x", "log(1 + exp(x))", "torch.logaddexp(x, torch.zeros_like(x))"
        ),
        latex=r"\operatorname{softplus}",
        evaluated=_softplus,
    ),
    Elementary(
        "sin", sp.sin, *_library("sin", "sine"), error=ERROR + VALUE, torch=Code("torch.sin")
    ),
    Elementary(
        "cos", sp.cos, *_library("cos", "cosine"), error=ERROR + VALUE, torch=Code("torch.cos")
    ),
    Elementary(
        "imaginary_part",
        ImaginaryPart,
        Code("np.imag"),
        Code("mp.im"),
        _defined("imaginary_part", "w", "Im w", "w.imag"),
        error=ERROR,
        latex=r"\operatorname{Im}",
        evaluated=sp.im,
    ),
    Elementary(
        "angle_below",
        AngleBelow,
        _defined("angle_below", "w", _BELOW, "-np.arctan2(np.abs(np.imag(w)), np.real(w))"),
        _defined("angle_below", "w", _BELOW, "-mp.atan2(abs(mp.im(w)), mp.re(w))"),
        _defined(
            "angle_below",
            "w",
            f"{_BELOW}; i w is in the right half-plane, away from the cut",
            "(I*w).arg() - arb.pi()/2",
        ),
        error=ERROR / ARGUMENT + 4,  # an angle is at most pi
        latex=r"\arg_-",
        evaluated=lambda w: -_angle(w),
    ),
    Elementary(
        "angle_above",
        AngleAbove,
        _defined("angle_above", "w", _ABOVE, "np.arctan2(np.abs(np.imag(w)), np.real(w))"),
        _defined("angle_above", "w", _ABOVE, "mp.atan2(abs(mp.im(w)), mp.re(w))"),
        _defined(
            "angle_above",
            "w",
            f"{_ABOVE}; -i w is in the right half-plane, away from the cut",
            "(-I*w).arg() + arb.pi()/2",
        ),
        error=ERROR / ARGUMENT + 4,
        latex=r"\arg_+",
        evaluated=_angle,
    ),
    Elementary(
        "absolute",
        sp.Abs,
        Code("np.abs"),
        Code("abs"),
        Code("abs"),
        error=ERROR + VALUE,
        torch=Code("abs"),
    ),
    Elementary(
        "sign",
        Sign,
        Code("np.sign"),
        Code("mp.sign"),
        _defined("sign", "x", "the sign of a ball", "x.sgn()"),
        error=sp.Integer(0),  # away from the jump
        torch=Code("torch.sign"),
        latex=r"\operatorname{sign}",
        evaluated=sp.sign,
    ),
)

#: Functions of a model file that are written with `Sign`.
WITH_KINKS = ("sign", "Abs", "Max", "Min", "Heaviside", "Piecewise")

BY_NAME: dict[str, Elementary] = {entry.name: entry for entry in TABLE}
#: The constant pi in every language.
PI: dict[str, str] = {
    "float64": "np.pi",
    "multiprecision": "mp.pi",
    "balls": "arb.pi()",
    "torch": "torch.pi",
}


def expand_custom_functions(
    expression: sp.Expr, argument: Callable[[sp.Expr], sp.Expr] = sp.sympify
) -> sp.Expr:
    """Return the expression in functions that SymPy knows.

    Args:
        expression: the expression.
        argument: applied to the arguments of our own functions, before these are replaced by their
            values at a number.
    """
    for row in TABLE:
        if row.evaluated:
            expression = expression.replace(
                row.symbolic, lambda w, value=row.evaluated: value(argument(w))
            )
    return expression


@cache
def allowed_functions() -> tuple[str, ...]:
    """Return the names of the functions allowed in a model file: those with code for training, also
    of their derivatives.
    """
    trained = {_called(row): row.symbolic for row in TABLE if row.torch}
    x = sp.Symbol("x", real=True)
    smooth = (
        name for name, symbolic in trained.items() if _names(symbolic(x).diff(x)) <= trained.keys()
    )
    return (*(name for name in smooth if name != Sign.__name__), *WITH_KINKS)


def require_allowed_functions(what: str, expression: sp.Basic) -> None:
    """Check that an expression contains only functions with generated code.

    Args:
        what: name of the expression, for the error message.
        expression: the expression.

    Raises:
        ModelError: it contains another function.
    """
    if strange := _names(expression).difference(allowed_functions(), {Sign.__name__}):
        raise ModelError(
            f"{what}: {min(strange)} is not a function of generated code; use "
            f"{', '.join(allowed_functions())}"
        )


def _called(row: Elementary) -> str:
    """Return the name of the function in a model file."""
    return str(row.symbolic.__name__)


def _names(expression: sp.Basic) -> set[str]:
    """Return the names of all functions in the expression; powers are not functions."""
    return {one.func.__name__ for one in expression.atoms(Application)}
