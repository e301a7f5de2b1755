"""Command `python -m numeric decompose`: parts of the test error."""

import argparse
import logging
import math
import time

from attention_erm.runtime.progress import progress
from numeric.cli.output import (
    add_outputs,
    deliver,
    outputs,
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


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "decompose",
        help="parts of the test error along alpha: overfitting, underfitting, approximation, mismatch",
        description="Split the test error of the learned S at each alpha into what it owes to overfitting (energy in "
        "noise), underfitting (features not learned), approximation (features learned wrongly) and mismatch "
        "(of the best multiple of the target). Prints a row a point: the parts in eigenvalue^2, and the rate that turns them "
        "into those of the test error, which are printed as excess_ and drawn: with `least` and `mismatch` they add up to it, in "
        "units of the loss per sample. A part can fall below zero, which is said.",
        epilog="example: python -m numeric decompose --alpha 0.1:100:20 --power-law 1 --dim 100 --lambda .1 --noise .5",
    )
    parser.set_defaults(run=run)
    add_alpha_grid(parser)
    add_problem(parser)
    add_sample_minimum(parser)
    add_outputs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the parts of the test error; exit 1 if a point was not solved."""
    outputs(arguments)  # refused before any work
    started = time.perf_counter()
    asked, given = problem_of(arguments, arguments.alpha[0])
    from numeric.saddle.curve import learning_curve, solve_between
    from numeric.studies.decompose import decompose as parts_of

    alphas = [float(alpha) for alpha in arguments.alpha]
    solutions = run_or_return_partial(
        learning_curve, asked, alphas, lambda values: progress(values, desc="alpha")
    )
    found = {
        solution.problem.alpha: parts_of(solution) for solution in solutions if solution.trusted
    }
    for name in EXCESS:
        below = [alpha for alpha, parts in found.items() if parts.excess[name] < 0]
        if below:
            _LOG.warning(
                "%s is negative at alpha = %s: parts contain cross terms, which can be most of a small part "
                "(docs/explanation/theory.md, section 7)",
                name, format_ranges(below, alphas),
            )  # fmt: skip

    def drawn_parts(solution):  # type: ignore[no-untyped-def]  # the import is deferred
        alpha = solution.problem.alpha
        if solution.trusted and alpha not in found:
            found[alpha] = parts_of(solution)
        return alpha, *(
            abs(found[alpha].excess[name]) if alpha in found else math.nan for name in EXCESS
        )

    def records(of):  # type: ignore[no-untyped-def]
        return [record(solution, found.get(solution.problem.alpha)) for solution in of]

    points = records(solutions)
    drawn = with_kinks(solutions, drawn_parts, solve_between) if arguments.plot else solutions
    legend = (
        "test_error = least + mismatch + excess_overfitting + excess_underfitting + excess_approximation\n"
        "gain: of unlearned features, what S holds of them (in `scaling` it is c/c*)\n"
    )
    legend += (
        "parts jump where a feature leaves the bulk, from where on it counts as learned; their sum does not\n"
        if any(parts.gain for parts in found.values())
        else "gain is 0 where as many eigenvectors of S as the target's rank count as features, whether they stand apart or not\n"
    )
    deliver(
        arguments,
        points,
        lambda plotting: plotting.decomposition_figure(
            [found[solution.problem.alpha] for solution in drawn if solution.trusted],
            unsolved=[solution.problem.alpha for solution in drawn if not solution.trusted],
        ),
        lambda: {"parameters": given, "points": points, "seconds": time.perf_counter() - started},
        {"points": records(drawn)},
        legend,
    )
    warn_of_values(solutions)
    return print_unsolved(solutions)


def record(solution, parts) -> dict[str, object]:  # type: ignore[no-untyped-def]  # the import is deferred
    """One point as a JSON object; what is not known is null."""
    excess = parts.excess if parts else {}
    return {
        "alpha": solution.problem.alpha,
        "test_error": solution.test_error if solution.trusted else None,
        **{name: getattr(parts, name, None) for name in PARTS},
        **{f"excess_{name}": excess.get(name) for name in EXCESS},
        "status": solution.status.name.lower(),
    }
