"""Command `python -m numeric phase-diagram`: scaling regimes of a power-law target in the plane of samples and weight decay."""

import argparse
import sys
import time

from numeric.cli.arguments import (
    BadInput,
    add_problem_arguments,
    exact_text,
    exact_texts,
    integer,
    print_json,
    writable,
)
from numeric.cli.commands.exponents import gamma
from numeric.cli.commands.scaling import dimension
from numeric.cli.output import FIGURES, print_rows


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "phase-diagram",
        help="scaling regimes in the plane of samples and weight decay, with local slopes of the theory",
        epilog="example: python -m numeric phase-diagram --gamma 3/4 --dim 1e6 --points 6 --plot phases.png",
    )
    parser.add_argument("--gamma", type=gamma, required=True, metavar="X", help="exponent of the eigenvalues k^-gamma")
    parser.add_argument(
        "--dim",
        type=dimension,
        metavar="D",
        help="dimension at which local slopes are computed (default: none are)",
    )
    parser.add_argument(
        "--points",
        type=integer("--points", 1, 50, "e.g. 6"),
        default=6,
        metavar="N",
        help="slopes at N x N places (default 6)",
    )
    add_problem_arguments(parser, "noise", defaults={"noise": "1/2"})
    parser.add_argument("--plot", metavar="F", help="write a figure (png, pdf or svg)")
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the regimes and the slopes."""
    figure = writable("--plot", arguments.plot, *FIGURES)
    if arguments.gamma is None:
        raise BadInput("--gamma", "symbolic", "a diagram is drawn at one number", "give e.g. 3/4, or use `exponents`")
    started = time.perf_counter()
    from tqdm import tqdm

    from numeric.studies.phase_diagram import phase_diagram
    from numeric.studies.regimes import regime_at

    def watch(values):  # type: ignore[no-untyped-def]
        return tqdm(values, desc="slopes", disable=None)

    diagram = phase_diagram(arguments.gamma, arguments.dim, float(arguments.noise), arguments.points, watch)
    if figure:
        from numeric.cli.plots import phase_figure, save

        save(phase_figure(diagram), figure)
    points = []
    for x, y, slope in diagram.slopes:
        regime = regime_at(arguments.gamma, x, y, 1.0)
        points.append(
            {
                "log_n": x,
                "log_lambda": y,
                "local_slope": slope,
                "exponent": float(regime.risk[0]),
                "regime": regime.name,
            }
        )
    if arguments.json:
        given = {"gamma": exact_text(arguments.gamma), "dim": arguments.dim, **exact_texts(arguments, "noise")}
        cells = [
            {"name": regime.name, "exponents": [exact_text(value) for value in regime.risk]}
            for regime in diagram.regimes
        ]
        print_json({"parameters": given, "regimes": cells, "points": points, "seconds": time.perf_counter() - started})
        return 0
    for regime in diagram.regimes:
        n, decay, d = (exact_text(value) for value in regime.risk)
        sys.stdout.write(f"{regime.name}: R ~ n^({n}) lambda^({decay}) d^({d})\n")
    if points:
        print_rows(points)
    return 0
