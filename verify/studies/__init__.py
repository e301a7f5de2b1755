"""The table of studies. Each study is a folder, with its `STUDY` in command.py."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Folders of the studies, in the order in which `python -m verify --help` lists their commands.
STUDIES = (
    "learning_curves",
    "spectra",
    "covariance",
    "vocabulary",
    "tokens",
    "scaling",
    "gap",
    "exponents",
    "covariance_exponents",
    "emergence",
    "thresholds",
    "capacity",
    "cross_validation",
    "message_passing",
    "models",
    "published",
    "width",
)


def study_of(folder: str) -> Any:
    """Return the study in a folder of verify/studies."""
    return import_module(f"verify.studies.{folder}.command").STUDY
