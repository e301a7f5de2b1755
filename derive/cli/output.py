"""Output of commands: documents and text on stdout, everything else as lines on stderr."""

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

_LOG = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds before the first progress message


def add_command(
    commands: Any, name: str, text: str, description: str, example: str
) -> argparse.ArgumentParser:
    """Add a command with the option --json.

    Args:
        commands: subparsers of the main parser.
        name: name of the command.
        text: short help.
        description: long help.
        example: arguments of an example.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=description, epilog=f"example: python -m derive {example}"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    return parser


def log_progress(message: str) -> None:
    """Log progress in one line on stderr."""
    _LOG.info(" ".join(message.split()))


def log_refusal(message: str) -> None:
    """Log in one line on stderr why a model is left out."""
    _LOG.error(" ".join(message.split()))


def print_result(arguments: argparse.Namespace, document: object, text: str) -> None:
    """Print the document as JSON if --json is given, and otherwise the text.

    Args:
        arguments: parsed arguments.
        document: document.
        text: text.
    """
    sys.stdout.write(
        (json.dumps(document, indent=1, ensure_ascii=False) if arguments.json else text) + "\n"
    )


@contextmanager
def log_if_slow(what: str) -> Iterator[None]:
    """Context that logs what is being done if it takes long."""
    timer = Timer(PATIENCE, log_progress, (f"derive: {what}",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
