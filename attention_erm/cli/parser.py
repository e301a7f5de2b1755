"""A command line with the habits of all: its options from a file, `--log-level`, `--version`,
`--print-completion`.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, NoReturn

from attention_erm import __version__
from attention_erm.cli import CONFIG
from attention_erm.cli.messages import MEANINGS, fail, nearest
from attention_erm.runtime import provenance
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.log import DEFAULT, LEVELS, set_level

SHELLS = ("bash", "zsh", "tcsh")
_NEGATIVE = re.compile(
    r"-\.?\d"
)  # how a value begins that is no option: lists and fractions too, unlike in argparse
MANY = 8  #: options that a command may have of its own before it takes a file of them


class Help(argparse.HelpFormatter):
    """Help that leaves an example in one line, to be copied, and fills all other text."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        first, _, rest = text.partition("\n")
        if not first.startswith("example: "):
            return super()._fill_text(text, width, indent)
        return "\n".join(
            [indent + first, *([super()._fill_text(rest, width, indent)] if rest else [])]
        )


class ValueParser(argparse.ArgumentParser):
    """ArgumentParser whose argument types may raise InvalidParameter."""

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert a value; argparse would replace the message of a ValueError."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if isinstance(error.__context__, InvalidParameter):
                raise error.__context__ from None
            raise


class Parser(ValueParser):
    """ArgumentParser that reports an error in one line on stderr and exits with 2, and takes
    options from a file.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": Help, "allow_abbrev": False, **options})
        self._negative_number_matcher = _NEGATIVE

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        fail(f"{self.prog}: {message}; see {self.prog} --help")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse like argparse, after inserting the arguments that a configuration file states."""
        arguments = sys.argv[1:] if args is None else list(args)
        if any(text.partition("=")[0] == CONFIG for text in arguments):
            from attention_erm.cli.configuration import (
                expanded,  # not at the top: a tenth of the time of a start
            )

            arguments = expanded(self, arguments)
        self._require_known(arguments)
        found, rest = super().parse_known_args(arguments, namespace)
        if rest and not commands(self):
            self.error(_left_over(rest[0], arguments))
        if not hasattr(found, "stated"):  # by a command, whose parser has just done this
            found.stated = self, arguments
        return found, rest

    def _require_known(self, arguments: Sequence[str]) -> None:
        """Refuse a mistyped option by its name, with those that are like it: argparse would ask for
        what it was to state.
        """
        if commands(self):  # of which one looks at what follows it
            own = takewhile(lambda text: text.startswith("--"), arguments)
        else:
            own = takewhile(lambda text: text != "--", arguments)
        for name in (text.partition("=")[0] for text in own if text.startswith("--")):
            if name not in self._option_string_actions:
                self.error(f"{name}: unknown option{_like_option(self, name)}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check like argparse, but suggest the closest valid choice instead of listing all of
        them.
        """
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(f"{value!r}: unknown command{_like(value, action.choices)}")
        choices = action.choices or ()
        if value not in choices and (hint := _like(str(value), map(str, choices))):
            raise argparse.ArgumentError(action, f"{value!r} is none of the choices{hint}")
        super()._check_value(action, value)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse like argparse, then set the log level and record the arguments for the
        provenance of outputs.
        """
        arguments = super().parse_args(args, namespace)
        set_level(arguments.log_level)
        command, line = arguments.stated
        provenance.set_command(
            shlex.join([*command.prog.split(), *line]),
            {
                _long_name(action): _json_value(getattr(arguments, action.dest))
                for action in command._actions
                if getattr(arguments, action.dest, None) is not None
            },
        )
        return arguments


def _like_option(parser: argparse.ArgumentParser, name: str) -> str:
    """The way out where options of a parser have the meaning of an unknown one, begin with its
    name or are like it.
    """
    known = parser._option_string_actions
    meant = [f"--{one}" for one in MEANINGS.get(name.lstrip("-").lower(), ())]
    near = [one for one in meant if one in known] or [one for one in known if one.startswith(name)]
    if not near:
        return _like(name, known)
    helps = (known[one].help for one in near)
    described = [
        f"{one} ({text % {'prog': parser.prog}})" if meant and text else one
        for one, text in zip(near, helps, strict=True)
    ]
    return f"; use {' or '.join(described)}"


def _left_over(text: str, arguments: Sequence[str]) -> str:
    """Return what is wrong with an argument that belongs to no option."""
    before = list(takewhile(lambda one: one != text, arguments))
    if len(before) > 1 and before[-2].startswith("--") and not before[-1].startswith("--"):
        together = f"{before[-2]} {before[-1].rstrip(',')},{text.lstrip(',')}"
        return f"{text}: belongs to no option; separate several values by commas: {together}"
    return f"{text}: belongs to no option; leave it out"


def _like(name: str, known: Iterable[str]) -> str:
    """The way out where a known name is like a mistyped one."""
    near = nearest(name, known)
    return f"; use {near}" if near else ""


def add_common_options(parser: Parser, program: str) -> None:
    """Add what every command line has, to it and to its commands, once these have their arguments.

    `program`: the name under which an installation puts it beside python, for completion.
    """
    for one in (parser, *commands(parser).values()):
        options = [
            action for action in one._actions if action.option_strings and action.dest != "help"
        ]
        group = one.add_argument_group("common options")
        if len(options) > MANY:
            group.add_argument(
                CONFIG, metavar="FILE", help="take options from a TOML file; those given here win"
            )
        group.add_argument(
            "--log-level",
            choices=LEVELS,
            default=argparse.SUPPRESS,
            help="level of the log on stderr; info includes progress, debug every solve "
            f"(default {DEFAULT})",
        )
    parser.set_defaults(log_level=DEFAULT)
    top = parser.add_argument_group("of the program")
    top.add_argument("--version", action=_Version, help="print the version and exit")
    top.add_argument(
        "--print-completion",
        action=_Completion,
        program=program,
        choices=SHELLS,
        help=f"print a script that completes {program} and exit, e.g. for `eval` in ~/.bashrc",
    )


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Commands of a command line by name."""
    found = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name: command for action in found for name, command in action.choices.items()}


def _long_name(action: argparse.Action) -> str:
    return max(action.option_strings, key=len).lstrip("-") if action.option_strings else action.dest


def _json_value(value: object) -> object:
    """Return the value of an option for JSON; exact numbers and enums become text."""
    if isinstance(value, bool | int | float) or type(value) is str:
        return value
    return [_json_value(part) for part in value] if isinstance(value, tuple | list) else str(value)


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"{provenance.DISTRIBUTION} {__version__}\n")
        raise SystemExit(0)


class _Completion(argparse.Action):
    def __init__(
        self, option_strings: Sequence[str], dest: str, program: str, **options: Any
    ) -> None:
        self.program = program
        super().__init__(option_strings, argparse.SUPPRESS, **options)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, shell: Any, *_: object
    ) -> NoReturn:
        from attention_erm.cli.completion import script  # shtab is for this alone

        sys.stdout.write(script(parser, self.program, shell) + "\n")
        raise SystemExit(0)
