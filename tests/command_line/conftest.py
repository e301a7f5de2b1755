"""Programs run in the process of the tests."""

import sys

import pytest

from numeric import __main__ as command
from numeric.cli.arguments import run


@pytest.fixture
def said(monkeypatch, capsys):
    """Exit code, stdout and stderr of `python -m numeric ...`."""

    def of(*arguments):
        monkeypatch.setattr(sys, "argv", ["numeric", *arguments])
        with pytest.raises(SystemExit) as stop:
            run(command.main)
        return stop.value.code, *capsys.readouterr()

    return of


@pytest.fixture
def numeric(said):
    """Stdout of `python -m numeric ...`, which has to succeed."""

    def of(*arguments):
        code, out, _ = said(*arguments)
        assert code == 0
        return out

    return of
