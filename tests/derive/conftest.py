"""Model files for a test, in a folder of their own beside the shipped ones."""

import importlib
import sys

import pytest

from derive import models


@pytest.fixture
def model_file(tmp_path, monkeypatch):
    """Write a model file of this name and text; its folder goes with the test."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(folder)])
    written = []

    def write(name, text):
        (folder / f"{name}.py").write_text(text)
        sys.modules.pop(f"derive.models.{name}", None)
        importlib.invalidate_caches()
        written.append(name)

    yield write
    for name in written:
        sys.modules.pop(f"derive.models.{name}", None)
