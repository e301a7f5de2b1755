"""Numbers as one reads them: with a power of ten where they would have many zeros."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

_PLAIN = (1e-3, 1e4)  # sizes within need no power of ten
_MAX_RANGES = 4  # ranges that are listed one by one: of more, one less, and where the last ends


def is_plain(value: float) -> bool:
    """Whether it is read without a power of ten."""
    return value == 0 or _PLAIN[0] <= abs(value) <= _PLAIN[1]


def without_mathtext(label: str) -> str:
    r"""A label of a figure as a terminal shows it: `$\beta_0 = 1$` as beta0 = 1, `$2 \times 10^{-5}$` as 2e-5."""
    label = re.sub(r"(?:([\d.]+) \\times )?10\^\{(-?\d+)\}", lambda found: f"{found[1] or 1}e{found[2]}", label)
    return re.sub(r"[$\\]|_(?=\d)", "", label.replace(r"\to", "->"))


def in_mathtext(value: float) -> str:
    """A number to four digits, in mathematics."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:g}" if is_plain(rounded) else with_power(rounded)


def with_power(value: float) -> str:
    """The same, always with its power of ten."""
    mantissa, exponent = f"{value:.3e}".split("e")
    factor, power = f"{float(mantissa):g}", f"10^{{{int(exponent)}}}"
    return power if factor == "1" else rf"{factor} \times {power}"


def format_ranges(
    values: Iterable[float], among: Sequence[float], written: Callable[[float], str] = "{:g}".format
) -> str:
    """Ranges of `values` that no other of `among` lies in, in its order; `written`: how a number stands in words."""
    chosen = set(values)
    runs = [list(run) for inside, run in groupby(among, chosen.__contains__) if inside]
    named = runs if len(runs) <= _MAX_RANGES else runs[: _MAX_RANGES - 1]
    words = ", ".join(written(run[0]) + (f" to {written(run[-1])}" if len(run) > 1 else "") for run in named)
    if named is runs:
        return words
    return f"{words} and {len(runs) - len(named)} ranges more, the last to {written(runs[-1][-1])}"
