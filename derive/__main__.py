"""Command line of the symbolic layer: `python -m derive COMMAND`, see --help."""

import os
from typing import NoReturn

from attention_erm.runtime import interrupts

if __name__ == "__main__":
    interrupts.install_handlers(compiled=False)

os.environ.setdefault("SYMPY_CACHE_SIZE", "None")  # unlimited: derivations are 15 % faster

from attention_erm.cli.exit import run_to_exit
from attention_erm.cli.parser import Parser, add_common_options
from attention_erm.cli.programs import require_working_folder

if __name__ == "__main__":
    require_working_folder()

from derive.cli.commands import check, diff, explain, gen, listing, new, tex

COMMANDS = (listing, new, gen, check, diff, explain, tex)


def build_parser() -> Parser:
    """All commands; each adds its own arguments and what runs it."""
    parser = Parser(
        prog="python -m derive",
        description="Derive equations from model files, generate code from them, and prove of it "
        "that it is theirs.",
        epilog="exit codes: 0 done; 1 `check` found a problem; 2 bad input, or a model that is "
        "refused; 130 interrupted.",
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="{list,new,gen,check,diff,explain,tex}"
    )
    for command in COMMANDS:
        command.add(commands)
    add_common_options(parser, "attention-derive")
    return parser


def main() -> int:
    """Run the command of sys.argv; its exit code."""
    arguments = build_parser().parse_args()
    interrupts.raise_on_interrupt()
    return int(arguments.run(arguments))


def command_line() -> NoReturn:
    """Run the command line and exit."""
    run_to_exit(main)


if __name__ == "__main__":
    command_line()
