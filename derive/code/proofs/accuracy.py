"""Accuracy of generated float64 code, measured against generated ball code at sampled points; the
header of the code states it.

A function that cancels has a bound on its rounding error, proven to first order. Other functions
are compared relatively. Measured errors are rounded up to a power of two, because the last bits
differ between processors.
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
# Powers of ten of the sampled values: v over the squared mean eigenvalue, and settings of the
# target.
_DECADES = {"v": (-6, 3), "parameter": (-1, 1)}


def statements(steps: tuple[Step, ...], float64: str, balls: str) -> dict[str, str]:
    """Return the lines on accuracy for the header of a float64 module.

    Args:
        steps: steps of the derivation in the module.
        float64: source of the module; it contains the target law if a function cancels.
        balls: source of the same functions of balls.

    Raises:
        DerivationError: an error exceeds its bound.
    """
    fast, exact = load(float64), load(balls)
    cancelling = [function for _, function in functions(steps) if function.cancels]
    ratios = dict.fromkeys((function.name for function in cancelling), 0.0)
    for arguments in _spectral_points(fast) if cancelling else ():
        for function in cancelling:
            name = function.name
            error, _ = _error_and_size(fast, exact, function, arguments)
            ratios[name] = max(ratios[name], error / getattr(fast, f"{name}_error")(*arguments))
    for name, ratio in ratios.items():
        if not ratio <= 1:
            raise DerivationError(f"float64 {name} has an error of {ratio:.3g} times its bound")
    pairs = (
        _error_and_size(fast, exact, function, point)
        for _, function in functions(steps)
        if not function.cancels
        for point in _points(function)
    )
    # A value that is zero is compared as it is.
    worst = max((error / size if size else error for error, size in pairs), default=0.0)
    listed = ", ".join(f"{name} {_power_of_two(ratio)}" for name, ratio in ratios.items())
    bounded = {
        "rounding, proven to first order": "|error| <= <name>_error of the functions that have "
        "one, for exact arguments",
        f"rounding, sampled at {SAMPLES} points": f"largest error over this bound: {listed}",
    }
    sampled = {
        f"rounding of the others, sampled at {SAMPLES} "
        "points": f"largest relative error {_power_of_two(worst)}"
    }
    return (bounded if cancelling else {}) | sampled


def _spectral_points(fast: ModuleType) -> Iterator[tuple[Any, ...]]:
    """Yield (g, v, b, parameters): g is the physical root, and b spreads a little beyond the
    law.
    """
    rng, settings = random.Random(2024), fast.law_parameters.__code__.co_argcount

    def log_uniform(kind: str) -> float:
        return float(10 ** rng.uniform(*_DECADES[kind]))

    for _ in range(SAMPLES):
        values = (log_uniform("parameter") for _ in range(settings))
        parameters = [float(value) for value in fast.law_parameters(*values)]
        mean, second = fast.target_moments(*parameters)
        v = log_uniform("v") * mean**2
        b = rng.uniform(-1, 3) * math.sqrt(second + v)
        yield _physical_root(fast, v, b, parameters), v, b, *parameters


def _physical_root(fast: ModuleType, v: float, b: float, parameters: list[float]) -> complex:
    """Return the root below the real axis; otherwise the real root with the steepest decrease
    of z.
    """
    roots = np.roots([float(value) for value in fast.resolvent_polynomial(v, b, *parameters)])
    lowest = complex(roots[np.argmin(roots.imag)])
    if lowest.imag < -1e-9 * abs(lowest):
        return lowest
    return complex(min(roots.real, key=lambda g: float(fast.resolvent_slope(g, v, *parameters))))


def _points(function: Function) -> Iterator[tuple[Any, ...]]:
    """Yield random averages of the reference points, which are in the domains."""
    rng = random.Random(function.name)
    reference = [tuple(map(complex, notation_of(symbol).samples)) for symbol in function.inputs]
    for _ in range(SAMPLES // 10):
        weights = [rng.random() for _ in range(3)]
        values = (
            sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
            for values in reference
        )
        yield tuple(
            value.real if symbol.is_real else value
            for symbol, value in zip(function.inputs, values, strict=True)
        )


def _error_and_size(
    fast: ModuleType, exact: ModuleType, function: Function, arguments: tuple[Any, ...]
) -> tuple[float, float]:
    """Return the largest error and the largest absolute value over the outputs of a function."""
    balls = [acb(value) if isinstance(value, complex) else arb(value) for value in arguments]
    computed = getattr(fast, function.name)(*arguments)
    true = getattr(exact, function.name)(*balls)
    if not isinstance(computed, tuple):
        computed, true = (computed,), (true,)
    errors = (acb(complex(x)) - acb(y) for x, y in zip(computed, true, strict=True))
    error, size = (max(float(acb(z).abs_upper()) for z in values) for values in (errors, true))
    return error, size


def _power_of_two(value: float) -> str:
    return f"below 2^{math.ceil(math.log2(value)) + 1}" if value > 0 else "none"
