"""What commands print: documents and text on stdout, everything else a line on stderr."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any, NoReturn

PATIENCE = 2.0  # seconds that a command works in silence


class Parser(argparse.ArgumentParser):
    """ArgumentParser that reports an error in one line on stderr and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        fail(f"{self.prog}: {message}; see {self.prog} --help")


def command(commands: Any, name: str, text: str, example: str) -> argparse.ArgumentParser:
    """Add a command of this name, which can print JSON."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=f"example: python -m derive {example}"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    return parser


def fail(message: str) -> NoReturn:
    """One line on stderr, exit 2: bad input."""
    note(message)
    raise SystemExit(2)


def note(message: str) -> None:
    """One line on stderr."""
    sys.stderr.write(" ".join(message.split()) + "\n")
    sys.stderr.flush()


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
