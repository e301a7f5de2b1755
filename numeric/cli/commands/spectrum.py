"""Command `spectrum`: eigenvalues of the learned map."""

import argparse
import dataclasses
import logging
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import log_if_slow
from numeric.cli.arguments import positive
from numeric.cli.command import Command, Result
from numeric.cli.output import add_outputs, warn_of_values
from numeric.cli.problem_arguments import (
    add_parametrisation,
    add_problem,
    add_sample_minimum,
    problem_of,
)

_LOG = logging.getLogger(__name__)


def _add_options(parser: argparse.ArgumentParser) -> None:
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


def _compute(arguments: argparse.Namespace) -> Result | int:
    if arguments.parametrisation == "general":
        rule = "eigenvalues require a symmetric map"
        raise InvalidParameter("--parametrisation", "general", rule, "use symmetric")
    problem, parameters = problem_of(arguments, arguments.alpha)
    from numeric.saddle.solve import solve
    from numeric.studies.spectrum import learned_spectrum

    with log_if_slow("solving"):
        solution = solve(problem)
    if not solution.trusted:
        _LOG.error("alpha = %g: %s", problem.alpha, solution.advice)
        return 1
    with log_if_slow("spectrum"):
        found = learned_spectrum(solution)
    parameters = {"alpha": str(arguments.alpha), **parameters}
    status = solution.status.name.lower()

    def finish() -> int:
        warn_of_values([solution])
        return 0

    return Result(
        {
            "parameters": parameters,
            "status": status,
            "zero_mass": found.zero_mass,
            "bulk": {"x": found.x.tolist(), "density": found.density.tolist()},
            "edges": found.bulks,
            "outliers": [dataclasses.asdict(outlier) for outlier in found.outliers],
            "second_moment": found.second_moment,
            "moment_error": found.moment_error,
            "residual": solution.residual,
            "error_estimate": solution.error_estimate,
        },
        rows(found),
        text=_text(found, solution),
        draw=lambda plotting: (plotting.spectrum_figure(found), {}),
        table_parameters={**parameters, "status": status},
        timed=False,
        finish=finish,
    )


def _text(found: Any, solution: Any) -> str:
    lines = [
        f"mass at zero {found.zero_mass:.6f}, second moment {found.second_moment:.6f}",
        *(f"bulk from {low:.6f} to {high:.6f}" for low, high in found.bulks),
        *(
            f"outlier at {one.value:.6f} from {one.target:.6f}, overlap {one.overlap:.6f}, "
            f"weight {one.weight:.3g}"
            for one in found.outliers
        ),
        f"{solution.status.name.lower()}, residual {solution.residual:.1e}, "
        f"relative error {solution.error_estimate:.1e}",
    ]
    return "".join(f"{line}\n" for line in lines)


def rows(found: Any) -> list[dict[str, object]]:
    """Return the spectrum as rows, ascending in each part: mass at zero, bulks, outliers.

    A mass has a weight and no density. The weight of a bulk is the integral of its density.
    """
    empty = dict.fromkeys(("density", "weight", "target", "overlap"))
    zero = {"part": "zero", "value": 0.0, **empty, "weight": found.zero_mass}
    bulks = [
        {"part": f"bulk {number}", "value": float(value), **empty, "density": float(density)}
        for number, (low, high) in enumerate(found.bulks, 1)
        for value, density in zip(found.x, found.density, strict=True)
        if low <= value <= high
    ]
    outliers = [
        {
            "part": "outlier",
            "value": one.value,
            **empty,
            "weight": one.weight,
            "target": one.target,
            "overlap": one.overlap,
        }
        for one in found.outliers
    ]
    return [zero, *bulks, *outliers]


COMMAND = Command(
    "spectrum",
    help="eigenvalues of the learned map",
    description="Solve one point and print the law of the eigenvalues of the learned S: its mass "
    "at zero, the edges of each bulk, outliers with their position, overlap and weight, the second "
    "moment, and the residual of the solver. --json and --csv contain the density on a grid, "
    "--plot draws it.",
    example="python -m numeric spectrum --alpha 0.5 --kappa0 .5 --lambda .01 --noise .5 "
    "--plot spectrum.png",
    add_options=_add_options,
    compute=_compute,
)
