"""Command `decompose`: parts of the test error."""

import argparse
import logging
import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from attention_erm.runtime.progress import progress
from numeric.cli.command import Command, Result
from numeric.cli.output import (
    add_outputs,
    print_unsolved,
    run_or_return_partial,
    warn_of_values,
    with_kinks,
)
from numeric.cli.problem_arguments import (
    add_alpha_grid,
    add_problem,
    add_sample_minimum,
    problem_of,
)
from numeric.plotting.numbers import format_ranges

_LOG = logging.getLogger(__name__)

EXCESS = ("overfitting", "underfitting", "approximation")
PARTS = (
    "c_star",
    "overfitting",
    "underfitting",
    "approximation",
    "gain",
    "distance",
    "least",
    "mismatch",
    "rate",
)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_alpha_grid(parser)
    add_problem(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    problem, parameters = problem_of(arguments, arguments.alpha[0])
    problem.require_isotropic("the decomposition of errors")
    problem.require_index_as_label("the decomposition of errors")
    from numeric.saddle.curve import learning_curve, solve_between
    from numeric.studies.decompose import decompose

    alphas = [float(alpha) for alpha in arguments.alpha]
    watch = partial(progress, desc="alpha")
    solutions = run_or_return_partial(learning_curve, problem, alphas, watch)
    parts = {one.problem.alpha: decompose(one) for one in solutions if one.trusted}
    for name in EXCESS:
        if below := [alpha for alpha, split in parts.items() if split.excess[name] < 0]:
            _LOG.warning(
                "%s is below zero at alpha = %s: the parts contain cross terms, which dominate if "
                "a part is small (docs/explanation/theory.md, section 7)",
                name,
                format_ranges(below, alphas),
            )

    def coordinates(solution: Any) -> tuple[float, ...]:
        alpha = solution.problem.alpha
        if solution.trusted and alpha not in parts:
            parts[alpha] = decompose(solution)
        return alpha, *(
            abs(parts[alpha].excess[name]) if alpha in parts else math.nan for name in EXCESS
        )

    def records(of: Iterable[Any]) -> list[dict[str, object]]:
        return [_record(solution, parts.get(solution.problem.alpha)) for solution in of]

    def draw(plotting: Any) -> tuple[Any, Mapping[str, object]]:
        drawn = with_kinks(solutions, coordinates, solve_between)
        figure = plotting.decomposition_figure(
            [parts[one.problem.alpha] for one in drawn if one.trusted],
            unsolved=[one.problem.alpha for one in drawn if not one.trusted],
        )
        return figure, {"points": records(drawn)}

    def finish() -> int:
        warn_of_values(solutions)
        return print_unsolved(solutions)

    points = records(solutions)
    footer = (
        "test_error = least + mismatch + excess_overfitting + excess_underfitting + "
        "excess_approximation\n"
        "gain: what S contains of unlearned features (in `scaling` it is c/c*)\n"
    )
    footer += (
        "parts jump where a feature leaves the bulk, because it then counts as learned; their sum "
        "does not\n"
        if any(split.gain for split in parts.values())
        else "gain is 0 where as many eigenvectors of S as the rank of the target count as "
        "features, in the bulk or not\n"
    )
    document = {"parameters": parameters, "points": points}
    return Result(document, points, footer=footer, draw=draw, finish=finish)


def _record(solution: Any, parts: Any) -> dict[str, object]:
    excess = parts.excess if parts else {}
    return {
        "alpha": solution.problem.alpha,
        "test_error": solution.test_error if solution.trusted else None,
        **{name: getattr(parts, name, None) for name in PARTS},
        **{f"excess_{name}": excess.get(name) for name in EXCESS},
        "status": solution.status.name.lower(),
    }


COMMAND = Command(
    "decompose",
    help="parts of the test error along alpha: overfitting, underfitting, approximation, mismatch",
    description="Split the test error of the learned S at each alpha into overfitting (energy in "
    "noise), underfitting (features not learned), approximation (features learned wrongly) and "
    "mismatch (of the best multiple of the target). Prints one row per point: the parts in "
    "eigenvalue^2, and the rate that converts them to parts of the test error. The latter are "
    "printed as excess_ and plotted: with `least` and `mismatch` they add up to the test error, in "
    "units of the loss per sample. A part can be below zero; a warning then reports it.",
    example="python -m numeric decompose --alpha 0.1:100:20 --power-law 1 --dim 100 --lambda .1 "
    "--noise .5",
    add_options=_add_options,
    compute=_compute,
)
