"""Command `exponents`: scaling regimes of power-law targets, their exponents and inequalities."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import HEAVY_TAIL, exact_text, positive
from numeric.cli.command import Command, Result
from numeric.cli.model_arguments import add_model_name, chosen_model
from numeric.cli.output import add_json
from numeric.model import DEFAULT


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gamma",
        type=gamma,
        required=True,
        metavar="X",
        help="exponent of the eigenvalues k^-gamma, or `symbolic`",
    )
    add_model_name(parser)
    add_json(parser)


def gamma(text: str) -> Fraction | None:
    """Convert an option to an exact number above 1/2; "symbolic" gives None."""
    if text == "symbolic":
        return None
    return decay_exponent("--gamma", "give e.g. 3/4, or symbolic")(text)


def decay_exponent(name: str, hint: str = "give e.g. 3/4") -> Callable[[str], Fraction]:
    """Return the argument type of the exponent of eigenvalues k^-gamma, a number above 1/2.

    Args:
        name: the option.
        hint: what to do if the value is invalid.
    """

    def parse(text: str) -> Fraction:
        value = positive(name, hint)(text)
        if value <= Fraction(1, 2):
            raise InvalidParameter(name, text, HEAVY_TAIL, hint)
        return value

    return parse


def covariance_exponent(text: str) -> Fraction:
    """Convert power:A to the exact number A between 0 and 1."""
    kind, _, number = text.partition(":")
    if kind != "power" or not number:
        rule = "must be power:A: exponents are derived for power laws"
        raise InvalidParameter("--covariance", repr(text), rule, "try power:1/2")
    value = positive("--covariance power", "give e.g. power:1/2")(number)
    if value >= 1:
        rule = "must be below 1: from 1 on, few directions dominate the trace of the covariance"
        raise InvalidParameter("--covariance", text, rule, "try power:1/2")
    return value


def _compute(arguments: argparse.Namespace) -> Result:
    from numeric.studies.regimes import interpolation_peak, regimes, symbolic

    model, derivation = chosen_model(arguments), {}
    if arguments.gamma is None:
        derivation = {"derivation": symbolic(model)}
        cells = [
            {key: cell[key] for key in ("name", "risk", "conditions")}
            for cell in derivation["derivation"]["phases"][0]["cells"]
        ]
    else:
        cells = [
            {
                "name": regime.name,
                "risk": _powers(regime.risk),
                "conditions": list(map(_powers, regime.conditions)),
            }
            for regime in regimes(arguments.gamma, model)
        ]
    peak = interpolation_peak(model)
    lines = [
        "excess risk tr(S - S0)^2/d up to a constant, in samples n, weight decay lambda, "
        "dimension d",
        *_cell_lines(cells),
        "",
        "at n of order d^2, target not learned, detuning = |n/n_interp - 1|, n_interp the "
        "interpolation threshold:",
        *_cell_lines(peak),
    ]
    return Result(
        {
            **({} if model == DEFAULT else {"model": model}),
            "gamma": "symbolic" if arguments.gamma is None else exact_text(arguments.gamma),
            "regimes": cells,
            "peak": peak,
            **derivation,
        },
        text="".join(f"{line}\n" for line in lines),
        timed=False,
    )


def _cell_lines(cells: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for cell in cells:
        yield from ("", cell["name"], f"   R ~ {monomial(cell['risk'])}")
        for row in cell["conditions"]:
            yield f"   where {monomial(row)} >= 1"


def _powers(row: tuple[Fraction, ...]) -> dict[str, str]:
    return dict(zip(("n", "lambda", "d"), map(exact_text, row), strict=True))


def monomial(powers: Mapping[str, str]) -> str:
    """Return a product of powers as text, given the exponent of each name."""
    factors = (
        name if power == "1" else f"{name}^({power})"
        for name, power in powers.items()
        if power != "0"
    )
    return " ".join(factors) or "1"


COMMAND = Command(
    "exponents",
    help="scaling regimes of a power-law target: exponents of the excess risk and their cells",
    description="List the scaling regimes of a power-law target, found by dominant balance of the "
    "derived equations: for each the powers of samples, weight decay and dimension in the excess "
    "risk, and the inequalities of its cell in the plane. Then the same near the interpolation "
    "threshold. `symbolic` gives all for any gamma > 1/2.",
    example="python -m numeric exponents --gamma 3/4",
    add_options=_add_options,
    compute=_compute,
)
