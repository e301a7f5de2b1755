"""Option --digits of `curve`: points in decimal strings, proven, bounded or estimated."""

import argparse
import logging
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from attention_erm.runtime.progress import progress
from attention_erm.runtime.text_table import WIDTH
from numeric.cli.arguments import exact_text, integer
from numeric.cli.command import Result
from numeric.cli.covariance_arguments import require_no_covariance
from numeric.cli.model_arguments import chosen_model, own_settings
from numeric.cli.output import run_or_return_partial
from numeric.cli.problem_arguments import problem_of
from numeric.cli.target_arguments import lists_eigenvalues, target_law
from numeric.engines.interrupted import attach_partial_result

_LOG = logging.getLogger(__name__)

MAX_DIGITS = 1000


def add_digits(parser: argparse.ArgumentParser) -> None:
    """Add --digits."""
    parser.add_argument(
        "--digits",
        type=integer("--digits", 1, MAX_DIGITS, "more take minutes"),
        metavar="N",
        help="number of significant digits: proven for closed channels and --lambda 0, estimated "
        "for one visible index, bounded for two",
    )


def compute(arguments: argparse.Namespace) -> Result:
    """Return the points; the exit code is 1 if one has no such digits."""
    if arguments.plot:
        rule = "is not supported with --digits"
        raise InvalidParameter("--plot", arguments.plot, rule, "leave out --plot or --digits")
    from numeric.proven_saddle.digits import solver_of

    points, failures = list[dict[str, object]](), list[str]()
    solver = solver_of(exact_problem_of(arguments, arguments.alpha[0]), arguments.digits)

    def solve_all(alphas: Iterable[Fraction]) -> list[dict[str, object]]:
        with attach_partial_result(lambda: points):
            for alpha in alphas:
                try:
                    found = solver(exact_problem_of(arguments, alpha), arguments.digits)
                except NoAnswer as error:
                    failures.append(f"alpha = {exact_text(alpha)}: {error}")
                    continue
                how = {"status": found.status, "digits": found.digits, "proof": found.basis}
                points.append({"alpha": exact_text(alpha), **found.values, **how})
        return points

    run_or_return_partial(solve_all, progress(arguments.alpha, desc="alpha"))
    _, parameters = problem_of(arguments, arguments.alpha[0])

    def finish() -> int:
        for line in failures:
            _LOG.error(line)
        return int(bool(failures))

    document = {"parameters": parameters, "points": points}
    return Result(document, points, text=_text(points), finish=finish)


def _text(points: Sequence[Mapping[str, object]]) -> str:
    lines: list[str] = []
    for point in points:
        for name, value in point.items():
            if value is not None:
                lines += textwrap.wrap(
                    str(value),
                    WIDTH,
                    initial_indent=f"{name:>17}  ",
                    subsequent_indent=" " * 19,
                    break_long_words=False,
                )
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def exact_problem_of(arguments: argparse.Namespace, alpha: Fraction) -> Any:
    """Return the ExactProblem of the options.

    Args:
        arguments: options of `curve`.
        alpha: sample ratio n/d^2.

    Raises:
        InvalidParameter: the problem has no proven digits.
    """
    from numeric.exact.exact_problem import ExactProblem

    if arguments.parametrisation != "factorised":
        rule = "has no proven digits: its channel average is not closed"
        raise InvalidParameter(
            "--parametrisation", arguments.parametrisation, rule, "use factorised"
        )
    if arguments.sample_minimum != "global":
        rule = "has no proven digits: the minimum of a sample ends at folds"
        raise InvalidParameter("--sample-minimum", arguments.sample_minimum, rule, "use global")
    require_no_covariance(arguments, "the proof of digits of a solution")
    name, (rounded, _) = chosen_model(arguments), problem_of(arguments, alpha)
    rounded.require_gaussian_norms("proven digits of a solution")
    rounded.require_new_tokens("proven digits of a solution")
    own = own_settings(arguments, name, lists_eigenvalues(arguments))
    law, _ = target_law(arguments, name, own)
    settings = {
        "alpha": alpha,
        "lambda_": arguments.lambda_,
        "kappa": arguments.width,
        "Delta": arguments.noise,
        "beta": arguments.beta,
        "beta0": arguments.beta0,
        "T": Fraction(arguments.tokens),
        **own,
    }
    return ExactProblem(rounded, law, settings)
