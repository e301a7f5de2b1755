"""Tables for a reader: as wide as their cells, in parts that fit a terminal."""

from collections.abc import Mapping, Sequence

WIDTH = 100  #: columns of a terminal that a table fits
DIGITS = 6  #: significant ones of a number; what is written to files has all
GAP = "  "
MOST_KEYS = 3  #: columns repeated in each part
NOTHING = "-"  #: in place of a value that there is not


def table_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Records of the same keys as lines, names first; numbers stand to the right, texts to the
    left.

    What is wider than WIDTH is cut into parts below each other, each beginning with the first
    columns that tell rows apart.
    """
    columns = [_padded(name, [_cell(row[name]) for row in rows]) for name in rows[0]]
    keys = _keys(columns)
    first, parts = columns[:keys], [columns[:keys]]
    for column in columns[keys:]:
        width = sum(len(one[0]) + len(GAP) for one in parts[-1]) + len(column[0])
        if width > WIDTH and len(parts[-1]) > keys:
            parts.append(list(first))
        parts[-1].append(column)
    return "\n".join(
        "".join(GAP.join(cells).rstrip() + "\n" for cells in zip(*part, strict=True))
        for part in parts
    )


def _keys(columns: Sequence[Sequence[str]]) -> int:
    """Return how many of the first columns identify a row; 1 if more than MOST_KEYS would be
    needed.
    """
    for keys in range(1, MOST_KEYS + 1):
        rows = list(zip(*columns[:keys], strict=True))
        if len(set(rows)) == len(rows):
            return keys
    return 1


def _cell(value: object) -> str:
    return (
        f"{value:.{DIGITS}g}"
        if isinstance(value, float)
        else NOTHING
        if value is None
        else str(value)
    )


def _padded(name: str, cells: Sequence[str]) -> list[str]:
    """A column with its name, cells as wide as the widest."""
    width, of_numbers = max(map(len, (name, *cells))), all(map(_is_number, cells))
    return [text.rjust(width) if of_numbers else text.ljust(width) for text in (name, *cells)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == NOTHING
    return True
