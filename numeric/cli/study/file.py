"""Study files: the parameters of a sweep in TOML, each as on the command line, fixed or over
values.

    kappa0 = "1/2"            # at the top: fixed
    noise = 0.5

    [product]                 # all combinations
    alpha = "0.05:4:30"       # first:last:count, geometric, or with :linear after it
    lambda = [0.001, 0.01, 0.1]

    [[zip]]                   # together, value by value
    tokens = [2, 3]
    beta = [1, 0.5]

Numbers mean what is written, 0.05 one twentieth. All that a study may say is in
docs/tutorials/sweeps.md.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from attention_erm.cli.messages import toml_hint
from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import grid
from numeric.cli.study.values import Reader

_RANGE = {"from", "to", "count", "spacing"}


#: Parameters that vary together, by name, each with its values as texts of the command line.
Varied = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class StudyFile:
    """What a file says: `fixed` parameters and `varied` ones as texts; `tables` are those of other
    names, for whom they concern.

    `text` is all of the file.
    """

    path: Path
    text: str
    fixed: Mapping[str, str]
    varied: tuple[Varied, ...]
    tables: Mapping[str, Mapping[str, Any]]

    def error(self, key: str, value: object, rule: str, hint: str) -> InvalidParameter:
        """The line about a key of this file."""
        return InvalidParameter(f"{self.path}: {key}", value, rule, hint)

    def table(self, name: str, keys: Mapping[str, Reader]) -> dict[str, Any]:
        """A table of `keys`, each read by its reader."""
        read: dict[str, Any] = {}
        for key, value in self.tables.get(name, {}).items():
            if key not in keys:
                raise self.error(
                    f"[{name}] {key}",
                    repr(value),
                    "unknown key",
                    f"use {', '.join(keys)}",
                )
            try:
                read[key] = keys[key](value)
            except ValueError as error:
                raise self.error(f"[{name}] {key}", repr(value), str(error), "change it") from None
        return read


def read_study(path: str, tables: Sequence[str]) -> StudyFile:
    """Read a study file whose other tables may have the names `tables`.

    Raises:
        InvalidParameter: it cannot be read, is no TOML, or has a key, type or value that no study
            has.
    """
    try:
        text = Path(path).read_text()
        content = tomllib.loads(text, parse_float=_Number)
    except (OSError, UnicodeDecodeError) as error:
        rule, hint = (
            f"cannot be read ({type(error).__name__})",
            "name one, as docs/tutorials/sweeps.md shows",
        )
        raise InvalidParameter("study file", path, rule, hint) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(
            "study file",
            path,
            f"invalid TOML: {error}",
            toml_hint(text, error, 'write texts in quotes, e.g. kappa0 = "1/2"'),
        ) from None
    return _read(StudyFile(Path(path), text, {}, (), {}), content, tables)


class _Number(str):
    """A decimal number as it is written, so that 0.05 means one twentieth."""


def _read(nothing: StudyFile, content: dict[str, Any], tables: Sequence[str]) -> StudyFile:
    product, zipped = content.pop("product", {}), content.pop("zip", [])
    others = {name: content.pop(name) for name in list(content) if isinstance(content[name], dict)}
    for name in others:
        if name not in tables:
            known = ", ".join(("[product]", "[[zip]]", *(f"[{table}]" for table in tables)))
            raise nothing.error(f"[{name}]", "", "unknown table", f"use {known}")
    if not isinstance(product, dict):
        raise nothing.error("product", product, "must be a table", "write [product] above its keys")
    if not (isinstance(zipped, list) and all(isinstance(table, dict) for table in zipped)):
        raise nothing.error(
            "zip", zipped, "must be a list of tables", "write [[zip]] above the keys of each"
        )
    fixed = {_name(key): _text(nothing, key, value) for key, value in content.items()}
    varied: list[Varied] = [
        {_name(key): _texts(nothing, key, values)} for key, values in product.items()
    ]
    varied += [
        {_name(key): _texts(nothing, key, values) for key, values in table.items()}
        for table in zipped
    ]
    study = replace(nothing, fixed=fixed, varied=tuple(varied), tables=others)
    _require_once(study)
    return study


def _require_once(study: StudyFile) -> None:
    names = [*study.fixed, *(name for axis in study.varied for name in axis)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise study.error(twice, "twice", "is stated more than once", "leave out one")
    for axis in study.varied:
        if not axis:
            raise study.error(
                "[[zip]]", "", "has no key", "name what varies together, or leave it out"
            )
        counts = {name: len(values) for name, values in axis.items()}
        if len(set(counts.values())) > 1:
            shown = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise study.error("[[zip]]", shown, "must have as many values of each", "match them")


def _name(key: str) -> str:
    return key.replace("-", "_")


def _text(study: StudyFile, key: str, value: Any) -> str:
    """One value as on the command line."""
    if isinstance(value, list) and value and not any(isinstance(part, list) for part in value):
        return ",".join(_text(study, key, part) for part in value)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise study.error(key, repr(value), "must be a number or a text", 'write it as 0.05 or "1/20"')


def _texts(study: StudyFile, key: str, values: Any) -> tuple[str, ...]:
    """The values of what varies: a list, a grid as a text, or a table of a range."""
    if isinstance(values, dict):
        return _range(study, key, values)
    if isinstance(values, str) and values.count(":") in (2, 3):
        return tuple(str(value) for value in grid(f"{study.path}: {key}")(values))
    if isinstance(values, list):
        if not values:
            raise study.error(key, "[]", "is empty", "list at least one value")
        return tuple(_text(study, key, value) for value in values)
    hint = (
        'write [0.1, 1], "0.1:1:10" (geometric) or {from = 0, to = 1, count = 11, spacing = '
        '"linear"}'
    )
    raise study.error(key, repr(str(values)), "must be a list or a range, as it varies", hint)


def _range(study: StudyFile, key: str, stated: dict[str, Any]) -> tuple[str, ...]:
    rule = "must state from, to, count and spacing (linear or geometric)"
    count = stated.get("count")
    if set(stated) != _RANGE or not isinstance(count, int) or not 2 <= count <= 10**5:
        raise study.error(
            key, stated, rule, 'write {from = 0, to = 1, count = 11, spacing = "linear"}'
        )
    first, last = (_text(study, key, stated[end]) for end in ("from", "to"))
    if stated["spacing"] == "geometric":
        return _texts(study, key, f"{first}:{last}:{count}")
    if stated["spacing"] != "linear":
        raise study.error(key, stated, rule, 'write spacing = "linear" or "geometric"')
    try:
        start, end = Fraction(first), Fraction(last)
    except (ValueError, ZeroDivisionError):
        raise study.error(key, stated, "must begin and end with a number", "change it") from None
    return tuple(str(start + (end - start) * k / (count - 1)) for k in range(count))
