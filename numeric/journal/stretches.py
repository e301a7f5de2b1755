"""Where points stand along an axis, in words: ranges that no other point lies in."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

_MOST = 4  # ranges that are named one by one: of more, one less, and where the last ends


def stretches(values: Iterable[float], among: Sequence[float], written: Callable[[float], str] = "{:g}".format) -> str:
    """Ranges of `values` that no other of `among` lies in, in its order; `written`: how a number stands in words."""
    chosen = set(values)
    runs = [list(run) for inside, run in groupby(among, chosen.__contains__) if inside]
    named = runs if len(runs) <= _MOST else runs[: _MOST - 1]
    words = ", ".join(written(run[0]) + (f" to {written(run[-1])}" if len(run) > 1 else "") for run in named)
    if named is runs:
        return words
    return f"{words} and {len(runs) - len(named)} ranges more, the last to {written(runs[-1][-1])}"
