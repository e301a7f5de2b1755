"""What commands say on stderr beside their results, by level: errors, warnings, what goes on (with progress bars), what solvers do.

Modules log under their own names, as `logging.getLogger(__name__)`. Errors that end a command are written whatever the level.
"""

import logging
import sys
from collections.abc import Iterable
from typing import Any

LEVELS = ("error", "warning", "info", "debug")
DEFAULT = "info"
PACKAGES = ("derive", "numeric", "verify")  #: whose modules log: libraries below them would flood `debug`


class StderrLines(logging.Handler):
    """A line on stderr for each record, wherever stderr leads when it is written."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it."""
        sys.stderr.write(f"{self.format(record)}\n")


_HANDLER = StderrLines()


def set_level(level: str) -> None:
    """Say what is of this level or graver, and nothing else."""
    for package in PACKAGES:
        logger = logging.getLogger(package)
        logger.setLevel(level.upper())
        logger.addHandler(_HANDLER)  # once, however often it is asked for


def level_set() -> str:
    """The level that was set last, or the default: for processes that this one starts."""
    number = logging.getLogger(PACKAGES[0]).level
    return logging.getLevelName(number).lower() if number else DEFAULT


def progress(values: Iterable[Any] | None = None, disable: bool | None = None, **options: Any) -> Any:
    """A bar of tqdm at level `info`: graver levels are silent, and at `debug` lines say more. `disable=None`: on terminals alone."""
    from tqdm import tqdm  # a twentieth of a second that a threshold does not need

    return tqdm(values, disable=disable if level_set() == "info" else True, **options)
