"""Where a result comes from: the command that repeats it, all its arguments, version and commit of the code.

A command line says so once, when its arguments are read (`begin`), as it does with the level of what is said; whatever writes a
table, a document or a figure after that asks for it (`current`). In a program of one's own there is no command: version and commit
remain.
"""

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from attention_erm import ROOT, __version__
from attention_erm.commandline import interrupts

DISTRIBUTION = "attention-erm"


@dataclass(frozen=True)
class Provenance:
    """`command`: a line for a shell, none outside of a command line; `arguments`: each of its options by name, defaults too.

    `version`: of the distribution; `commit`: of the checkout that the code runs from, with `-dirty` where files are changed,
    missing where nothing tells.
    """

    version: str
    commit: str | None
    command: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "command": self.command,
            "arguments": dict(self.arguments),
            "version": self.version,
            "commit": self.commit,
        }

    def columns(self) -> dict[str, object]:
        """What each row of a table says of it."""
        return {"version": self.version, "commit": self.commit, "command": self.command}

    def for_others(self) -> "Provenance":
        """The same without folders that are stated from the root on, which say where somebody keeps what."""
        words = shlex.split(self.command or "")
        shown = {
            name: _without_folder(value) if isinstance(value, str) else value
            for name, value in self.arguments.items()
        }
        return replace(
            self, command=shlex.join(map(_without_folder, words)) or None, arguments=shown
        )

    def figure_metadata(
        self, suffix: str, parameters: Mapping[str, object] = MappingProxyType({})
    ) -> dict[str, str | None]:
        """What a figure in this format (png, pdf or svg) carries, under the names that the format has for it; no date, so that equal
        results are equal files. `parameters`: what was found from the arguments, as the accuracy aimed at where none is asked for.
        """
        code = f"{DISTRIBUTION} {self.version}, commit {self.commit or 'unknown'}"
        command, arguments = self.command or "", json.dumps({**self.arguments, **parameters})
        if suffix == "png":
            return {"Software": code, "Description": command, "Comment": arguments}
        common: dict[str, str | None] = {"Creator": code, "Keywords": arguments}
        if suffix == "pdf":
            return {**common, "Subject": command, "CreationDate": None}
        return {**common, "Description": command, "Date": None}


def current() -> Provenance:
    """That of what this process writes now."""
    command, arguments = _stated
    return Provenance(__version__, commit(), command, arguments)


_stated: tuple[str | None, Mapping[str, object]] = (
    None,
    {},
)  # by the command line that was read last


def begin(
    parser: argparse.ArgumentParser, line: Sequence[str], arguments: argparse.Namespace
) -> None:
    """From here on results are those of the command of this parser: its line without the program's name, and what was read from it."""
    global _stated
    named = {
        _name(action): _plain(getattr(arguments, action.dest))
        for action in parser._actions
        if getattr(arguments, action.dest, None) is not None
    }
    _stated = (shlex.join([*parser.prog.split(), *line]), named)


def cut_short() -> dict[str, object]:
    """What results say of themselves besides where an interrupt cut the command short, and nothing where none did."""
    return {"interrupted": True} if interrupts.interrupted() else {}


def document_text(document: Mapping[str, object]) -> str:
    """A document as JSON, with its `provenance`. Raises ValueError for NaN and infinities, which JSON does not have."""
    whole = {**document, **cut_short(), "provenance": current().document()}
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


@cache
def commit() -> str | None:
    """Of the checkout that this file stands in, or that an installation was made from; None where there is none."""
    return _checked_out() if (ROOT / ".git").exists() else _installed()


def _checked_out() -> str | None:
    import subprocess  # not at the top: most commands print a number and need none

    describe = [
        "git",
        "-C",
        str(ROOT),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ]
    try:
        return subprocess.run(
            describe, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):  # no git, or a repository that it refuses
        return None


def _installed() -> str | None:
    """What pip wrote beside a distribution that it installed from a repository."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    found = json.loads(text or "{}").get("vcs_info", {}).get("commit_id")
    return str(found) if found else None


def _name(action: argparse.Action) -> str:
    return max(action.option_strings, key=len).lstrip("-") if action.option_strings else action.dest


def _plain(value: object) -> object:
    """As a JSON value: exact numbers and names as their text."""
    if isinstance(value, bool | int | float) or type(value) is str:
        return value
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else str(value)


def _without_folder(word: str) -> str:
    """Of a file that is stated from the root on its name alone."""
    option, equals, path = word.rpartition("=")
    return f"{option}{equals}{Path(path).name}" if Path(path).is_absolute() else word
