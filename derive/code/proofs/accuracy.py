"""How exact the generated float64 code is: measured against the generated ball code at sampled points, stated in its header.

Functions that cancel come with a bound on their rounding error, proven to first order; the others are compared relatively.
Measured values are rounded up to a power of two, as the last bits differ between processors.
"""

import math
import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from flint import acb, arb

from derive.code.proofs.generated_module import load
from derive.language.errors import DerivationError
from derive.language.setting import notation_of
from derive.language.step import Function, Step
from derive.pipeline import functions

SAMPLES = 1000
_DECADES = {
    "v": (-6, 3),
    "parameter": (-1, 1),
}  # of the settings of the target and of v over the squared mean eigenvalue


def statements(steps: tuple[Step, ...], float64: str, balls: str) -> dict[str, str]:
    """Header lines for the float64 module of these sources, which hold the target law where they hold functions that cancel.

    Raises:
        DerivationError: the code errs by more than its own bound.
    """
    fast, exact = load(float64), load(balls)
    cancelling = [function for _, function in functions(steps) if function.cancels]
    others = [function for _, function in functions(steps) if not function.cancels]
    shares = {function.name: 0.0 for function in cancelling}
    for arguments in _spectral_points(fast) if cancelling else ():
        for function in cancelling:
            error = _difference(fast, exact, function, arguments)
            shares[function.name] = max(
                shares[function.name], error / getattr(fast, f"{function.name}_error")(*arguments)
            )
    for name, share in shares.items():
        if not share <= 1:
            raise DerivationError(f"float64 {name} errs by {share:.3g} times its bound")
    worst = max(
        (_relative(fast, exact, one, point) for one in others for point in _points(one)),
        default=0.0,
    )
    listed = ", ".join(f"{name} {_power_of_two(share)}" for name, share in shares.items())
    bounded = {
        "rounding, proven to first order": "|error| <= <name>_error of the functions that have one, arguments exact",
        f"rounding, sampled at {SAMPLES} points": f"worst share of that bound: {listed}",
    }
    sampled = {
        f"rounding of the others, sampled at {SAMPLES} points": f"worst relative error {_power_of_two(worst)}"
    }
    return (bounded if cancelling else {}) | sampled


def _spectral_points(fast: ModuleType) -> Iterator[tuple[Any, ...]]:
    """(g, v, b, parameters) with g the physical root, b spread over the noisy law and a little beyond."""
    rng, settings = random.Random(2024), fast.law_parameters.__code__.co_argcount

    def log_uniform(kind: str) -> float:
        return float(10 ** rng.uniform(*_DECADES[kind]))

    for _ in range(SAMPLES):
        parameters = [
            float(value)
            for value in fast.law_parameters(*(log_uniform("parameter") for _ in range(settings)))
        ]
        mean, second = fast.target_moments(*parameters)
        v = log_uniform("v") * mean**2
        b = rng.uniform(-1, 3) * math.sqrt(second + v)
        yield _physical_root(fast, v, b, parameters), v, b, *parameters


def _physical_root(fast: ModuleType, v: float, b: float, parameters: list[float]) -> complex:
    """The root below the axis, else the real one on which z falls most."""
    roots = np.roots([float(value) for value in fast.resolvent_polynomial(v, b, *parameters)])
    lowest = complex(roots[np.argmin(roots.imag)])
    if lowest.imag < -1e-9 * abs(lowest):
        return lowest
    return complex(min(roots.real, key=lambda g: float(fast.resolvent_slope(g, v, *parameters))))


def _points(function: Function) -> Iterator[tuple[Any, ...]]:
    """Random averages of the reference points, which stay in the domains."""
    rng = random.Random(function.name)
    reference = [tuple(map(complex, notation_of(symbol).samples)) for symbol in function.inputs]
    for _ in range(SAMPLES // 10):
        weights = [rng.random() for _ in range(3)]
        yield tuple(
            sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
            for values in reference
        )


def _relative(
    fast: ModuleType, exact: ModuleType, function: Function, point: tuple[Any, ...]
) -> float:
    arguments = [
        value if s.is_real is not True else value.real
        for s, value in zip(function.inputs, point, strict=True)
    ]
    return _difference(fast, exact, function, tuple(arguments), relative=True)


def _difference(
    fast: ModuleType,
    exact: ModuleType,
    function: Function,
    arguments: tuple[Any, ...],
    relative: bool = False,
) -> float:
    """Largest error over the outputs of a function, relative to the largest output if asked for."""
    balls = [acb(value) if isinstance(value, complex) else arb(value) for value in arguments]
    computed, true = (
        _outputs(getattr(module, function.name)(*given))
        for module, given in ((fast, arguments), (exact, balls))
    )
    errors = [
        float((acb(complex(mine)) - acb(theirs)).abs_upper())
        for mine, theirs in zip(computed, true, strict=True)
    ]
    if not relative:
        return max(errors)
    return max(errors) / max((float(acb(theirs).abs_upper()) for theirs in true), default=1.0)


def _outputs(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _power_of_two(value: float) -> str:
    return f"below 2^{math.ceil(math.log2(value)) + 1}" if value > 0 else "none"
