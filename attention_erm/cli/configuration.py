"""Options from a TOML file: its keys are names of options, without dashes in front, and become
arguments before those of the line.

Numbers keep their text, so that 0.05 means one twentieth exactly, as it does on the command line;
lists are joined by commas.
"""

import argparse
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attention_erm.cli import CONFIG
from attention_erm.cli.messages import fail, nearest, toml_hint
from attention_erm.runtime.errors import InvalidParameter, shorten

_HERE_ONLY = {
    "--help",
    CONFIG,
    "--version",
    "--print-completion",
}  # say something of the command line itself


def expanded(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> list[str]:
    """The arguments, with those of the file that they name in front, in its place: what the line
    states wins.

    Exits with 2 and a line that names the file where it cannot be read or states what the command
    does not take.
    """
    given = list(_stated(parser, arguments))
    files = [(value, place) for action, value, place in given if CONFIG in action.option_strings]
    path = files[-1][0] if files else None
    if path is None:
        return list(arguments)
    stated = {id(action) for action, _, _ in given}
    replaced = stated | {
        id(member)
        for group in parser._mutually_exclusive_groups
        if any(id(action) in stated for action in group._group_actions)
        for member in group._group_actions
    }
    found: list[str] = []
    for key, value in _read(path).items():
        action = _option(parser, path, key)
        texts = _arguments(action, path, key, value)
        found += [] if id(action) in replaced else texts
    named = {k for _, place in files for k in place}
    return [*found, *(text for k, text in enumerate(arguments) if k not in named)]


def _stated(
    parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> Iterator[tuple[argparse.Action, str | None, range]]:
    """Options of this parser among the arguments, with their values and where both stand; those
    after a command are the command's.
    """
    known, rest = parser._option_string_actions, enumerate(arguments)
    for k, text in rest:
        name, equals, value = text.partition("=")
        if not name.startswith("--"):
            if parser._subparsers is not None:
                return
            continue
        if name not in known:  # argparse refuses it
            continue
        action = known[name]
        if equals:
            yield action, value, range(k, k + 1)
        elif action.nargs == 0:
            yield action, None, range(k, k + 1)
        else:
            yield action, next(rest, (k, None))[1], range(k, k + 2)


def _read(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        return tomllib.loads(text, parse_float=lambda number: number.replace("_", ""))
    except tomllib.TOMLDecodeError as error:
        hint = toml_hint(text, error, 'write lines such as kappa0 = "1/2"')
        fail(f"{path}: invalid TOML: {error}; {hint}")
    except OSError as error:
        fail(f"{CONFIG} {path}: cannot be read ({error.strerror}); name a TOML file")
    except UnicodeDecodeError:
        fail(f"{CONFIG} {path}: not a text file in UTF-8; give a TOML file")


def _option(parser: argparse.ArgumentParser, path: str, key: str) -> argparse.Action:
    flag, known = f"--{key}", parser._option_string_actions.keys() - _HERE_ONLY
    if flag in known:
        return parser._option_string_actions[flag]
    names = sorted(option[2:] for option in known if option.startswith("--"))
    near = nearest(key, names)
    hint = f"write {near}" if near else f"use one of {', '.join(names)}"
    fail(f"{path}: {shorten(key)}: {parser.prog} has no such option for a file; {hint}")


def _arguments(action: argparse.Action, path: str, key: str, value: Any) -> list[str]:
    """Return an entry of the file as checked command-line arguments."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            fail(f"{path}: {key} = {shorten(value)}: is a switch; write true or false")
        return [f"--{key}"] if value else []
    items = value if isinstance(value, list) else [value]
    if not items or not all(
        isinstance(item, int | str) and not isinstance(item, bool) for item in items
    ):
        fail(
            f"{path}: {key} = {shorten(value)}: must be a number, a text, or a list of them; write "
            "it as the option"
        )
    text = ",".join(map(str, items))
    if "\0" in text:
        fail(
            f"{path}: {key} = {shorten(repr(text))}: has a null character, as no option can; leave "
            "it out"
        )
    _check(action, f"{path}: {key} = {shorten(text)}", text)
    return [f"--{key}={text}"]


def _check(action: argparse.Action, entry: str, text: str) -> None:
    if action.choices is not None and text not in action.choices:
        fail(f"{entry}: is none of the choices; use one of {', '.join(map(str, action.choices))}")
    if callable(action.type):
        try:
            action.type(text)
        except InvalidParameter as error:
            fail(f"{entry}: {error.rule}; {error.hint}")
        except (ValueError, TypeError, argparse.ArgumentTypeError) as error:
            fail(f"{entry}: {error}; write it as the option")
