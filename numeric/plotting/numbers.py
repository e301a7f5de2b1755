"""Numbers as text: powers of ten instead of many zeros, and ranges of points along an axis."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

_PLAIN = (1e-3, 1e4)  # absolute values in this range are written without a power of ten
_MAX_RANGES = 4  # maximum number of ranges in a list; a longer list is shortened


def is_plain(value: float) -> bool:
    """Return whether a number is written without a power of ten."""
    return value == 0 or _PLAIN[0] <= abs(value) <= _PLAIN[1]


def without_mathtext(label: str) -> str:
    r"""Convert a figure label to plain text: `$\beta_0 = 1$` to beta0 = 1, `$2 \times 10^{-5}$` to
    2e-5.
    """
    label = re.sub(
        r"(?:([\d.]+) \\times )?10\^\{(-?\d+)\}", lambda found: f"{found[1] or 1}e{found[2]}", label
    )
    return re.sub(r"[$\\]|_(?=\d)", "", label.replace(r"\to", "->"))


def in_mathtext(value: float) -> str:
    """Return a number in mathtext, to four digits."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:g}" if is_plain(rounded) else with_power(rounded)


def with_power(value: float) -> str:
    """Return a number in mathtext, to four digits, always with its power of ten."""
    mantissa, exponent = f"{value:.3e}".split("e")
    factor, power = f"{float(mantissa):g}", f"10^{{{int(exponent)}}}"
    return power if factor == "1" else rf"{factor} \times {power}"


def format_ranges(
    values: Iterable[float], among: Sequence[float], written: Callable[[float], str] = "{:g}".format
) -> str:
    """List values as ranges of neighbouring points, such as "0.1 to 0.3, 0.7".

    A list of more than four ranges names the first three, the number of others, and the end of the
    last.

    Args:
        values: the values to list; they are in `among`.
        among: coordinates of all points, in order.
        written: converts a number to text.
    """
    chosen = set(values)
    runs = [list(run) for inside, run in groupby(among, chosen.__contains__) if inside]
    named = runs if len(runs) <= _MAX_RANGES else runs[: _MAX_RANGES - 1]
    words = ", ".join(
        written(run[0]) + (f" to {written(run[-1])}" if len(run) > 1 else "") for run in named
    )
    if named is runs:
        return words
    return f"{words} and {len(runs) - len(named)} ranges more, the last to {written(runs[-1][-1])}"
