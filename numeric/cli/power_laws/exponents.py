"""Command `python -m numeric exponents`: scaling regimes of power-law targets, their exponents and inequalities."""

import argparse
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import HEAVY_TAIL, exact_text, positive, print_json
from numeric.cli.model_arguments import add_model_name, chosen_model
from numeric.model import DEFAULT


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "exponents",
        help="scaling regimes of a power-law target: exponents of the excess risk and where they hold",
        description="List the scaling regimes of a power-law target, found by dominant balance of the derived equations: "
        "for each the powers of samples, weight decay and dimension in the excess risk, and the inequalities "
        "that bound its cell of the plane. Then the same around the interpolation threshold. `symbolic` gives "
        "all for any gamma > 1/2.",
        epilog="example: python -m numeric exponents --gamma 3/4",
    )
    parser.add_argument(
        "--gamma",
        type=gamma,
        required=True,
        metavar="X",
        help="exponent of the eigenvalues k^-gamma, or `symbolic`",
    )
    add_model_name(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.set_defaults(run=run)


def gamma(text: str) -> Fraction | None:
    """Argument type: an exact number above 1/2, None for `symbolic`."""
    return (
        None
        if text == "symbolic"
        else decay_exponent("--gamma", "give e.g. 3/4, or symbolic")(text)
    )


def decay_exponent(name: str, way_out: str = "give e.g. 3/4") -> Callable[[str], Fraction]:
    """Argument type: the exponent of eigenvalues k^-gamma, an exact number above 1/2."""

    def parse(text: str) -> Fraction:
        value = positive(name, way_out)(text)
        if value <= Fraction(1, 2):
            raise InvalidParameter(name, text, HEAVY_TAIL, way_out)
        return value

    return parse


def run(arguments: argparse.Namespace) -> int:
    """Print regimes, exponents and inequalities."""
    from numeric.studies.regimes import interpolation_peak, regimes, symbolic

    model = chosen_model(arguments)
    if arguments.gamma is None:
        record = symbolic(model)
        cells = [
            {"name": c["name"], "risk": c["risk"], "conditions": c["conditions"]}
            for c in record["phases"][0]["cells"]
        ]
    else:
        record = None
        cells = [
            {
                "name": r.name,
                "risk": _powers(r.risk),
                "conditions": [_powers(row) for row in r.conditions],
            }
            for r in regimes(arguments.gamma, model)
        ]
    peak = interpolation_peak(model)
    if arguments.json:
        stated = "symbolic" if arguments.gamma is None else exact_text(arguments.gamma)
        named = {} if model == DEFAULT else {"model": model}
        print_json(
            {
                **named,
                "gamma": stated,
                "regimes": cells,
                "peak": peak,
                **({"derivation": record} if record else {}),
            }
        )
        return 0
    sys.stdout.write(
        "excess risk tr(S - S0)^2/d up to a constant, in samples n, weight decay lambda, dimension d\n"
    )
    _print_cells(cells)
    sys.stdout.write(
        "\nat n of order d^2, target not learned, detuning = |n/n_interp - 1|, n_interp the interpolation threshold:\n"
    )
    _print_cells(peak)
    return 0


def _print_cells(cells: list[dict[str, Any]]) -> None:
    for cell in cells:
        sys.stdout.write(f"\n{cell['name']}\n   R ~ {monomial(cell['risk'])}\n")
        for row in cell["conditions"]:
            sys.stdout.write(f"   where {monomial(row)} >= 1\n")


def _powers(row: tuple[Fraction, ...]) -> dict[str, str]:
    return {name: exact_text(power) for name, power in zip(("n", "lambda", "d"), row, strict=True)}


def monomial(powers: Mapping[str, str]) -> str:
    """The product of what the names say to these powers; 1 where there is none."""
    factors = (
        name if power == "1" else f"{name}^({power})"
        for name, power in powers.items()
        if power != "0"
    )
    return " ".join(factors) or "1"
