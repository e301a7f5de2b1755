"""The reference of `import numeric`: its public names, in the groups of its docstring."""

import enum
import inspect
import re

import numeric

_GROUP = re.compile(r"^(?=\S)", re.M)


def groups() -> dict[str, list[str]]:
    """Headings of the docstring, each with the public names of its lines; a name that has no line
    stands where it is mentioned.
    """
    assert numeric.__doc__ is not None
    found: dict[str, list[str]] = {}
    for text in _GROUP.split(numeric.__doc__)[2:]:
        heading, _, lines = text.partition("\n")
        rows = re.findall(r"^ {4}(\w+(?:, \w+)*) +", lines, re.M)
        mentioned = re.findall(r"\w+", heading)
        named = [name for row in rows for name in row.split(", ")] + mentioned
        if listed := [name for name in dict.fromkeys(named) if name in numeric._PUBLIC]:
            found[heading.split(", of a target or of an exact law")[0]] = listed
    return found


def pages() -> dict[str, str]:
    """ReStructuredText of the page by its path."""
    parts = [_heading("Python interface", "=")]
    parts.append(
        "``import numeric`` offers these names, and loads each on first use; ``import "
        "attention_erm`` hands on the dozen that one\n"
        "starts with. Solvers return a status, a residual and an error estimate with every number; "
        "``unwrap`` raises where there\n"
        "is no solution.\n"
    )
    for heading, names in groups().items():
        parts += [_heading(heading, "-"), *map(_entry, names)]
    return {"interface.rst": "\n".join(parts)}


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _entry(name: str) -> str:
    value = getattr(numeric, name)
    if not inspect.isclass(value):
        return f".. autofunction:: numeric.{name}\n"
    undocumented = "   :undoc-members:\n" if issubclass(value, enum.Enum) else ""
    return f".. autoclass:: numeric.{name}\n   :members:\n{undocumented}"
