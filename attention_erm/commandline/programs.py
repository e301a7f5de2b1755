"""The command lines as programs beside python: the same as `python -m`, from their first import on."""

import runpy


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
