"""Command `python -m numeric spectrum`: eigenvalues of the learned map."""

import argparse
import dataclasses
import logging
import sys
from functools import partial
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import log_if_slow
from numeric.cli.arguments import positive
from numeric.cli.output import add_outputs, outputs, printed, save, warn_of_values, write_table
from numeric.cli.problem_arguments import (
    add_parametrisation,
    add_problem,
    add_sample_minimum,
    problem_of,
)

_LOG = logging.getLogger(__name__)


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "spectrum",
        help="eigenvalues of the learned map",
        description="Solve one point and print the law of the eigenvalues of the learned S: its mass at zero, the edges "
        "of each bulk, outliers with their position, overlap and weight, the second moment, and the residual "
        "of the solve. --json and --csv hold the density on a grid, --plot draws it.",
        epilog="example: python -m numeric spectrum --alpha 0.5 --kappa0 .5 --lambda .01 --noise .5 --plot spectrum.png",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--alpha",
        type=positive("--alpha", "sample ratio n/d^2, e.g. 0.5"),
        required=True,
        metavar="X",
        help="sample ratio n/d^2",
    )
    add_problem(parser)
    add_parametrisation(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the learned spectrum at one point; exit 1 if the point was not solved."""
    if arguments.parametrisation == "general":
        raise InvalidParameter(
            "--parametrisation",
            "general",
            "eigenvalues are those of a symmetric map",
            "use symmetric",
        )
    table, figure = outputs(arguments)
    asked, given = problem_of(arguments, arguments.alpha)
    from numeric.saddle.solve import solve
    from numeric.studies.spectrum import learned_spectrum

    with log_if_slow("solving"):
        solution = solve(asked)
    if not solution.trusted:
        _LOG.error("alpha = %g: %s", asked.alpha, solution.advice)
        return 1
    with log_if_slow("spectrum"):
        found = learned_spectrum(solution)
    document: dict[str, Any] = {
        "parameters": {"alpha": str(arguments.alpha), **given},
        "status": solution.status.name.lower(),
        "zero_mass": found.zero_mass,
        "bulk": {"x": found.x.tolist(), "density": found.density.tolist()},
        "edges": found.bulks,
        "outliers": [dataclasses.asdict(outlier) for outlier in found.outliers],
        "second_moment": found.second_moment,
        "moment_error": found.moment_error,
        "residual": solution.residual,
        "error_estimate": solution.error_estimate,
    }
    with printed(arguments, document, partial(_print, found, solution)):
        if table:
            write_table(
                table, rows(found), {**document["parameters"], "status": document["status"]}
            )
        if figure:
            from numeric.plotting.spectra import spectrum_figure

            save(spectrum_figure(found), figure, document)
    warn_of_values([solution])
    return 0


def _print(found, solution) -> None:  # type: ignore[no-untyped-def]  # the import is deferred
    """The law for a reader."""
    sys.stdout.write(
        f"mass at zero {found.zero_mass:.6f}, second moment {found.second_moment:.6f}\n"
    )
    for low, high in found.bulks:
        sys.stdout.write(f"bulk from {low:.6f} to {high:.6f}\n")
    for outlier in found.outliers:
        sys.stdout.write(
            f"outlier at {outlier.value:.6f} from {outlier.target:.6f}, overlap {outlier.overlap:.6f}, "
            f"weight {outlier.weight:.3g}\n"
        )
    status = solution.status.name.lower()
    sys.stdout.write(
        f"{status}, residual {solution.residual:.1e}, relative error {solution.error_estimate:.1e}\n"
    )


def rows(found) -> list[dict[str, object]]:  # type: ignore[no-untyped-def]  # the import is deferred
    """The law as records, ascending in each part: the mass at zero, the density of each bulk on its grid, and outliers.

    A mass has a `weight` and no density; the weight of a bulk is the integral of its density.
    """
    nothing = dict.fromkeys(("density", "weight", "target", "overlap"))
    zero = {"part": "zero", "value": 0.0, **nothing, "weight": found.zero_mass}
    bulks = [
        {"part": f"bulk {number}", "value": float(value), **nothing, "density": float(density)}
        for number, (low, high) in enumerate(found.bulks, 1)
        for value, density in zip(found.x, found.density, strict=True)
        if low <= value <= high
    ]
    outliers = [
        {
            "part": "outlier",
            "value": one.value,
            **nothing,
            "weight": one.weight,
            "target": one.target,
            "overlap": one.overlap,
        }
        for one in found.outliers
    ]
    return [zero, *bulks, *outliers]
