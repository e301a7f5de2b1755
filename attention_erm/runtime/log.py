"""Log levels: messages on stderr.

Modules log with `logging.getLogger(__name__)`. Errors that end a command are printed at any level.
"""

import logging
import sys

LEVELS = ("error", "warning", "info", "debug")
DEFAULT = "info"
PACKAGES = ("derive", "numeric", "verify")  #: libraries do not log: they would flood `debug`


class StderrHandler(logging.Handler):
    """Handler that writes to the current `sys.stderr`, also if it was replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        sys.stderr.write(f"{self.format(record)}\n")


_HANDLER = StderrHandler()


def set_level(level: str) -> None:
    """Print messages of this level or more severe ones."""
    for package in PACKAGES:
        logger = logging.getLogger(package)
        logger.setLevel(level.upper())
        logger.addHandler(_HANDLER)


def current_level() -> str:
    """Return the level of the last `set_level`, or the default; worker processes inherit it."""
    number = logging.getLogger(PACKAGES[0]).level
    return logging.getLevelName(number).lower() if number else DEFAULT
