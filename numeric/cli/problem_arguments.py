"""Arguments that state a problem, shared by the commands that solve it."""

import argparse
from fractions import Fraction

from numeric.cli.arguments import BadInput, add_problem_arguments, exact_texts, grid
from numeric.cli.model_arguments import add_model, chosen_model, own_settings
from numeric.cli.target_arguments import add_target_arguments, float64_target
from numeric.model import DEFAULT, structure

PROBLEM = ("width", "lambda_", "noise", "tokens", "beta", "beta0")


def add_problem(parser: argparse.ArgumentParser, *names: str, any_model: bool = False) -> None:
    """Add the target and the parameters of these names, all but alpha if none is given; --model where the command solves any."""
    add_problem_arguments(parser, *(names or PROBLEM))
    add_target_arguments(parser, of_model=not any_model)
    if any_model:
        add_model(parser)


def add_alpha_grid(parser: argparse.ArgumentParser) -> None:
    """Add --alpha, a list or grid of sample ratios."""
    parser.add_argument(
        "--alpha",
        type=grid("--alpha"),
        required=True,
        metavar="GRID",
        help="0.2,0.5,1 or first:last:count (geometric)",
    )


def add_parametrisation(parser: argparse.ArgumentParser) -> None:
    """Add --parametrisation."""
    parser.add_argument(
        "--parametrisation",
        choices=("factorised", "symmetric", "general"),
        default="factorised",
        help="factors with weight decay, or the matrix itself with a Frobenius penalty (default factorised)",
    )


def problem_of(arguments: argparse.Namespace, alpha: Fraction):  # type: ignore[no-untyped-def]  # the import is deferred
    """The Problem that the arguments state, and the exact values of its parameters but alpha as text."""
    from numeric.problem.problem import MOST_TOKENS, Parametrisation, Problem, of_parts

    parametrisation = Parametrisation(getattr(arguments, "parametrisation", "factorised"))
    if arguments.lambda_ == 0 and parametrisation is not Parametrisation.FACTORISED:
        raise BadInput("--lambda", 0, "direct training needs weight decay > 0", "use a small value such as 1e-6")
    if arguments.tokens > MOST_TOKENS:
        raise BadInput(
            "--tokens",
            arguments.tokens,
            f"learning curves are solved for at most {MOST_TOKENS} tokens",
            "use fewer; thresholds take any number",
        )
    for name in ("kappa0", "lambda_", "noise", "width", "beta", "beta0", "q0"):
        value = getattr(arguments, name)
        if value and not Fraction(1, 10**12) <= value:
            raise BadInput(f"--{name.rstrip('_')}", value, "is below 1e-12", "give 0 (where allowed) or more than that")
    model = chosen_model(arguments)
    own = own_settings(arguments.settings, model) if model != DEFAULT else {}
    target, given = _target(arguments, model, own)
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
        model=model,
        extra=tuple((name, float(value)) for name, value in own.items() if name in of_parts(model)),
    )
    if model != DEFAULT:
        given = {"model": model, **given, **{name: str(value) for name, value in own.items()}}
    if hasattr(arguments, "parametrisation"):
        given = {"parametrisation": str(parametrisation), **given}
    return asked, {**given, **exact_texts(arguments, *PROBLEM)}


def _target(arguments: argparse.Namespace, model: str, own: dict[str, Fraction]):  # type: ignore[no-untyped-def]
    """The target law, that of the model where its matrices have eigenvalues of either sign, and its exact values as text."""
    if arguments.law_of_model:
        return float64_target(arguments)
    names, ways = structure(model)["target"], ("kappa0", "eigenvalues", "power_law")
    own_law = structure(model)["negative_eigenvalues"] or "kappa0" not in names
    stated = [way for way in ways if getattr(arguments, way) is not None]
    if not own_law and not stated:
        raise BadInput("--kappa0", "nothing", "the target must be stated", "add --kappa0, --eigenvalues or --power-law")
    if own_law and stated != ["kappa0"] * ("kappa0" in names):
        way_out = "state --kappa0 alone" if "kappa0" in names else f"state its {', '.join(names)} by --settings alone"
        raise BadInput("--model", model, "has a target law of its own", way_out)
    if not own_law:
        return float64_target(arguments)
    from numeric.laws.rational_target import RationalTarget

    values = {"kappa0": arguments.kappa0, "scale": Fraction(1), **own}
    given = {"kappa0": str(arguments.kappa0)} if "kappa0" in names else {}
    return RationalTarget.of(
        model, **{name: float(value) for name, value in values.items() if value is not None}
    ), given
