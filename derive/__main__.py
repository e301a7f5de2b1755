"""Command line of the symbolic layer: `python -m derive COMMAND`, see --help."""

import os
import sys

from derive.cli.commands import check, diff, explain, gen, listing, new, tex
from derive.cli.output import Parser, note

COMMANDS = (listing, new, gen, check, diff, explain, tex)


def build_parser() -> Parser:
    """All commands; each adds its own arguments and what runs it."""
    parser = Parser(prog="python -m derive", description="Derive equations from model files and generate code.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{list,new,gen,check,diff,explain,tex}")
    for command in COMMANDS:
        command.add(commands)
    return parser


def main() -> int:
    """Run the command of sys.argv; its exit code."""
    arguments = build_parser().parse_args()
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever reads the output has stopped, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        note("interrupted")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
