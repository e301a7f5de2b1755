"""Command `python -m numeric threshold`: critical sample ratios with proven digits."""

import argparse
import sys
import time
from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import log_if_slow
from numeric.cli.arguments import exact_texts, integer, print_json
from numeric.cli.model_arguments import chosen_model, own_settings
from numeric.cli.problem_arguments import add_problem
from numeric.cli.target_arguments import lists_eigenvalues, target_law
from numeric.model import DEFAULT

PARAMETERS = ("noise", "width", "tokens", "beta", "beta0")


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "threshold",
        help="critical sample ratio to any number of digits",
        description="Compute a critical sample ratio n/d^2: above `interpolation` the training loss is positive at "
        "vanishing weight decay (`interpolation-limit`: its limit without label noise), from `recovery` on "
        "the target is recovered without noise, from `bayes` on it can be. Prints the value alone, with all "
        "its digits proven in ball arithmetic, and where there are several roots these and which was chosen.",
        epilog="example: python -m numeric threshold interpolation --kappa0 1/2 --noise 1 --digits 50",
    )
    parser.add_argument(
        "kind",
        choices=("interpolation", "interpolation-limit", "recovery", "bayes"),
        help="where the loss can vanish, that limit without noise, where the target is learned, and where by the Bayes optimum",
    )
    add_problem(parser, *PARAMETERS, defaults={"noise": "0"})
    parser.add_argument(
        "--digits",
        type=integer("--digits", 1, 10_000, "more digits take minutes"),
        default="50",
        metavar="N",
        help="significant digits (default 50)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one threshold."""
    from numeric.maths.balls import Unresolved
    from numeric.proven_laws.finite import FiniteLaw
    from numeric.thresholds.bayes_recovery import bayes_recovery
    from numeric.thresholds.interpolation import interpolation, interpolation_limit
    from numeric.thresholds.proven_digits import MAX_WORK
    from numeric.thresholds.recovery import recovery

    started = time.perf_counter()
    model = chosen_model(arguments)
    own = own_settings(arguments, model, lists_eigenvalues(arguments))
    law, given = target_law(arguments, model, own)
    check_threshold(arguments, 1 - law.zero_mass)
    if isinstance(law, FiniteLaw) and arguments.digits * len(law) > MAX_WORK:
        rule = f"digits times eigenvalues ({len(law)}) must not exceed {MAX_WORK}"
        raise InvalidParameter(
            "--digits", arguments.digits, rule, f"ask for at most {MAX_WORK // len(law)}"
        )
    tokens, digits, width = arguments.tokens, arguments.digits, arguments.width
    try:
        with log_if_slow("proving the digits"):
            if arguments.kind == "interpolation-limit":
                found = interpolation_limit(law, tokens, digits)
            elif arguments.kind == "interpolation":
                found = interpolation(law, arguments.noise, tokens, digits, width)
            elif arguments.kind == "recovery":
                found = recovery(law, tokens, digits, width)
            else:
                found = bayes_recovery(law, tokens, digits)
    except Unresolved as error:
        sys.stderr.write(f"{error}; ask for fewer digits or less extreme parameters\n")
        return 1
    seconds = time.perf_counter() - started
    if arguments.json:
        stated = (
            {"model": model, **given, **{name: str(value) for name, value in own.items()}}
            if model != DEFAULT
            else given
        )
        print_json(
            {
                "kind": found.kind,
                "parameters": {**stated, **exact_texts(arguments, *PARAMETERS)},
                "value": found.value,
                "digits_proven": found.digits,
                "proof": "ball arithmetic",
                "roots": list(found.roots),
                "complete": found.complete,
                "choice": found.choice,
                "upper_bound": found.upper_bound,
                "seconds": seconds,
            }
        )
    else:
        print_threshold(found)
    return 0


def print_threshold(found) -> None:  # type: ignore[no-untyped-def]  # the import is deferred
    """The value alone on the first line; where there was a choice, what it was."""
    sys.stdout.write(f"{found.value}\n")
    if len(found.roots) > 1:
        sys.stdout.write(f"roots: {', '.join(found.roots)}\nchosen: {found.choice}\n")
    if not found.complete:
        sys.stdout.write("completeness not proven: there may be other roots\n")
    if found.upper_bound:
        sys.stdout.write(
            "an upper bound, as replica symmetric: the training loss is positive already above\n"
            f"{found.upper_bound} = {float(Fraction(found.upper_bound)):.6g}, where noisy labels outnumber the parameters of S\n"
        )


def check_threshold(arguments: argparse.Namespace, rank: Fraction) -> None:
    """Refuse what a threshold is not defined for; `rank` is the target's share of non-zero eigenvalues.

    Raises:
        InvalidParameter: the combination of arguments is outside the domain.
    """
    if arguments.kind == "interpolation":
        if arguments.noise == 0:
            raise InvalidParameter(
                "--noise",
                0,
                "the interpolation threshold needs label noise > 0",
                "use `threshold interpolation-limit` or `threshold recovery`",
            )
        return
    if arguments.noise != 0:
        raise InvalidParameter(
            "--noise",
            arguments.noise,
            "recovery and limits are those without label noise",
            "use --noise 0, or `threshold interpolation`",
        )
    if arguments.kind == "interpolation-limit" and arguments.width < 1:
        raise InvalidParameter(
            "--width",
            arguments.width,
            "the limit is that of a student of any rank",
            "use 1, or a small --noise",
        )
    if arguments.kind in ("bayes", "interpolation-limit"):
        return
    if arguments.beta != arguments.beta0:
        raise InvalidParameter(
            "--beta",
            arguments.beta,
            f"recovery needs beta = beta0 (here {arguments.beta0})",
            "give both the same value",
        )
    if arguments.width < rank:
        raise InvalidParameter(
            "--width",
            arguments.width,
            f"recovery needs a width of at least the target's rank ratio {rank}",
            "widen the student",
        )
