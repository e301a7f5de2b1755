"""The command reference, from the parsers of derive, numeric and verify: usage, options and the
example of each command.
"""

import argparse
from importlib import import_module

PROGRAMS = ("numeric", "verify", "derive")
_WIDTH = 88  # of a usage line


def pages() -> dict[str, str]:
    """Markdown of the pages by their paths."""
    toctree = "\n".join(["```{toctree}", *PROGRAMS, "```"])
    index = (
        "# Commands\n\nMade from the parsers that read the command line; `--help` prints the same. "
        "Values such as `1/2`, `.5` and "
        "`5e-1` are one exact number, `first:last:count` is a geometric grid, "
        "`first:last:count:linear` a linear one.\n\n"
    )
    return {"commands/index.md": f"{index}{toctree}\n"} | {
        f"commands/{name}.md": page(name) for name in PROGRAMS
    }


def parser_of(program: str) -> argparse.ArgumentParser:
    """The parser of `python -m PROGRAM`."""
    parser = import_module(f"{program}.__main__").build_parser()
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Its commands by name, in the order in which it lists them."""
    return {
        name: command
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, command in action.choices.items()
    }


def page(program: str) -> str:
    """All commands of one program."""
    parser = parser_of(program)
    said = {
        choice.dest: choice.help
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for choice in action._choices_actions
    }
    parts = [f"# python -m {program}\n", f"{parser.description}\n"]
    if arguments_of(parser):
        parts.append(f"## Without a command\n\n{_described(parser)}")
    for name, command in commands(parser).items():
        heading, help_line = (
            f"## {program} {name}",
            _text(command.description or said.get(name) or ""),
        )
        parts.append(
            f"{heading}\n\n{help_line[:1].upper()}{help_line[1:]}.\n\n{_described(command)}"
        )
    return "\n".join(parts)


def arguments_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What it takes besides commands and --help."""
    return [
        action
        for action in parser._actions
        if action.help is not argparse.SUPPRESS
        and not isinstance(action, (argparse._SubParsersAction, argparse._HelpAction))
    ]


def _described(parser: argparse.ArgumentParser) -> str:
    formatter = argparse.HelpFormatter(parser.prog, width=_WIDTH)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    rows = "".join(
        f"| {_flags(action)} | {_help(formatter, action)} |\n" for action in arguments_of(parser)
    )
    example = f"```bash\n{parser.epilog.partition(': ')[2]}\n```\n" if parser.epilog else ""
    return (
        f"{example}\n```text\n{formatter.format_help().strip()}\n```\n\n| option | meaning |\n| "
        f"--- | --- |\n{rows}"
    )


def _help(formatter: argparse.HelpFormatter, action: argparse.Action) -> str:
    return _text(formatter._expand_help(action)) if action.help else ""


def _flags(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_metavar(action)}"
    return (
        f"`{', '.join(action.option_strings)}{value}`"
        if action.option_strings
        else f"`{_metavar(action)}`"
    )


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _text(text: str) -> str:
    return (
        " ".join(text.split())
        .replace("|", "\\|")
        .replace("*", "\\*")
        .replace("<", "&lt;")
        .rstrip(".")
    )
