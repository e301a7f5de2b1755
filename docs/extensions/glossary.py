"""The glossary: every symbol of derive/language/notation.py, the settings that models declare, and
what a solve may end with.
"""

import re

import numeric
from derive.language.notation import INDICES, TABLE, Notation
from derive.language.setting import Setting
from derive.models import available, load

_MEMBER = re.compile(r"(.*), number (\d+)")
_HEAD = "| symbol | name in the code | meaning | unit | domain |\n| --- | --- | --- | --- | --- |\n"
_OPENING = """# Glossary

Every symbol of the equations, as `derive/language/notation.py` states it. The name in the code is
that of generated functions, fields and options (`lambda_` is `--lambda`). Units: "index" is that of
a score h, "eigenvalue" that of an eigenvalue of S, "loss" that of the loss of a sample.

## Symbols

"""


def pages() -> dict[str, str]:
    """Markdown of the page by its path."""
    own = "".join(
        _row(row, f" (model `{name}`)") for name in available() for row in own_settings(name)
    )
    statuses = "".join(
        f"| `{status.name.lower()}` | {status.value} |\n" for status in numeric.Status
    )
    text = (
        f"{_OPENING}{_HEAD}{''.join(_row(row) for row in TABLE if _first(row))}"
        f"\n## Settings of single models\n\n{_HEAD}{own}"
        "\n## What a solve ends with\n\nThe status of every `numeric.Solution`.\n\n"
        f"| status | what it says |\n| --- | --- |\n{statuses}"
    )
    return {"glossary.md": text}


def own_settings(name: str) -> list[Notation]:
    """Rows that a model file declares for itself."""
    return [symbol.notation for symbol in load(name).settings if isinstance(symbol, Setting)]


def _first(row: Notation) -> bool:
    """Whether a row stands for its family: u1, u2, ... are one line, and so are the indices."""
    if str(row.symbol) in {f"h{a}{b}" for a, b in INDICES[1:]}:
        return False
    member = _MEMBER.fullmatch(row.meaning)
    return member is None or member[2] in "1"


def _row(row: Notation, where: str = "") -> str:
    meaning = row.meaning
    if member := _MEMBER.fullmatch(meaning):
        meaning = f"{member[1]}, and so on"
    cells = (f"${row.latex}$", f"`{row.symbol}`", meaning + where, row.unit, row.domain)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
