"""The table of elementary functions: all columns of a row say the same, and its bound on the
rounding error holds.
"""

from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import acb, arb

from derive.code.printers.languages import BALLS, FLOAT64, MULTIPRECISION
from derive.code.printers.python import module
from derive.code.proofs import oracles, translation
from derive.code.proofs.generated_module import load
from derive.language.elementary import TABLE, Logistic, allowed_functions
from derive.language.step import Function, Output, Step

x = sp.Symbol("x")
REAL = (0.3125, 1.75, 40.0)
POINTS = {
    **dict.fromkeys(("sqrt", "tanh", "sin", "cos", "exp", "log"), REAL),
    **dict.fromkeys(("logistic", "softplus"), (*REAL, -3.0, -40.0)),
    "sign": (*REAL, -0.375, -40.0),
    "absolute": (*REAL, -0.375, 0.5 - 2j),
    "imaginary_part": (0.3125 - 0.75j, -2 + 2.0**-30 * 1j),
    "angle_below": (0.3125 - 0.75j, -1 - 2.0**-30 * 1j, -2 - 3j, 2.5),
    "angle_above": (0.3125 + 0.75j, -1 + 2.0**-30 * 1j, -2 + 3j, 2.5),
}


def exact(number):
    """A float as the rational number that it is."""
    return sp.Rational(number.real) + sp.I * sp.Rational(number.imag)


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.name)
def test_every_language_computes_the_symbol_within_the_bound(entry):
    function = Function("f", "test", (x,), (Output("f", "f", entry.symbolic(x)),), cancels=True)
    steps = (Step("test", "test", "", functions=(function,)),)
    sources = [
        (language, module("test", steps, language)) for language in (FLOAT64, MULTIPRECISION, BALLS)
    ]
    assert all(
        translation.wrong_translations(text, language, steps) == () for language, text in sources
    )
    fast, precise, enclosing = (load(text) for _, text in sources)
    mp = mpmath.mp.clone()
    for number in POINTS[entry.name]:
        value = complex(oracles.evaluate(function.outputs[0].expression, {x: exact(number)}))
        ball = acb(enclosing.f(acb(number) if isinstance(number, complex) else arb(number)))
        slack = 2**-52 * abs(value)  # of rounding the true value, and of the ball at 53 bits
        assert float(abs(ball - acb(value))) <= 8 * slack
        assert abs(complex(precise.f(mp, mp.mpmathify(number))) - value) <= 8 * slack
        assert abs(complex(fast.f(number)) - value) <= float(fast.f_error(number)) + slack


def test_no_argument_overflows_a_logistic_function():
    """A warning of NumPy would fail it; infinite ones are the limits of saturated labels."""
    at = np.array([-np.inf, -1e300, -800.0, -710.0, 800.0, np.inf])
    steps = (
        Step(
            "test",
            "test",
            "",
            functions=(Function("f", "test", (x,), (Output("f", "f", Logistic(x)),)),),
        ),
    )
    found = load(module("test", steps, FLOAT64)).f(at)
    assert np.all(found[:4] < 1e-300) and np.all(found[4:] == 1.0)


def test_what_a_model_file_may_state_is_documented():
    words = (Path(__file__).parents[2] / "docs" / "explanation" / "models.md").read_text()
    assert all(f"`{name}`" in words for name in allowed_functions())
