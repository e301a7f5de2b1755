"""Programs run in the process of the tests."""

import sys

import pytest

from attention_erm.cli.exit import run_to_exit
from numeric import __main__ as command


@pytest.fixture
def said(monkeypatch, capsys):
    """Exit code, stdout and stderr of `python -m numeric ...`."""

    def of(*arguments):
        monkeypatch.setattr(sys, "argv", ["numeric", *arguments])
        with pytest.raises(SystemExit) as stop:
            run_to_exit(command.main)
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
