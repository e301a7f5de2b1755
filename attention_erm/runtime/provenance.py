"""Provenance of a result: the command that repeats it, its arguments, version and commit of the
code.

The parser of a command line calls `set_command`; every table, document and figure that is written
later contains `current()`. Without a command line it has only version and commit.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from attention_erm import ROOT, __version__
from attention_erm.runtime import interrupts

DISTRIBUTION = "attention-erm"


@dataclass(frozen=True)
class Provenance:
    """Command, arguments, version and commit.

    Attributes:
        version: version of the distribution.
        commit: commit of the checkout, with "-dirty" if files were changed; None if unknown.
        command: the command for a shell; None outside of a command line.
        arguments: value of each option by name, defaults included.
    """

    version: str
    commit: str | None
    command: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """Return the provenance as JSON values."""
        return {
            "command": self.command,
            "arguments": dict(self.arguments),
            "version": self.version,
            "commit": self.commit,
        }

    def columns(self) -> dict[str, object]:
        """Return the columns of each row of a table."""
        return {"version": self.version, "commit": self.commit, "command": self.command}

    def for_others(self) -> "Provenance":
        """Return the provenance with absolute paths reduced to file names, for publication."""
        words = map(_without_folder, shlex.split(self.command or ""))
        arguments = {
            name: _without_folder(value) if isinstance(value, str) else value
            for name, value in self.arguments.items()
        }
        return replace(self, command=shlex.join(words) or None, arguments=arguments)

    def figure_metadata(
        self, suffix: str, parameters: Mapping[str, object] = MappingProxyType({})
    ) -> dict[str, str | None]:
        """Return the metadata of a figure. They contain no date: equal results are equal files.

        Args:
            suffix: format of the figure, "png", "pdf" or "svg".
            parameters: values derived from the arguments, such as the default accuracy.
        """
        code = f"{DISTRIBUTION} {self.version}, commit {self.commit or 'unknown'}"
        command, arguments = self.command or "", json.dumps({**self.arguments, **parameters})
        if suffix == "png":
            return {"Software": code, "Description": command, "Comment": arguments}
        common: dict[str, str | None] = {"Creator": code, "Keywords": arguments}
        if suffix == "pdf":
            return {**common, "Subject": command, "CreationDate": None}
        return {**common, "Description": command, "Date": None}


_command: tuple[str | None, Mapping[str, object]] = (None, {})


def set_command(command: str, arguments: Mapping[str, object]) -> None:
    """Set the command of all results that this process writes from now on.

    Args:
        command: the command for a shell.
        arguments: value of each option by name.
    """
    global _command
    _command = command, arguments


def current() -> Provenance:
    """Return the provenance of results of this process."""
    return Provenance(__version__, commit(), *_command)


def interrupted_entry() -> dict[str, object]:
    """Return the entry of a document or table that marks partial results of an interrupt."""
    return {"interrupted": True} if interrupts.interrupted() else {}


def document_text(document: Mapping[str, object]) -> str:
    """Return a document as JSON with its `provenance`.

    Raises:
        ValueError: the document contains NaN or an infinity.
    """
    whole = {**document, **interrupted_entry(), "provenance": current().document()}
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


@cache
def commit() -> str | None:
    """Return the commit of this checkout, or the one that pip installed; None if unknown."""
    return _git_commit() if (ROOT / ".git").exists() else _installed_commit()


def _git_commit() -> str | None:
    import subprocess  # slow import

    arguments = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):  # no git, or a repository that it rejects
        return None


def _installed_commit() -> str | None:
    """Return the commit in the file direct_url.json that pip writes (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    found = json.loads(text or "{}").get("vcs_info", {}).get("commit_id")
    return str(found) if found else None


def _without_folder(word: str) -> str:
    """Return the file name of an absolute path, also in "--option=path"."""
    option, equals, path = word.rpartition("=")
    return f"{option}{equals}{Path(path).name}" if Path(path).is_absolute() else word
