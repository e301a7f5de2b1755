"""Command `python -m numeric phase-diagram`: scaling regimes of a power-law target by samples and weight decay or width."""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import progress
from numeric.cli.arguments import add_problem_arguments, exact_text, exact_texts, integer
from numeric.cli.model_arguments import add_model, chosen_model, own_settings
from numeric.cli.output import (
    add_figure,
    print_rows,
    printed,
    requested_figure,
    run_or_return_partial,
    save,
)
from numeric.cli.power_laws.crossovers import PlacedSlope, tell_crossovers
from numeric.cli.power_laws.exponents import gamma, monomial
from numeric.cli.power_laws.scaling import decay_law, dimension

POINTS = 6  #: along each axis, if not asked for


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "phase-diagram",
        help="scaling regimes in the plane of samples and weight decay or width, with local slopes of the theory",
        description="Draw the cells of the scaling regimes in the plane of samples and weight decay, or of samples and "
        "hidden units, in powers of the dimension. Prints the excess risk of each cell; with --dim also the "
        "local slopes of the full theory at N x N places beside the exponent of their cell.",
        epilog="example: python -m numeric phase-diagram --gamma 3/4 --dim 1e6 --points 6 --plot phases.png",
    )
    parser.add_argument(
        "--gamma",
        type=gamma,
        required=True,
        metavar="X",
        help="exponent of the eigenvalues k^-gamma",
    )
    parser.add_argument(
        "--axis",
        choices=("decay", "width"),
        default="decay",
        help="what stands beside the samples: weight decay, or hidden units m at the weight decay --lambda (default decay)",
    )
    parser.add_argument(
        "--lambda",
        dest="lambda_",
        metavar="X",
        help="law of weight decay with --axis width: 1/d, sqrt(d), d^p, or a number, which counts as d^0 (default 1/d)",
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
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.set_defaults(run=run)


def _decay(text: str) -> Fraction:
    """The power of d that a law of weight decay states: numbers are powers of one."""
    return Fraction(decay_law(text).power).limit_denominator(10**6)


def run(arguments: argparse.Namespace) -> int:
    """Print the regimes and the slopes."""
    figure = requested_figure(arguments)
    if arguments.gamma is None:
        raise InvalidParameter(
            "--gamma",
            "symbolic",
            "a diagram is drawn at one number",
            "give e.g. 3/4, or use `exponents`",
        )
    if arguments.points and not arguments.dim:
        raise InvalidParameter(
            "--points",
            arguments.points,
            "is for slopes, which have a dimension",
            "give --dim, or leave it out",
        )
    started = time.perf_counter()
    from numeric.studies.phase_diagram import phase_diagram, width_diagram

    def watch(values):  # type: ignore[no-untyped-def]
        return progress(values, desc="slopes")

    name = chosen_model(arguments)
    own = {
        setting: float(value)
        for setting, value in own_settings(arguments, name, listed=True).items()
    }
    rest = arguments.dim, float(arguments.noise), arguments.points or POINTS, watch, name, own
    if arguments.axis == "width":
        diagram = run_or_return_partial(
            width_diagram, arguments.gamma, _decay(arguments.lambda_ or "1/d"), *rest
        )
    elif arguments.lambda_ is None:
        diagram = run_or_return_partial(phase_diagram, arguments.gamma, *rest)
    else:
        raise InvalidParameter(
            "--lambda",
            arguments.lambda_,
            "is an axis of the diagram",
            "add --axis width, or leave it out",
        )
    second = {"decay": "lambda", "width": "m"}[arguments.axis]
    slopes = list(_placed(diagram, arguments.dim, "m" if second == "m" else "n"))
    tell_crossovers(slope for _, slope in slopes)
    points = [_point(place, slope, second) for place, slope in slopes]
    given: dict[str, object] = {
        "model": name,
        "gamma": exact_text(arguments.gamma),
        "dim": arguments.dim,
    }
    given |= {**exact_texts(arguments, "noise"), **own}
    if diagram.decay is not None:
        given |= {"axis": "width", "lambda": f"d^({exact_text(diagram.decay)})"}
    document = {
        "parameters": given,
        "regimes": [_regime(regime) for regime in diagram.regimes],
        "points": points,
        "seconds": time.perf_counter() - started,
    }

    def show() -> None:
        for regime in diagram.regimes:
            powers = zip(("n", second, "d"), map(exact_text, regime.risk), strict=True)
            sys.stdout.write(f"{regime.name}: R ~ {monomial(dict(powers))}\n")
        if points:
            print_rows(points)

    with printed(arguments, document, show):
        if figure:
            from numeric.plotting.phase_diagrams import phase_figure

            save(phase_figure(diagram), figure, document)
    return 0


def _placed(diagram, dim: int, along: str) -> Iterator[tuple[tuple[float, float], PlacedSlope]]:  # type: ignore[no-untyped-def]
    """Powers of d at which a slope was taken, and the slope in its regime there."""
    for x, y, slope in diagram.slopes:  # none without a dimension
        log_d = math.log(dim)
        yield (
            (x, y),
            PlacedSlope(slope, 0.0, diagram.regime(x, y), (x * log_d, y * log_d, log_d), along),
        )


def _point(place: tuple[float, float], slope: PlacedSlope, second: str) -> dict[str, object]:
    values = {"local_slope": slope.value, "exponent": slope.exponent, "regime": slope.regime.name}
    return {"log_d_n": place[0], f"log_d_{second}": place[1], **values}


def _regime(regime) -> dict[str, object]:  # type: ignore[no-untyped-def]
    conditions = [[exact_text(value) for value in row] for row in regime.conditions]
    return {
        "name": regime.name,
        "exponents": [exact_text(value) for value in regime.risk],
        "conditions": conditions,
    }
