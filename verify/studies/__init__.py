"""The table of studies. Each study is a folder: plan and outcome, figure, text, command."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

#: Folders of the studies, in the order in which `python -m verify --help` lists their commands.
STUDIES = (
    "learning_curves",
    "spectra",
    "scaling",
    "gap",
    "exponents",
    "emergence",
    "thresholds",
    "cross_validation",
    "message_passing",
    "models",
    "published",
    "width",
)


def command_of(study: str) -> ModuleType:
    """Return the module with the command of a study."""
    return import_module(f"verify.studies.{study}.command")
