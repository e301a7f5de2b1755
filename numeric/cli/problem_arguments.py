"""Arguments that state a problem, shared by the commands that solve it."""

import argparse
import math
from fractions import Fraction
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import (
    GRID,
    add_problem_arguments,
    exact_text,
    grid,
    non_negative,
    number,
    positive,
)
from numeric.cli.model_arguments import add_model, chosen_model, own_settings, stated_settings
from numeric.cli.target_arguments import add_target_arguments, float64_target, lists_eigenvalues
from numeric.laws.norms import NORMS

PROBLEM = ("width", "lambda_", "noise", "tokens", "beta", "beta0")


def add_problem(
    parser: argparse.ArgumentParser, *names: str, defaults: dict[str, str] | None = None
) -> None:
    """Add model, target and the parameters of these names, all but alpha if none is given."""
    add_model(parser)
    add_problem_arguments(parser, *(names or PROBLEM), defaults=defaults)
    add_target_arguments(parser)
    add_norms(parser)
    add_vocabulary(parser)


def add_vocabulary(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add --vocabulary, the number of tokens from which samples draw theirs.

    Args:
        parser: parser of the command.
        default: default value; None for new tokens in every sample.
    """
    parser.add_argument(
        "--vocabulary",
        type=positive("--vocabulary", "number of tokens over d^2, e.g. 1/5"),
        default=default,
        metavar="NU",
        help="samples draw their tokens from N = NU d^2 vectors (default: "
        f"{default or 'new tokens in every sample'})",
    )


def add_norms(parser: argparse.ArgumentParser) -> None:
    """Add --norms, how random the norms of the tokens are."""
    parser.add_argument(
        "--norms",
        type=norms,
        default="gaussian",
        metavar="W",
        help="norms of the tokens: gaussian, fixed, or the variance of ||x||^2 over tr C^2 with C "
        "the covariance of the tokens, 2 for Gaussian ones and 0 for fixed norms (default "
        "gaussian)",
    )


def norms(text: str) -> Fraction:
    """Argument type: name or number of norms of tokens."""
    if text in NORMS:
        return Fraction(NORMS[text])
    rule, way_out = "must be gaussian, fixed, or a number that is not negative", "try fixed"
    try:
        return non_negative("--norms", way_out)(text)
    except InvalidParameter:
        raise InvalidParameter("--norms", repr(text), rule, way_out) from None


def stated_vocabulary(arguments: argparse.Namespace) -> float:
    """Return the number of tokens over d^2, infinite if none is stated."""
    return math.inf if arguments.vocabulary is None else float(arguments.vocabulary)


def add_alpha_grid(parser: argparse.ArgumentParser) -> None:
    """Add --alpha, a list or grid of sample ratios."""
    parser.add_argument(
        "--alpha",
        type=grid("--alpha"),
        required=True,
        metavar="GRID",
        help=GRID,
    )


def add_parametrisation(parser: argparse.ArgumentParser) -> None:
    """Add --parametrisation."""
    parser.add_argument(
        "--parametrisation",
        choices=("factorised", "symmetric", "general"),
        default="factorised",
        help="factors with weight decay, or the matrix itself with a Frobenius penalty (default "
        "factorised)",
    )


def add_sample_minimum(parser: argparse.ArgumentParser) -> None:
    """Add --sample-minimum."""
    parser.add_argument(
        "--sample-minimum",
        choices=("global", "fitted"),
        default="global",
        help="minimum of a sample that has several: the lowest, or the one connected to its "
        "label, which training finds at weak decay (default global)",
    )


def add_decay_search(parser: argparse.ArgumentParser) -> None:
    """Add a grid of sample ratios, the problem without a weight decay, and --tolerance, how
    precisely the best one is searched.
    """
    add_alpha_grid(parser)
    add_problem(parser, *(name for name in PROBLEM if name != "lambda_"))
    parser.add_argument(
        "--tolerance",
        type=number(
            "--tolerance",
            "must lie from 1e-6 to 0.5",
            lambda value: Fraction(1, 10**6) <= value <= Fraction(1, 2),
            "it is the relative precision of lambda, e.g. 0.01",
        ),
        default="1/100",
        metavar="X",
        help="relative precision of lambda (default 1/100)",
    )


def problem_of_any_decay(arguments: argparse.Namespace) -> Any:
    """Return the problem of a search over the weight decay; its own weight decay is not used."""
    arguments.lambda_ = Fraction(1)
    asked, given = problem_of(arguments, arguments.alpha[0])
    del given["lambda"]
    return asked, {**given, "tolerance": exact_text(arguments.tolerance)}


def problem_of(arguments: argparse.Namespace, alpha: Fraction) -> Any:
    """The Problem that the arguments state, and the exact values of its parameters but alpha as
    text.
    """
    from numeric.problem.problem import (
        MOST_TOKENS,
        Parametrisation,
        Problem,
        SampleMinimum,
        extra_setting_names,
    )

    parametrisation = Parametrisation(getattr(arguments, "parametrisation", "factorised"))
    if arguments.lambda_ == 0 and parametrisation is not Parametrisation.FACTORISED:
        raise InvalidParameter(
            "--lambda",
            0,
            "direct training needs weight decay > 0",
            "use a small value such as 1e-6",
        )
    if arguments.tokens > MOST_TOKENS:
        raise InvalidParameter(
            "--tokens",
            arguments.tokens,
            f"learning curves are solved for at most {MOST_TOKENS} tokens",
            "use fewer; thresholds take any number",
        )
    for name in ("kappa0", "lambda_", "noise", "width", "beta", "beta0", "q0"):
        value = getattr(arguments, name)
        if value and not Fraction(1, 10**12) <= value:
            raise InvalidParameter(
                f"--{name.rstrip('_')}",
                value,
                "is below 1e-12",
                "give 0 (where allowed) or more than that",
            )
    model = chosen_model(arguments)
    own = own_settings(arguments, model, lists_eigenvalues(arguments))
    target, given = float64_target(arguments, model, own)
    asked = Problem(
        alpha=float(alpha),
        target=target,
        lambda_=float(arguments.lambda_),
        noise=float(arguments.noise),
        width=float(arguments.width),
        tokens=arguments.tokens,
        beta=float(arguments.beta),
        beta0=float(arguments.beta0),
        parametrisation=parametrisation,
        sample_minimum=SampleMinimum(getattr(arguments, "sample_minimum", "global")),
        norms=float(arguments.norms),
        vocabulary=stated_vocabulary(arguments),
        model=model,
        extra=tuple(
            (name, float(value))
            for name, value in own.items()
            if name in extra_setting_names(model)
        ),
    )
    given = {"model": model, **given, **{name: str(value) for name, value in own.items()}}
    for name in ("sample_minimum", "parametrisation"):
        if hasattr(arguments, name):
            given = {name: str(getattr(asked, name)), **given}
    if asked.has_norms:
        given["norms"] = str(arguments.norms)
    if asked.has_vocabulary:
        given["vocabulary"] = str(arguments.vocabulary)
    return asked, {**given, **stated_settings(arguments, model, *PROBLEM)}
