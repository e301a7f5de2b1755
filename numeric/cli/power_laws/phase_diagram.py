"""Command `phase-diagram`: scaling regimes by samples and weight decay or width."""

import argparse
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import progress
from attention_erm.runtime.text_table import table_text
from numeric.cli.arguments import (
    add_problem_arguments,
    exact_text,
    exact_texts,
    integer,
    positive,
)
from numeric.cli.command import Command, Result
from numeric.cli.model_arguments import add_model, chosen_model, own_settings
from numeric.cli.output import add_figure, add_json, run_or_return_partial
from numeric.cli.power_laws.crossovers import PlacedSlope, warn_of_crossovers
from numeric.cli.power_laws.exponents import covariance_exponent, decay_exponent, monomial
from numeric.cli.power_laws.scaling import decay_law, dimension

POINTS = 6  #: default number of slopes along each axis


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gamma",
        type=positive("--gamma", "give e.g. 3/4"),
        required=True,
        metavar="X",
        help="exponent of the eigenvalues k^-gamma, above 1/2",
    )
    parser.add_argument(
        "--covariance",
        type=covariance_exponent,
        metavar="power:A",
        help="covariance k^-A of the tokens on the eigenvectors of the target, 0 < A < 1; then "
        "gamma + A must exceed 1/2 (default isotropic)",
    )
    parser.add_argument(
        "--axis",
        choices=("decay", "width"),
        default="decay",
        help="second axis: weight decay, or hidden units m at the weight decay --lambda (default "
        "decay)",
    )
    parser.add_argument(
        "--lambda",
        dest="lambda_",
        metavar="X",
        help="law of weight decay with --axis width: 1/d, sqrt(d), d^p, or a number, which counts "
        "as d^0 (default 1/d)",
    )
    parser.add_argument(
        "--dim",
        type=dimension,
        metavar="D",
        help="dimension at which local slopes are computed (default: none are)",
    )
    parser.add_argument(
        "--points",
        type=integer("--points", 1, 50, "e.g. 6"),
        metavar="N",
        help=f"slopes at N x N places (default {POINTS})",
    )
    add_model(parser)
    add_problem_arguments(parser, "noise", defaults={"noise": "1/2"})
    add_figure(parser)
    add_json(parser)


def _decay_power(text: str) -> Fraction:
    """Return the exponent of d in a law of weight decay, 0 for a number."""
    return Fraction(decay_law(text).power).limit_denominator(10**6)


def _compute(arguments: argparse.Namespace) -> Result:
    if arguments.covariance is None:
        decay_exponent("--gamma")(str(arguments.gamma))
    elif arguments.gamma + arguments.covariance <= Fraction(1, 2):
        rule = "plus the exponent of the covariance must exceed 1/2: the second moment diverges"
        raise InvalidParameter("--gamma", arguments.gamma, rule, "use a larger exponent")
    elif arguments.axis == "width":
        rule = "is derived in the plane of samples and weight decay"
        raise InvalidParameter("--covariance", arguments.covariance, rule, "leave out --axis width")
    if arguments.points and not arguments.dim:
        raise InvalidParameter(
            "--points", arguments.points, "requires --dim", "give --dim, or leave it out"
        )
    from numeric.studies.phase_diagram import phase_diagram, width_diagram

    model = chosen_model(arguments)
    own = own_settings(arguments, model, listed=True)
    extra = {setting: float(value) for setting, value in own.items()}
    points, watch = arguments.points or POINTS, partial(progress, desc="slopes")
    common = arguments.dim, float(arguments.noise), points, watch, model, extra
    if arguments.axis == "width":
        power = _decay_power(arguments.lambda_ or "1/d")
        diagram = run_or_return_partial(width_diagram, arguments.gamma, power, *common)
    elif arguments.lambda_ is None:
        diagram = run_or_return_partial(
            phase_diagram, arguments.gamma, *common, arguments.covariance
        )
    else:
        rule = "is an axis of the diagram"
        raise InvalidParameter(
            "--lambda", arguments.lambda_, rule, "add --axis width, or leave it out"
        )
    second = {"decay": "lambda", "width": "m"}[arguments.axis]
    slopes = list(_placed_slopes(diagram, arguments.dim, "m" if second == "m" else "n"))
    warn_of_crossovers(slope for *_, slope in slopes)
    rows = [
        {
            "log_d_n": x,
            f"log_d_{second}": y,
            "local_slope": slope.value,
            "exponent": slope.exponent,
            "regime": slope.regime.name,
        }
        for x, y, slope in slopes
    ]
    parameters = {"model": model, "gamma": exact_text(arguments.gamma), "dim": arguments.dim}
    parameters |= {**exact_texts(arguments, "noise"), **extra}
    if diagram.covariance is not None:
        parameters |= {"covariance": f"power:{exact_text(diagram.covariance)}"}
    if diagram.decay is not None:
        parameters |= {"axis": "width", "lambda": f"d^({exact_text(diagram.decay)})"}
    text = "".join(
        f"{regime.name}: R ~ "
        + monomial(dict(zip(("n", second, "d"), map(exact_text, regime.risk), strict=True)))
        + "\n"
        for regime in diagram.regimes
    )
    document = {
        "parameters": parameters,
        "regimes": [
            {
                "name": regime.name,
                "exponents": list(map(exact_text, regime.risk)),
                "conditions": [list(map(exact_text, row)) for row in regime.conditions],
            }
            for regime in diagram.regimes
        ],
        "points": rows,
    }
    return Result(
        document,
        text=text + (table_text(rows) if rows else ""),
        draw=lambda plotting: (plotting.phase_figure(diagram), {}),
    )


def _placed_slopes(
    diagram: Any, dim: int, along: str
) -> Iterator[tuple[float, float, PlacedSlope]]:
    """Iterate over the coordinates, in powers of d, and the local slopes of a diagram."""
    for x, y, slope in diagram.slopes:  # empty without a dimension
        log_d = math.log(dim)
        logs = (x * log_d, y * log_d, log_d)
        yield x, y, PlacedSlope(slope, 0.0, diagram.regime(x, y), logs, along)


COMMAND = Command(
    "phase-diagram",
    help="scaling regimes in the plane of samples and weight decay or width, with local slopes",
    description="Draw the cells of the scaling regimes in the plane of samples and weight decay, "
    "or of samples and hidden units, in powers of the dimension. Prints the excess risk of each "
    "cell; with --dim also the local slopes of the full theory at N x N points, and the exponent "
    "of "
    "their cell.",
    example="python -m numeric phase-diagram --gamma 3/4 --dim 1e6 --points 6 --plot phases.png",
    add_options=_add_options,
    compute=_compute,
)
