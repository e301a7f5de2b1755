"""Completion scripts for shells, of the program that an installation puts beside python."""

import argparse
from collections.abc import Iterator
from typing import Any

import shtab

_FILES: dict[str, Any] = {
    "F": shtab.FILE,
    "FILE": shtab.FILE,
    "FOLDER": shtab.DIRECTORY,
}  # by metavar


def script(parser: argparse.ArgumentParser, program: str, shell: str) -> str:
    """The script that completes `program`, the command line of this parser, in this shell."""
    for action in actions(parser):
        if action.metavar in _FILES:
            completed: Any = action  # shtab's attribute, which argparse does not know
            completed.complete = _FILES[str(action.metavar)]
    parser.prog = program
    return str(shtab.complete(parser, shell))


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Arguments of a command line and of all its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from actions(command)
