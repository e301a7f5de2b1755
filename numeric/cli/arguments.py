"""Command-line arguments shared by all commands: exact numbers, one-line errors, files written
whole or not at all.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import require_writable_file
from attention_erm.runtime.provenance import document_text

LARGEST = 10**12  #: size of parameters, unless an option says otherwise


def exact(text: str, most: int = LARGEST) -> Fraction:
    """Exact value of "1/20", "0.05", "5e-2": each means one twentieth.

    Raises:
        ValueError: not a finite number.
        OverflowError: not 0 and not between 1e-100 and `most`, where no parameter of the theory
            makes sense.
    """
    exponent = re.search(r"[eE]([+-]?\d+)\s*$", text)
    if exponent and len(exponent[1]) > 5:  # before Fraction writes out that many digits
        raise OverflowError(text)
    try:
        value = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise ValueError(text) from None
    if value and not Fraction(1, 10**100) <= abs(value) <= most:
        raise OverflowError(text)
    return value


SPELLED = "write it as 0.05, 5e-2 or 1/20"


#: what to do with a list where one number is expected
SEVERAL = "give one; `numeric sweep` takes lists, under [product] of its file"


def several(text: str) -> bool:
    """Return whether a text is a list of numbers or a grid."""
    parts = [part for part in re.split(r"[\s,:;]+", text.strip()) if part]
    try:
        numbers = [exact(part) for part in parts if part not in _SPACINGS]
    except (ValueError, OverflowError):
        return False
    return len(parts) > 1 and len(numbers) > 0


def number(
    name: str,
    rule: str,
    holds: Callable[[Fraction], bool],
    hint: str,
    spelled: str = SPELLED,
    most: int = LARGEST,
) -> Callable[[str], Fraction]:
    """Argument type: an exact number of size `most` or less that satisfies `rule`; `spelled`: what
    to do where it is none.
    """

    def parse(text: str) -> Fraction:
        try:
            value = exact(text, most)
        except ValueError:
            if several(text):
                raise InvalidParameter(name, repr(text), "must be one number", SEVERAL) from None
            raise InvalidParameter(name, repr(text), "is not a number", spelled) from None
        except OverflowError:
            raise InvalidParameter(
                name,
                text,
                "is too large or too small",
                f"give 0 or a size from 1e-100 to {float(most):.0e}",
            ) from None
        if not holds(value):
            raise InvalidParameter(name, text, rule, hint)
        return value

    return parse


def positive(name: str, hint: str, most: int = LARGEST) -> Callable[[str], Fraction]:
    """Argument type: a positive exact number, `most` or less."""
    return number(name, "must be positive", lambda value: value > 0, hint, most=most)


def non_negative(name: str, hint: str, spelled: str = SPELLED) -> Callable[[str], Fraction]:
    """Argument type: a non-negative exact number."""
    return number(name, "must not be negative", lambda value: value >= 0, hint, spelled)


def integer(name: str, least: int, most: int, hint: str) -> Callable[[str], int]:
    """Argument type: an integer in [least, most]."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise InvalidParameter(
                name, repr(text), "is not an integer", f"give one from {least} to {most}"
            ) from None
        if not least <= value <= most:
            raise InvalidParameter(name, text, f"must lie from {least} to {most}", hint)
        return value

    return parse


def add_problem_arguments(
    parser: argparse.ArgumentParser, *names: str, defaults: dict[str, str] | None = None
) -> None:
    """Add the common parameters of these names: alpha is the caller's, as it may be a grid."""
    chosen = {**DEFAULTS, **(defaults or {})}
    for name in names:
        flag, parse, text = PARAMETERS[name]
        value = chosen.get(name)
        parser.add_argument(
            flag,
            dest=name,
            type=parse,
            required=value is None,
            default=value,
            metavar="X",
            help=text + (f" (default {value})" if value else ""),
        )


def exact_texts(arguments: argparse.Namespace, *names: str) -> dict[str, str]:
    """Exact values as text, under the names of the command line."""
    return {name.rstrip("_"): str(getattr(arguments, name)) for name in names}


def exact_text(value: Fraction) -> str:
    """A number as a decimal if it has a finite one, else as a fraction."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return str(value) if rest != 1 else str(Decimal(value.numerator) / Decimal(value.denominator))


#: rule for a power law
HEAVY_TAIL = "must exceed 1/2: the second moment of k^-gamma diverges with the dimension"

PARAMETERS: dict[str, tuple[str, Callable[[str], Fraction] | Callable[[str], int], str]] = {
    "kappa0": (
        "--kappa0",
        positive("--kappa0", "use the target's rank over d, e.g. 1/2"),
        "rank ratio of the target",
    ),
    "width": (
        "--width",
        positive("--width", "use the student's width over d, e.g. 1"),
        "width ratio kappa of the student",
    ),
    "lambda_": (
        "--lambda",
        non_negative(
            "--lambda",
            "use 0 for the limit of none, or a number above",
            f"{SPELLED}; 1/d and d^p are taken by scaling and phase-diagram",
        ),
        "weight decay",
    ),
    "noise": (
        "--noise",
        non_negative("--noise", "give the variance Delta, 0 for none"),
        "variance Delta of the label noise",
    ),
    "tokens": (
        "--tokens",
        integer("--tokens", 2, 10**6, "a label needs at least two tokens"),
        "tokens per sequence T",
    ),
    "beta": (
        "--beta",
        positive("--beta", "give the student's inverse temperature, e.g. 1"),
        "student inverse temperature",
    ),
    "beta0": (
        "--beta0",
        positive("--beta0", "give the target's inverse temperature, e.g. 1"),
        "target inverse temperature",
    ),
}
DEFAULTS: dict[str, str] = {"width": "1", "tokens": "2", "beta": "1", "beta0": "1"}


def grid(
    name: str,
    hint: str = "e.g. 0.2,0.5,1, or 0.05:40:30, or 0.1:1:10:linear",
    most: int = LARGEST,
) -> Callable[[str], tuple[Fraction, ...]]:
    """Argument type: values "0.2,0.5,1", or a grid "0.05:40:30" (first:last:count), geometric, or
    linear with ":linear" at its end.

    Each is positive and at most `most`; those of a linear grid are exact, those within a geometric
    one short decimals.
    """
    return lambda text: _parse_grid(name, text, hint, most)


MOST_POINTS = 10**5  #: of a grid
WORKING_DIGITS = 150  #: in which geometric grids are computed; no value has so many
#: what a grid is, for help
GRID = "0.2,0.5,1, or first:last:count (geometric), or first:last:count:linear"


def _parse_grid(name: str, text: str, hint: str, most: int) -> tuple[Fraction, ...]:
    parse = positive(name, hint, most)
    if ":" not in text:
        parts = text.split(",")
        if not all(part.strip() for part in parts):
            raise InvalidParameter(name, repr(text), "has an empty entry between commas", hint)
        for part in parts:
            if several(part):
                apart = ",".join(text.replace(",", " ").replace(";", " ").split())
                raise InvalidParameter(
                    name, repr(text), "has values without a comma between them", f"write {apart}"
                )
        return tuple(parse(part) for part in parts)
    parts = [part.strip() for part in text.split(":")]
    spacing = parts.pop() if len(parts) == 4 else "geometric"
    if len(parts) != 3 or spacing not in _SPACINGS:
        rule = (
            f"a grid is first:last:count, with {' or '.join(f':{one}' for one in _SPACINGS)} "
            "(the default) after it"
        )
        raise InvalidParameter(name, text, rule, hint)
    first, last = parse(parts[0]), parse(parts[1])
    count = _number_of_points(name, text, parts[2], hint)
    if first == last:
        raise InvalidParameter(name, text, "a grid must end at another value", "give one value")
    points = (first, *_SPACINGS[spacing](first, last, count - 1), last)
    if len(set(map(float, points))) < count:
        rule = "its points are closer than numbers of double precision can be"
        raise InvalidParameter(name, text, rule, "give fewer points or ends further apart")
    return points


def _number_of_points(name: str, text: str, count: str, hint: str) -> int:
    if not count.isdecimal() or not 2 <= int(count) <= MOST_POINTS:
        raise InvalidParameter(
            name, text, f"{count!r} points: a grid has from 2 to {MOST_POINTS}", hint
        )
    return int(count)


def _between_linearly(first: Fraction, last: Fraction, steps: int) -> Iterator[Fraction]:
    return (first + (last - first) * k / steps for k in range(1, steps))


def _between_geometrically(first: Fraction, last: Fraction, steps: int) -> Iterator[Fraction]:
    """Yield short decimals, taken as exact: six digits, or more where steps are below 1 %."""
    with localcontext(prec=WORKING_DIGITS):
        start, end = (Decimal(x.numerator) / Decimal(x.denominator) for x in (first, last))
        step = (end / start).ln() / steps
        digits = max(6, 4 - step.adjusted())  # a rounding is at most a thousandth of a step
        points = [start * (step * k).exp() for k in range(1, steps)]
    return (Fraction(f"{point:.{digits - 1}e}") for point in points)


_SPACINGS = {"linear": _between_linearly, "geometric": _between_geometrically}


def writable(name: str, path: str | None, *suffixes: str) -> Path | None:
    """The path of an output file, checked before any work is done; `suffixes` are those allowed,
    any if none is given.

    Raises:
        InvalidParameter: its folder does not exist or cannot be written to, it is a folder, or its
            suffix is another.
    """
    if path is None:
        return None
    target = Path(path)
    if path in ("", "-"):
        raise InvalidParameter(name, path, "is not the name of a file", "name one, e.g. result.csv")
    if suffixes and target.suffix not in suffixes:
        raise InvalidParameter(
            name, path, f"must end in {', '.join(suffixes)}", f"try {target.stem}{suffixes[0]}"
        )
    try:
        if target.is_dir():
            raise InvalidParameter(name, path, "is a folder", "name a file")
        require_writable_file(target)
    except OSError as error:
        rule = f"cannot be written ({error.strerror})"
        raise InvalidParameter(
            name, path, rule, "name a file in a folder that you may write to"
        ) from None
    return target


def unwritable(out: Path, error: OSError) -> InvalidParameter:
    """The refusal of a folder of --out."""
    return InvalidParameter(
        "--out", out, f"cannot be written ({error.strerror})", "name a folder you may write to"
    )


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document on stdout, with its provenance; NaN and infinities are refused."""
    sys.stdout.write(document_text(document))
