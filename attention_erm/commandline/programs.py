"""The command lines as programs beside python, the same as `python -m` from their first import on; and where that imports from."""

import runpy
import sys
from pathlib import Path

from attention_erm import ROOT
from attention_erm.commandline.refusal import fail


def derive() -> None:
    """As `python -m derive`."""
    _run("derive")


def numeric() -> None:
    """As `python -m numeric`."""
    _run("numeric")


def verify() -> None:
    """As `python -m verify`."""
    _run("verify")


def _run(package: str) -> None:
    runpy.run_module(package, run_name="__main__", alter_sys=True)


def search_no_working_folder() -> None:
    """Take the folder one works in off the path, where `python -m` put it there and the packages are not in it.

    A verify.py of the user's in it would be taken for a package of ours.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        fail("the folder that you work in was deleted: files are read and written there; change to another one")
    if not sys.flags.safe_path and Path(sys.path[0]) == here != ROOT:
        del sys.path[0]
