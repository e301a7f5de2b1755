"""Entry points of the installed programs `attention-derive`, `attention-numeric` and
`attention-verify`.
"""

import runpy
from pathlib import Path

from attention_erm.cli.messages import fail


def derive() -> None:
    """Run `python -m derive`."""
    _run("derive")


def numeric() -> None:
    """Run `python -m numeric`."""
    _run("numeric")


def verify() -> None:
    """Run `python -m verify`."""
    _run("verify")


def _run(package: str) -> None:
    runpy.run_module(package, run_name="__main__", alter_sys=True)


def require_working_folder() -> None:
    """Exit with a one-line error if the working folder was deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        fail("the working folder was deleted; change to an existing folder")
