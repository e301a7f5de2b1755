"""Generated code at the reference points: float64 and ball code must agree with the stored values,
which have 50 digits.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import flint
import mpmath
import sympy as sp
from flint import acb, arb, fmpq

from derive.code.proofs.generated_module import load
from derive.code.proofs.oracles import POINTS, Oracle, sample
from derive.language.step import Step
from derive.pipeline import functions

_MP = mpmath.mp.clone()
_MP.dps = 60  # ten more than stored values have
_STORED_ERROR = _MP.mpf(10) ** -48  # stored values are rounded to 50 digits
_BITS = 230  # balls of 69 digits
_RADIUS = 1e-50
_FLOAT_ERROR = 1e-12  # sums of up to 15 terms, each at most 1e3 times the result at these points


def failures(
    sources: Mapping[str, str], stored: Mapping[str, list[Oracle]], steps: tuple[Step, ...]
) -> Iterator[tuple[str, str]]:
    """Yield (language or "oracles", problem) for each stored value that generated code misses.

    Args:
        sources: source of the module in each language.
        stored: stored values of each equation.
        steps: steps of the derivation.
    """
    modules = {language: load(text) for language, text in sources.items()}
    for _, function in functions(steps):
        for point in range(POINTS):
            exact, where = sample(function, point), f"at reference point {point + 1}"
            outputs = {
                language: ARITHMETIC[language].outputs(getattr(module, function.name), exact)
                for language, module in modules.items()
            }
            for k, identifier in enumerate(function.equation_ids()):
                value = _stored_value(stored.get(identifier, []), point, list(map(str, exact)))
                if value is None:
                    yield "oracles", f"{identifier} has no value {where}"
                    continue
                for language, values in outputs.items():
                    if not ARITHMETIC[language].agrees(values[k], value):
                        yield language, f"{identifier} misses its value {where}"


def _stored_value(oracles: list[Oracle], point: int, inputs: list[str]) -> mpmath.mpc | None:
    """Return the stored value at a reference point; None if there is none for these inputs."""
    if point >= len(oracles) or list(oracles[point]["inputs"].values()) != inputs:
        return None
    return _MP.mpc(_MP.mpmathify(oracles[point]["value"].replace("*I", "j").replace(" ", "")))


@dataclass(frozen=True)
class Arithmetic:
    """Type of number with which generated code computes.

    Attributes:
        number: returns a number from its real and its imaginary part.
        agrees: returns whether a result agrees with a stored value.
    """

    number: Callable[[sp.Rational, sp.Rational], Any]
    agrees: Callable[[Any, mpmath.mpc], bool]

    def outputs(self, generated: Callable[..., Any], inputs: list[sp.Expr]) -> tuple[Any, ...]:
        """Return the values of a generated function.

        Args:
            generated: the function.
            inputs: exact inputs.
        """
        with flint.ctx.workprec(_BITS):
            values = generated(*(self.number(*value.as_real_imag()) for value in inputs))
        return values if isinstance(values, tuple) else (values,)


def _float64(real: sp.Rational, imaginary: sp.Rational) -> complex | float:
    return complex(real, imaginary) if imaginary else float(real)


def _ball(real: sp.Rational, imaginary: sp.Rational) -> Any:
    x, y = (fmpq(int(part.p), int(part.q)) for part in (real, imaginary))
    return acb(x, y) if imaginary else arb(x)


def _float64_agrees(value: Any, stored: mpmath.mpc) -> bool:
    return abs(complex(value) - complex(stored)) <= _FLOAT_ERROR * max(1, abs(complex(stored)))


def _ball_agrees(value: Any, stored: mpmath.mpc) -> bool:
    """Return whether the ball is small and contains a number that rounds to the stored one."""
    with flint.ctx.workprec(_BITS):
        ball = acb(value)
        centre = acb(*(arb(_MP.nstr(part, _MP.dps)) for part in (stored.real, stored.imag)))
        near = (ball - centre).abs_lower() <= arb(_MP.nstr(_STORED_ERROR)) * (
            1 + centre.abs_upper()
        )
        return bool(near) and float(ball.rad()) < _RADIUS * (1 + float(centre.abs_upper()))


ARITHMETIC = {
    "float64": Arithmetic(_float64, _float64_agrees),
    "balls": Arithmetic(_ball, _ball_agrees),
}
