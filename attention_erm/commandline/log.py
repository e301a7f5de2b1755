"""What commands say on stderr beside their results, by level: errors, warnings, what goes on (with its progress), what solvers do.

Modules log under their own names, as `logging.getLogger(__name__)`. Errors that end a command are written whatever the level.
"""

import logging
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from attention_erm.commandline.lines import Lines

LEVELS = ("error", "warning", "info", "debug")
DEFAULT = "info"
PACKAGES = (
    "derive",
    "numeric",
    "verify",
)  #: whose modules log: libraries below them would flood `debug`


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


def at_work(what: str) -> AbstractContextManager[Any]:
    """Say at level `info` that something in one piece is being done, if it takes long."""
    return Lines(None, what, None, False) if level_set() == "info" else nullcontext()


def progress(
    values: Iterable[Any] | None = None,
    *,
    desc: str,
    total: float | None = None,
    disable: bool = False,
    shares: bool = False,
    **options: Any,
) -> Any:
    """How far the work is, at level `info`: graver levels are silent, and at `debug` lines say more.

    A bar of tqdm, with its `options`, on a terminal; elsewhere a line where it takes over two seconds, and then now and then.
    """
    if disable or level_set() != "info" or sys.stderr.isatty():
        from tqdm import tqdm  # a twentieth of a second that a threshold does not need

        return tqdm(
            values, desc=desc, total=total, disable=disable or level_set() != "info", **options
        )
    return Lines(values, desc, total, shares)
