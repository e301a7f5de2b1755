"""Command-line arguments that state the target law: rank ratio, eigenvalues, power law, or settings
of a model with its own law.
"""

import argparse
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric import model
from numeric.cli.arguments import HEAVY_TAIL, integer, number, positive
from numeric.cli.covariance_arguments import (
    add_covariance_arguments,
    covariance_target,
    states_covariance,
)

MOST_EIGENVALUES = 10_000
_WAYS = ("kappa0", "eigenvalues", "power_law")


def add_target_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the ways to state a target, of which one must be given."""
    hint = "use the target's rank over d, e.g. 1/2"
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--kappa0", type=positive("--kappa0", hint), metavar="X", help="rank ratio of the target"
    )
    target.add_argument(
        "--eigenvalues",
        type=parse_eigenvalues,
        metavar="LIST",
        help="eigenvalues 3,2,1 of the target (--eigenvalues=-1,2 where the model allows it; of a "
        "general matrix its singular "
        "values), or @FILE",
    )
    target.add_argument(
        "--power-law",
        type=positive("--power-law", "give the exponent, e.g. 3/4"),
        metavar="GAMMA",
        help="eigenvalues proportional to k^-GAMMA, k = 1..dim",
    )
    parser.add_argument(
        "--weights",
        type=parse_weights,
        metavar="LIST",
        help="weights of the eigenvalues (default equal)",
    )
    parser.add_argument(
        "--dim",
        type=integer("--dim", 1, MOST_EIGENVALUES, "a target has at least one eigenvalue"),
        metavar="D",
        help="dimension: of a power law, or of a target of finite rank whose other eigenvalues are "
        "0",
    )
    parser.add_argument(
        "--q0",
        type=positive("--q0", "give the second moment tr S0^2/d, e.g. 1"),
        metavar="X",
        help="second moment of a power law (default 1)",
    )
    add_covariance_arguments(parser)


def parse_eigenvalues(text: str) -> tuple[Fraction, ...]:
    """Exact numbers separated by commas, or by blanks and commas in the file named after @."""
    return _numbers("--eigenvalues", text, "must be a number", lambda value: True)


def parse_weights(text: str) -> tuple[Fraction, ...]:
    """Positive exact numbers, likewise."""
    return _numbers("--weights", text, "must be positive", lambda value: value > 0)


def _numbers(
    name: str, text: str, rule: str, holds: Callable[[Fraction], bool]
) -> tuple[Fraction, ...]:
    if text.startswith("@"):
        try:
            parts = Path(text[1:]).read_text().replace(",", " ").split()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidParameter(
                name, text, f"cannot be read ({error.__class__.__name__})", "name a text file"
            ) from None
    else:
        parts = text.split(",") if text.strip() else []
    if not parts:
        raise InvalidParameter(name, repr(text), "is empty", "list at least one number, e.g. 3,2,1")
    if not all(part.strip() for part in parts):
        raise InvalidParameter(
            name, repr(text), "has an empty entry between commas", "write it as 3,2,1"
        )
    if len(parts) > MOST_EIGENVALUES:
        raise InvalidParameter(
            name,
            f"{len(parts)} numbers",
            f"must be at most {MOST_EIGENVALUES}",
            "merge close ones with --weights",
        )
    parse = number(name, rule, holds, "change the list")
    return tuple(parse(part) for part in parts)


def target_law(arguments: argparse.Namespace, name: str, own: Mapping[str, Fraction]) -> Any:
    """The law that the arguments state for a model with these settings of its own, in ball
    arithmetic, and its values as text.

    Raises:
        InvalidParameter: arguments that do not belong together, or no law.
    """
    _refuse_strays(arguments, name)
    if lists_eigenvalues(arguments):
        law, given = (
            _listed(arguments, name) if arguments.eigenvalues is not None else _power_law(arguments)
        )
        return (law.symmetrised() if model.structure(name).has_singular_values else law).of_model(
            name
        ), given
    from numeric.proven_laws.rational import rational_law

    given = {} if arguments.kappa0 is None else {"kappa0": str(arguments.kappa0)}
    return rational_law(name, **_settings(arguments, name, own)), given


def float64_target(arguments: argparse.Namespace, name: str, own: Mapping[str, Fraction]) -> Any:
    """Return the target law in float64."""
    law, given = target_law(arguments, name, own)
    if states_covariance(arguments):
        target, covariance = covariance_target(arguments)
        return target, {**given, **covariance}
    if lists_eigenvalues(arguments):
        from numeric.laws.eigenvalue_list import Eigenvalues

        atoms = law.atoms()
        return Eigenvalues(
            tuple(float(s) for s, _ in atoms), tuple(float(w) for _, w in atoms)
        ), given
    if _has_own_law(name):
        from numeric.laws.rational_target import RationalTarget

        settings = {key: float(value) for key, value in _settings(arguments, name, own).items()}
        return RationalTarget.of(name, **settings), given
    from numeric.laws.marchenko_pastur import MarchenkoPastur

    return MarchenkoPastur(float(arguments.kappa0)), given


def lists_eigenvalues(arguments: argparse.Namespace) -> bool:
    """Return whether the arguments list the eigenvalues, so that the model's own law has no part in
    the problem.
    """
    return arguments.eigenvalues is not None or arguments.power_law is not None


def _settings(
    arguments: argparse.Namespace, name: str, own: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    """Settings of the model's own law; of unit scale unless it is stated."""
    values = {"kappa0": arguments.kappa0, "scale": Fraction(1), **own}
    return {setting: values[setting] for setting in model.structure(name).target_settings}


def _has_own_law(name: str) -> bool:
    """Return whether the law of a model is none that a rank states: it has eigenvalues below zero,
    or more settings.
    """
    shape = model.structure(name)
    return shape.has_negative_eigenvalues or "kappa0" not in shape.target_settings


def _refuse_strays(arguments: argparse.Namespace, name: str) -> None:
    """Arguments that the chosen target does not use are mistakes, not ignored."""
    chosen, settings = (
        next((way for way in _WAYS if getattr(arguments, way) is not None), None),
        model.structure(name).target_settings,
    )
    if chosen == "kappa0" and "kappa0" not in settings:
        hint = f"state its {', '.join(settings)} by --settings, or list eigenvalues"
        raise InvalidParameter(
            "--kappa0", arguments.kappa0, f"unknown setting of the target law of {name}", hint
        )
    if chosen is None and "kappa0" in settings:
        raise InvalidParameter(
            "target law",
            "",
            "none is stated",
            "add --kappa0, --eigenvalues or --power-law, e.g. --kappa0 1/2",
        )
    used = {"eigenvalues": ("weights", "dim"), "power_law": ("dim", "q0")}.get(chosen or "", ())
    if (arguments.covariance or "").startswith("power:"):
        used = (*used, "dim")  # of the covariance
    for stray in ("weights", "dim", "q0"):
        value = getattr(arguments, stray)
        if value is not None and stray not in used:
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
            of = f"--{chosen.replace('_', '-')}" if chosen else f"--model {name}"
            raise InvalidParameter(f"--{stray}", shown, f"does not belong to {of}", "leave it out")


def _require_class(values: tuple[Fraction, ...], name: str) -> None:
    """Eigenvalues below zero are of symmetric matrices that need not be positive."""
    least = min(values)
    if least >= 0 or model.structure(name).matrix is model.MatrixClass.SYMMETRIC:
        return
    has = "singular values" if model.structure(name).has_singular_values else "positive targets"
    rule = f"must not be negative: {name} has {has}"
    raise InvalidParameter("--eigenvalues", least, rule, "change the list")


def _listed(arguments: argparse.Namespace, name: str) -> Any:
    from numeric.proven_laws.finite import exact_list

    values, weights, dim = arguments.eigenvalues, arguments.weights, arguments.dim
    _require_class(values, name)
    if weights is not None and dim is not None:
        raise InvalidParameter(
            "--dim", dim, "states the weights already (1/dim each)", "leave out --weights or --dim"
        )
    if weights is not None and len(weights) != len(values):
        raise InvalidParameter(
            "--weights",
            f"{len(weights)} numbers",
            f"must be as many as the {len(values)} eigenvalues",
            "match them",
        )
    if weights is not None and sum(weights) != 1:
        total = float(sum(weights))
        raise InvalidParameter(
            "--weights",
            ",".join(map(str, weights)),
            f"must sum to 1, not {total:.12g}",
            "give exact fractions",
        )
    if dim is not None and dim < len(values):
        raise InvalidParameter(
            "--dim", dim, f"must be at least the number of eigenvalues, {len(values)}", "raise it"
        )
    if not any(values):
        raise InvalidParameter(
            "--eigenvalues",
            ",".join(map(str, values)),
            "must not all be 0",
            "the target has to have a signal",
        )
    given = {"eigenvalues": ",".join(map(str, values))}
    if dim is not None:
        filled = (*values, *[Fraction(0)] * (dim - len(values)))
        return exact_list(filled, [Fraction(1, dim)] * dim), {**given, "dim": str(dim)}
    weights = weights or (Fraction(1, len(values)),) * len(values)
    return exact_list(values, weights), {**given, "weights": ",".join(map(str, weights))}


def _power_law(arguments: argparse.Namespace) -> Any:
    from numeric.proven_laws.finite import exact_power_law

    gamma, q0 = arguments.power_law, arguments.q0
    if arguments.dim is None:
        raise InvalidParameter(
            "--power-law", gamma, "needs the number of eigenvalues", "add --dim, e.g. --dim 100"
        )
    if gamma <= Fraction(1, 2) and q0 is None:
        raise InvalidParameter(
            "--power-law",
            gamma,
            HEAVY_TAIL,
            "give --q0 to use the eigenvalues of this dimension anyway",
        )
    second = q0 or Fraction(1)
    return exact_power_law(gamma, arguments.dim, second), {
        "power_law": str(gamma),
        "dim": str(arguments.dim),
        "q0": str(second),
    }
