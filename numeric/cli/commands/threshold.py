"""Command `threshold`: critical sample ratios with proven digits."""

import argparse
import sys
from fractions import Fraction
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import log_if_slow
from numeric.cli.arguments import integer
from numeric.cli.command import Command, Result
from numeric.cli.covariance_arguments import covariance_target, states_covariance
from numeric.cli.model_arguments import chosen_model, own_settings, stated_settings
from numeric.cli.output import add_json
from numeric.cli.problem_arguments import add_problem
from numeric.cli.target_arguments import lists_eigenvalues, target_law
from numeric.laws.norms import GAUSSIAN_NORMS
from numeric.model import DEFAULT

PARAMETERS = ("noise", "width", "tokens", "beta", "beta0")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        choices=("interpolation", "interpolation-limit", "recovery", "bayes", "weak-recovery"),
        help="where the loss can vanish, its limit without noise, where the target is learned, "
        "where the Bayes optimum learns it, and from where labels without a sign tell anything",
    )
    add_problem(parser, *PARAMETERS, defaults={"noise": "0"})
    parser.add_argument(
        "--digits",
        type=integer("--digits", 1, 10_000, "more digits take minutes"),
        default="50",
        metavar="N",
        help="significant digits (default 50)",
    )
    add_json(parser)


def _compute(arguments: argparse.Namespace) -> Result | int:
    from numeric.maths.balls import Unresolved
    from numeric.proven_laws.finite import FiniteLaw
    from numeric.thresholds.bayes_recovery import bayes_recovery
    from numeric.thresholds.interpolation import interpolation, interpolation_limit
    from numeric.thresholds.recovery import recovery
    from numeric.thresholds.setting import MAX_WORK, require_vocabulary
    from numeric.thresholds.weak_recovery import weak_recovery

    model = chosen_model(arguments)
    own = own_settings(arguments, model, lists_eigenvalues(arguments))
    law, given = target_law(arguments, model, own)
    target: Any = law
    if states_covariance(arguments):
        target, covariance = covariance_target(arguments)
        law, given = target.exact(), {**given, **covariance}
    check_threshold(arguments, 1 - law.zero_mass)
    tokens, digits, width = arguments.tokens, arguments.digits, arguments.width
    norms = arguments.norms
    if norms != GAUSSIAN_NORMS:
        given = {**given, "norms": str(norms)}
        if arguments.kind not in ("interpolation", "recovery"):
            rule = f"is not derived for the {arguments.kind} threshold"
            raise InvalidParameter("--norms", norms, rule, "use Gaussian norms, 2")
    if arguments.vocabulary is not None:
        require_vocabulary(arguments.kind, arguments.vocabulary)
        given = {**given, "vocabulary": str(arguments.vocabulary)}
    if isinstance(law, FiniteLaw) and digits * len(law) > MAX_WORK:
        rule = f"digits times eigenvalues ({len(law)}) must not exceed {MAX_WORK}"
        raise InvalidParameter("--digits", digits, rule, f"use at most {MAX_WORK // len(law)}")
    try:
        with log_if_slow("proving the digits"):
            if arguments.kind == "interpolation-limit":
                found = interpolation_limit(target, tokens, digits, model=model)
            elif arguments.kind == "interpolation":
                found = interpolation(
                    *(target, arguments.noise, tokens, digits, width),
                    model=model,
                    norms=norms,
                    vocabulary=arguments.vocabulary,
                )
            elif arguments.kind == "recovery":
                found = recovery(
                    *(target, tokens, digits, width),
                    model=model,
                    norms=norms,
                    vocabulary=arguments.vocabulary,
                )
            elif arguments.kind == "bayes":
                found = bayes_recovery(target, tokens, digits, model=model)
            else:
                found = weak_recovery(target, arguments.noise, digits, model=model)
    except Unresolved as error:
        sys.stderr.write(f"{error}; ask for fewer digits or less extreme parameters\n")
        return 1
    if model != DEFAULT:
        given = {"model": model, **given, **{name: str(value) for name, value in own.items()}}
    document = {
        "kind": found.kind,
        "parameters": {**given, **stated_settings(arguments, model, *PARAMETERS)},
        "value": found.value,
        "digits_proven": found.digits,
        "proof": "ball arithmetic",
        "roots": list(found.roots),
        "complete": found.complete,
        "choice": found.choice,
        "upper_bound": found.upper_bound,
    }
    return Result(document, text=threshold_text(found))


def threshold_text(found: Any) -> str:
    """Return the value on the first line, then the choice among several roots, if any."""
    lines = [found.value]
    if len(found.roots) > 1:
        lines += [f"roots: {', '.join(found.roots)}", f"chosen: {found.choice}"]
    if not found.complete:
        lines.append("completeness not proven: there may be other roots")
    if found.upper_bound:
        lines += [
            "an upper bound, as replica symmetric: the training loss is positive already above",
            f"{found.upper_bound} = {float(Fraction(found.upper_bound)):.6g}, where noisy labels "
            "outnumber the parameters of S",
        ]
    return "".join(f"{line}\n" for line in lines)


def check_threshold(arguments: argparse.Namespace, rank: Fraction) -> None:
    """Require parameters at which the threshold is defined.

    Args:
        arguments: options of the command.
        rank: fraction of non-zero eigenvalues of the target.

    Raises:
        InvalidParameter: the threshold is not defined.
    """
    kind = arguments.kind
    if kind == "interpolation":
        if arguments.noise == 0:
            raise InvalidParameter(
                "--noise",
                0,
                "the interpolation threshold needs label noise > 0",
                "use `threshold interpolation-limit` or `threshold recovery`",
            )
    elif arguments.noise != 0 and kind != "weak-recovery":
        raise InvalidParameter(
            "--noise",
            arguments.noise,
            "recovery and limits are those without label noise",
            "use --noise 0, or `threshold interpolation`",
        )
    elif kind == "interpolation-limit" and arguments.width < 1:
        rule = "the limit is the same for a student of any rank"
        raise InvalidParameter("--width", arguments.width, rule, "use 1, or a small --noise")
    elif kind == "recovery" and arguments.beta != arguments.beta0:
        rule = f"recovery needs beta = beta0 (here {arguments.beta0})"
        raise InvalidParameter("--beta", arguments.beta, rule, "give both the same value")
    elif kind == "recovery" and arguments.width < rank:
        rule = f"recovery needs a width of at least the target's rank ratio {rank}"
        raise InvalidParameter("--width", arguments.width, rule, "widen the student")


COMMAND = Command(
    "threshold",
    help="critical sample ratio to any number of digits",
    description="Compute a critical sample ratio n/d^2: above `interpolation` the training loss is "
    "positive at vanishing weight decay (`interpolation-limit`: its limit without label noise), "
    "from `recovery` on the target is recovered without noise, from `bayes` on it can be; from "
    "`weak-recovery` on labels without a sign tell anything about it. Prints "
    "the value alone, with all its digits proven in ball arithmetic, and if there are several "
    "roots all of them and the chosen one.",
    example="python -m numeric threshold interpolation --kappa0 1/2 --noise 1 --digits 50",
    add_options=_add_options,
    compute=_compute,
)
