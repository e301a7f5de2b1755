"""Command-line arguments that state the target law: rank ratio, eigenvalues, power law, or another generated model."""

import argparse
from fractions import Fraction
from pathlib import Path

from numeric import model
from numeric.cli.arguments import HEAVY_TAIL, BadInput, integer, number, positive

MOST_EIGENVALUES = 10_000


def add_target_arguments(parser: argparse.ArgumentParser, of_model: bool = True) -> None:
    """Add the ways to state a target; exactly one of the first must be given. `of_model`: the law of a model is one of them."""
    way_out = "use the target's rank over d, e.g. 1/2"
    target = parser.add_mutually_exclusive_group(required=of_model)
    target.add_argument(
        "--kappa0", type=positive("--kappa0", way_out), metavar="X", help="rank ratio of a Marchenko-Pastur target"
    )
    target.add_argument(
        "--eigenvalues", type=parse_eigenvalues, metavar="LIST", help="eigenvalues 3,2,1 of the target, or @FILE"
    )
    target.add_argument(
        "--power-law",
        type=positive("--power-law", "give the exponent, e.g. 3/4"),
        metavar="GAMMA",
        help="eigenvalues proportional to k^-GAMMA, k = 1..dim",
    )
    if of_model:
        target.add_argument("--model", metavar="NAME", help="target of another generated model, with --settings")
    parser.add_argument(
        "--weights", type=parse_weights, metavar="LIST", help="weights of the eigenvalues (default equal)"
    )
    parser.add_argument(
        "--dim",
        type=integer("--dim", 1, MOST_EIGENVALUES, "a target has at least one eigenvalue"),
        metavar="D",
        help="dimension: of a power law, or of a target of finite rank whose other eigenvalues are 0",
    )
    parser.add_argument(
        "--q0",
        type=positive("--q0", "give the second moment tr S0^2/d, e.g. 1"),
        metavar="X",
        help="second moment of a power law (default 1)",
    )
    parser.add_argument("--settings", metavar="LIST", help="settings of --model, e.g. kappa1=1/2,scale1=1")
    parser.set_defaults(law_of_model=of_model)


def parse_eigenvalues(text: str) -> tuple[Fraction, ...]:
    """Non-negative exact numbers separated by commas, or by blanks and commas in the file named after @."""
    return _numbers("--eigenvalues", text, "must not be negative: S0 is positive", lambda value: value >= 0)


def parse_weights(text: str) -> tuple[Fraction, ...]:
    """Positive exact numbers, likewise."""
    return _numbers("--weights", text, "must be positive", lambda value: value > 0)


def _numbers(name: str, text: str, rule: str, holds) -> tuple[Fraction, ...]:  # type: ignore[no-untyped-def]
    if text.startswith("@"):
        try:
            parts = Path(text[1:]).read_text().replace(",", " ").split()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(name, text, f"cannot be read ({error.__class__.__name__})", "name a text file") from None
    else:
        parts = text.split(",") if text.strip() else []
    if not parts:
        raise BadInput(name, repr(text), "is empty", "list at least one number, e.g. 3,2,1")
    if not all(part.strip() for part in parts):
        raise BadInput(name, repr(text), "has an empty entry between commas", "write it as 3,2,1")
    if len(parts) > MOST_EIGENVALUES:
        raise BadInput(
            name, f"{len(parts)} numbers", f"must be at most {MOST_EIGENVALUES}", "merge close ones with --weights"
        )
    parse = number(name, rule, holds, "change the list")
    return tuple(parse(part) for part in parts)


def target_law(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]  # the import is deferred
    """The law that the arguments state, and their exact values as text.

    Raises:
        BadInput: arguments that do not belong together, or no law.
    """
    _refuse_strays(arguments)
    if arguments.kappa0 is not None:
        from numeric.proven_laws.rational import exact_marchenko_pastur

        return exact_marchenko_pastur(arguments.kappa0), {"kappa0": str(arguments.kappa0)}
    if arguments.eigenvalues is not None:
        return _listed(arguments)
    if arguments.power_law is not None:
        return _power_law(arguments)
    return _of_model(arguments)


def float64_target(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]  # the import is deferred
    """The law that the arguments state in float64, as a `numeric.laws.law.Target`, and their exact values as text.

    Raises:
        BadInput: as `target_law`, or a law that is known in ball arithmetic only.
    """
    if arguments.law_of_model and arguments.model is not None:
        raise BadInput(
            "--model", arguments.model, "has no float64 solver", "use `threshold`, or state the target by --eigenvalues"
        )
    law, given = target_law(arguments)
    if arguments.kappa0 is not None:
        from numeric.laws.marchenko_pastur import MarchenkoPastur

        return MarchenkoPastur(float(arguments.kappa0)), given
    from numeric.laws.eigenvalue_list import Eigenvalues

    atoms = law.atoms()
    return Eigenvalues(tuple(float(s) for s, _ in atoms), tuple(float(w) for _, w in atoms)), given


def _refuse_strays(arguments: argparse.Namespace) -> None:
    """Arguments that the chosen target does not use are mistakes, not ignored."""
    ways = ("kappa0", "eigenvalues", "power_law", *(("model",) if arguments.law_of_model else ()))
    chosen = next(name for name in ways if getattr(arguments, name) is not None)
    used = {"eigenvalues": ("weights", "dim"), "power_law": ("dim", "q0"), "model": ("settings",)}.get(chosen, ())
    if not arguments.law_of_model and arguments.model is not None:
        used = (*used, "settings")
    for name in ("weights", "dim", "q0", "settings"):
        value = getattr(arguments, name)
        if value is not None and name not in used:
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
            raise BadInput(f"--{name}", shown, f"does not belong to --{chosen.replace('_', '-')}", "leave it out")


def _listed(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]
    from numeric.proven_laws.finite import exact_list

    values, weights, dim = arguments.eigenvalues, arguments.weights, arguments.dim
    if weights is not None and dim is not None:
        raise BadInput("--dim", dim, "states the weights already (1/dim each)", "leave out --weights or --dim")
    if weights is not None and len(weights) != len(values):
        raise BadInput(
            "--weights", f"{len(weights)} numbers", f"must be as many as the {len(values)} eigenvalues", "match them"
        )
    if weights is not None and sum(weights) != 1:
        total = float(sum(weights))
        raise BadInput(
            "--weights", ",".join(map(str, weights)), f"must sum to 1, not {total:.12g}", "give exact fractions"
        )
    if dim is not None and dim < len(values):
        raise BadInput("--dim", dim, f"must be at least the number of eigenvalues, {len(values)}", "raise it")
    if not any(values):
        raise BadInput(
            "--eigenvalues", ",".join(map(str, values)), "must not all be 0", "the target has to have a signal"
        )
    given = {"eigenvalues": ",".join(map(str, values))}
    if dim is not None:
        filled = (*values, *[Fraction(0)] * (dim - len(values)))
        return exact_list(filled, [Fraction(1, dim)] * dim), {**given, "dim": str(dim)}
    weights = weights or (Fraction(1, len(values)),) * len(values)
    return exact_list(values, weights), {**given, "weights": ",".join(map(str, weights))}


def _power_law(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]
    from numeric.proven_laws.finite import exact_power_law

    gamma, q0 = arguments.power_law, arguments.q0
    if arguments.dim is None:
        raise BadInput("--power-law", gamma, "needs the number of eigenvalues", "add --dim, e.g. --dim 100")
    if gamma <= Fraction(1, 2) and q0 is None:
        raise BadInput(
            "--power-law", gamma, HEAVY_TAIL, "state --q0 to use the eigenvalues of this dimension all the same"
        )
    second = q0 or Fraction(1)
    return exact_power_law(gamma, arguments.dim, second), {
        "power_law": str(gamma),
        "dim": str(arguments.dim),
        "q0": str(second),
    }


def _of_model(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]
    from numeric.proven_laws.rational import rational_law, setting_names

    known = [name for name in model.available() if _has_thresholds(name)]
    if arguments.model not in known:
        raise BadInput(
            "--model",
            repr(arguments.model),
            "is no generated model whose thresholds are known",
            f"use one of {', '.join(known)}",
        )
    names = setting_names(arguments.model)
    example = ",".join(f"{name}=1" for name in names)
    given: dict[str, Fraction] = {}
    if arguments.settings is None:
        raise BadInput(
            "--model", arguments.model, f"needs its settings {', '.join(names)}", f"add --settings {example}"
        )
    for part in arguments.settings.split(","):
        name, separator, text = part.partition("=")
        if not separator or name not in names or name in given:
            raise BadInput(
                "--settings", repr(arguments.settings), f"must set each of {', '.join(names)} once", f"e.g. {example}"
            )
        given[name] = positive(f"--settings {name} =", "give a positive number")(text)
    if len(given) < len(names):
        raise BadInput(
            "--settings", repr(arguments.settings), f"must set each of {', '.join(names)} once", f"e.g. {example}"
        )
    shown = {"model": arguments.model, **{name: str(given[name]) for name in names}}
    return rational_law(arguments.model, *(given[name] for name in names)), shown


def _has_thresholds(name: str) -> bool:
    """Whether the thresholds of tied attention are those of the model: the same channel, positive matrices, no Frobenius penalty."""
    shape = model.structure(name)
    return shape["channel"] == "tied softmax" and shape["matrix"] == "positive" and not shape["frobenius"]
