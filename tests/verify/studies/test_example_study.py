"""The example study of docs/development/architecture.md: one folder and one line in the table add a
study.
"""

import json
import re
import sys
from pathlib import Path

import pytest

import verify.studies
from verify import __main__ as verify_main

TEXT = (Path(__file__).parents[3] / "docs" / "development" / "architecture.md").read_text()
(EXAMPLE,) = re.findall(r"## Example: a complete study\n.*?```python\n(.*?)```", TEXT, re.S)


@pytest.fixture
def added(tmp_path, monkeypatch, no_workers):
    """Add the example as a folder of its own, and its name to the table."""
    folder = tmp_path / "studies" / "start_dependence"
    folder.mkdir(parents=True)
    (folder / "command.py").write_text(EXAMPLE)
    monkeypatch.setattr(verify.studies, "__path__", [*verify.studies.__path__, str(folder.parent)])
    monkeypatch.setattr(verify_main, "STUDIES", (*verify.studies.STUDIES, "start_dependence"))
    yield
    sys.modules.pop("verify.studies.start_dependence.command", None)
    sys.modules.pop("verify.studies.start_dependence", None)


def test_the_example_is_short():
    assert len(EXAMPLE.splitlines()) <= 60


def test_the_example_is_a_command_with_verdict_document_and_store(added, tmp_path, capsys):
    arguments = ["starts", "--dim", "12", "--runs", "2", "--out", str(tmp_path / "report")]
    assert verify_main.main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["agrees"] and 0 < document["largest_change"] < 1e-3
    assert [pair["dim"] for pair in document["pairs"]] == [12, 12]
    assert len((tmp_path / "report" / "runs.jsonl").read_text().splitlines()) == 4
    assert verify_main.main(arguments) == 0
    assert "largest relative change of q" in capsys.readouterr().out


def test_the_example_can_fail(added, tmp_path, monkeypatch):
    from verify.studies.start_dependence import command

    monkeypatch.setattr(command, "TOLERANCE", 0.0)
    arguments = ["starts", "--dim", "12", "--runs", "2", "--out", str(tmp_path / "report")]
    assert verify_main.main(arguments) == 1
