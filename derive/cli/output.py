"""What commands print: documents and text on stdout, everything else a line on stderr."""

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

_LOG = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds that a command works in silence


def command(commands: Any, name: str, text: str, description: str, example: str) -> argparse.ArgumentParser:
    """Add a command of this name, which can print JSON."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=description, epilog=f"example: python -m derive {example}"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    return parser


def note(message: str) -> None:
    """What goes on, in one line on stderr."""
    _LOG.info(" ".join(message.split()))


def refuse(message: str) -> None:
    """Why a model is left out, likewise."""
    _LOG.error(" ".join(message.split()))


def say(arguments: argparse.Namespace, document: object, text: str) -> None:
    """The document as JSON if asked for, else the text."""
    sys.stdout.write((json.dumps(document, indent=1, ensure_ascii=False) if arguments.json else text) + "\n")


@contextmanager
def told(what: str) -> Iterator[None]:
    """Say what is being done if it takes long."""
    timer = Timer(PATIENCE, note, (f"derive: {what}",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
