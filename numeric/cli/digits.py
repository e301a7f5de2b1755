"""What `curve --digits` does: points in decimal strings whose digits are proven or, where it says so, bounded or estimated."""

import argparse
import logging
import sys
import textwrap
import time
from fractions import Fraction
from functools import partial

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from attention_erm.runtime.progress import progress
from attention_erm.runtime.text_table import WIDTH
from numeric.cli.arguments import exact_text, integer
from numeric.cli.model_arguments import chosen_model, own_settings
from numeric.cli.output import outputs, printed, run_or_return_partial, write_table
from numeric.cli.problem_arguments import problem_of
from numeric.cli.target_arguments import lists_eigenvalues, target_law
from numeric.engines.interrupted import attach_partial_result

_LOG = logging.getLogger(__name__)

MOST_DIGITS = 1000


def add_digits(parser: argparse.ArgumentParser) -> None:
    """Add --digits."""
    parser.add_argument(
        "--digits",
        type=integer("--digits", 1, MOST_DIGITS, "more take minutes"),
        metavar="N",
        help="so many significant digits: proven for closed channels and --lambda 0, estimated for one visible index, bounded for two",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the points; exit 1 if one has no such digits."""
    table, figure = outputs(arguments)
    if figure:
        raise InvalidParameter(
            "--plot", figure, "has no use for digits", "leave out --plot or --digits"
        )
    from numeric.proven_saddle.digits import solver_of

    started, failures = time.perf_counter(), []
    points: list[dict[str, object]] = []
    solver = solver_of(exact_problem_of(arguments, arguments.alpha[0]), arguments.digits)

    def along(alphas):  # type: ignore[no-untyped-def]
        with attach_partial_result(lambda: points):
            for alpha in alphas:
                try:
                    found = solver(exact_problem_of(arguments, alpha), arguments.digits)
                except NoAnswer as error:
                    failures.append(f"alpha = {exact_text(alpha)}: {error}")
                    continue
                how = {"status": found.status, "digits": found.digits, "proof": found.basis}
                points.append({"alpha": exact_text(alpha), **found.values, **how})

    run_or_return_partial(along, progress(arguments.alpha, desc="alpha"))
    _, given = problem_of(arguments, arguments.alpha[0])
    document = {"parameters": given, "points": points, "seconds": time.perf_counter() - started}
    with printed(arguments, document, partial(_print_points, points)):
        if table and points:
            write_table(table, points, given)
    for line in failures:
        _LOG.error(line)
    return 1 if failures else 0


def _print_points(points: list[dict[str, object]]) -> None:
    for point in points:
        for name, value in point.items():
            if value is not None:  # a number is one word, however long
                head, further = f"{name:>17}  ", " " * 19
                lines = textwrap.wrap(
                    str(value),
                    WIDTH,
                    initial_indent=head,
                    subsequent_indent=further,
                    break_long_words=False,
                )
                sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.write("\n")


def exact_problem_of(arguments: argparse.Namespace, alpha: Fraction):  # type: ignore[no-untyped-def]  # the import is deferred
    """The ExactProblem that the arguments state."""
    from numeric.proven_saddle.exact_problem import ExactProblem

    if arguments.parametrisation != "factorised":
        rule = "has no proven digits: its channel average is not closed"
        raise InvalidParameter(
            "--parametrisation", arguments.parametrisation, rule, "use factorised"
        )
    if arguments.sample_minimum != "global":
        rule = "has no proven digits: the minimum of a sample ends at folds"
        raise InvalidParameter("--sample-minimum", arguments.sample_minimum, rule, "use global")
    name, (rounded, _) = chosen_model(arguments), problem_of(arguments, alpha)
    own = own_settings(arguments, name, lists_eigenvalues(arguments))
    law, _ = target_law(arguments, name, own)
    settings = {
        **{
            "alpha": alpha,
            "lambda_": arguments.lambda_,
            "kappa": arguments.width,
            "Delta": arguments.noise,
        },
        **{"beta": arguments.beta, "beta0": arguments.beta0, "T": Fraction(arguments.tokens)},
        **own,
    }
    return ExactProblem(rounded, law, settings)
