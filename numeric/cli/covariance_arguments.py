"""Command-line arguments that state the covariance of the tokens."""

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import number, positive

FORMS = "power:A, atoms:C1:W1,C2:W2, list:C1,C2,... or a file .npy, .npz, .csv"
FILES = (".npy", ".npz", ".csv")


def add_covariance_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the ways to state a covariance of the tokens; without one they are isotropic."""
    covariance = parser.add_mutually_exclusive_group()
    covariance.add_argument(
        "--covariance",
        type=covariance_form,
        metavar="C",
        help=f"covariance of the tokens: {FORMS} of a matrix (default isotropic). Its directions "
        "are independent of a target of --kappa0; those of listed eigenvalues are its directions "
        "from the largest on",
    )
    covariance.add_argument(
        "--tokens-file",
        type=_file,
        metavar="FILE",
        help="token vectors (n x d, .npy, .npz or .csv) whose covariance is used, mean removed",
    )


def covariance_form(text: str) -> str:
    """Check the form of --covariance, and its numbers where it states them."""
    kind, _, rest = text.partition(":")
    if kind == "power" and rest:
        positive("--covariance power", "give the exponent, e.g. power:1/2")(rest)
    elif kind in ("atoms", "list") and rest:
        _numbers(text)
    elif Path(text).suffix.lower() not in FILES:
        rule = f"must be {FORMS}"
        raise InvalidParameter("--covariance", repr(text), rule, "try power:1/2")
    return text


def _file(text: str) -> Path:
    """Check the ending of --tokens-file."""
    if Path(text).suffix.lower() not in FILES:
        rule = f"must end in {', '.join(FILES)}"
        raise InvalidParameter("--tokens-file", repr(text), rule, "save it with numpy.save")
    return Path(text)


def _numbers(text: str) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the numbers of atoms:c1:w1,... or list:c1,...: eigenvalues and weights."""
    kind, _, rest = text.partition(":")
    parse: Callable[[str], Fraction] = number(
        "--covariance", "must be positive", lambda value: value > 0, "leave the direction out"
    )
    if kind == "list":
        return tuple(map(parse, rest.split(","))), ()
    pairs = [part.split(":") for part in rest.split(",")]
    if not all(len(pair) == 2 for pair in pairs):
        rule = "must have an eigenvalue and a weight in each part"
        raise InvalidParameter("--covariance", repr(text), rule, "write atoms:0.4:1/2,1.6:1/2")
    values, weights = zip(*((parse(c), parse(w)) for c, w in pairs), strict=True)
    return values, weights


def states_covariance(arguments: argparse.Namespace) -> bool:
    """Return whether a covariance of the tokens is stated."""
    return arguments.covariance is not None or arguments.tokens_file is not None


def covariance_target(arguments: argparse.Namespace) -> tuple[Any, dict[str, str]]:
    """Return the target with the covariance of the tokens, and the covariance as text.

    Args:
        arguments: options of the command, with a target and a covariance.

    Raises:
        InvalidParameter: target and covariance do not belong together.
    """
    given = {
        key: str(getattr(arguments, key))
        for key in ("covariance", "tokens_file")
        if getattr(arguments, key) is not None
    }
    if arguments.kappa0 is not None:
        return _independent(arguments), given
    return _aligned(arguments), given


def _independent(arguments: argparse.Namespace) -> Any:
    from numeric.laws.covariance.independent import IndependentCovariance
    from numeric.laws.marchenko_pastur import MarchenkoPastur

    values, weights = (
        (_values(arguments, arguments.dim), ())
        if arguments.covariance is None
        else covariance_of_directions(arguments.covariance, arguments.dim)
    )
    return IndependentCovariance(MarchenkoPastur(arguments.kappa0), values, weights)


def covariance_of_directions(text: str, dim: int | None) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return eigenvalues and weights of a covariance that is independent of the target; no weights
    if all are equal.

    Args:
        text: value of --covariance.
        dim: number of directions that an exponent states.

    Raises:
        InvalidParameter: the covariance states directions, or its weights do not sum to one.
    """
    if text.startswith("list:"):
        rule = "states directions of listed eigenvalues; a target of --kappa0 has none"
        raise InvalidParameter("--covariance", text, rule, "use atoms:C1:W1,...")
    if not text.startswith("atoms:"):
        return _stated_values(text, dim), ()
    values, weights = _numbers(text)
    if sum(weights) != 1:
        total = float(sum(weights))
        rule = f"must have weights of sum 1, not {total:.12g}"
        raise InvalidParameter("--covariance", text, rule, "give exact fractions")
    return values, weights


def _aligned(arguments: argparse.Namespace) -> Any:
    from numeric.laws.covariance.aligned import AlignedCovariance
    from numeric.laws.power_law import power_law

    text, dim = arguments.covariance, arguments.dim
    if arguments.weights is not None:
        shown = ",".join(map(str, arguments.weights))
        rule = "cannot be given with a covariance, in which each eigenvalue is one direction"
        raise InvalidParameter("--weights", shown, rule, "list the eigenvalues one by one")
    if text is not None and text.startswith("atoms:"):
        rule = "states no direction; listed eigenvalues need one for each"
        raise InvalidParameter("--covariance", text, rule, "use list:C1,C2,..., or --kappa0")
    if arguments.eigenvalues is not None:
        eigenvalues = list(arguments.eigenvalues)
        eigenvalues += [Fraction(0)] * ((dim or len(eigenvalues)) - len(eigenvalues))
    else:
        target = power_law(float(arguments.power_law), dim, float(arguments.q0 or 1))
        eigenvalues = sorted(target.eigenvalues, reverse=True)
        if len(eigenvalues) < dim:
            rule = f"must be at most {len(eigenvalues)} with a covariance"
            raise InvalidParameter("--dim", dim, rule, "lower it")
    values = _values(arguments, len(eigenvalues))
    if len(values) != len(eigenvalues):
        rule = f"has {len(values)} directions, and the target {len(eigenvalues)} eigenvalues"
        shown = text or arguments.tokens_file
        raise InvalidParameter("--covariance", shown, rule, "give as many, or use --dim")
    return AlignedCovariance(tuple(eigenvalues), values)


def _values(arguments: argparse.Namespace, dim: int | None) -> tuple[Any, ...]:
    from numeric.laws.covariance.files import read_token_covariance

    if arguments.covariance is None:
        return tuple(read_token_covariance(arguments.tokens_file).eigenvalues)
    return _stated_values(arguments.covariance, dim)


def _stated_values(text: str, dim: int | None) -> tuple[Any, ...]:
    """Return the eigenvalues of the covariance, descending where a file or an exponent states
    them.
    """
    from numeric.laws.covariance.files import read_covariance

    if text.startswith("list:"):
        return _numbers(text)[0]
    if not text.startswith("power:"):
        return tuple(read_covariance(text).eigenvalues)
    if dim is None:
        rule = "needs the number of directions"
        raise InvalidParameter("--covariance", text, rule, "add --dim, e.g. --dim 100")
    exponent = float(Fraction(text.partition(":")[2]))
    return tuple(float(k) ** -exponent for k in range(1, dim + 1))


def require_no_covariance(arguments: argparse.Namespace, what: str) -> None:
    """Check that no covariance is stated.

    Args:
        arguments: options of the command.
        what: what is not derived for it.

    Raises:
        InvalidParameter: one is stated.
    """
    if states_covariance(arguments):
        shown = arguments.covariance or arguments.tokens_file
        rule = f"states a covariance of the tokens, for which {what} is not derived"
        raise InvalidParameter("--covariance", shown, rule, "leave it out")
