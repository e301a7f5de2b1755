"""Command line of the numerical layer: `python -m numeric COMMAND`, see --help."""

from typing import NoReturn

from attention_erm.commandline import interrupts

if __name__ == "__main__":
    interrupts.watch()

from attention_erm.commandline.parser import Parser, add_habits
from attention_erm.commandline.programs import require_working_folder

if __name__ == "__main__":
    require_working_folder()

from numeric.cli.arguments import run
from numeric.cli.commands import (
    bayes,
    cost,
    curve,
    decompose,
    doctor,
    optimal,
    recovery,
    spectrum,
    sweep,
    threshold,
)
from numeric.cli.model_arguments import add_own_settings
from numeric.cli.power_laws import exponents, phase_diagram, scaling

COMMANDS = (
    threshold,
    curve,
    spectrum,
    decompose,
    optimal,
    scaling,
    exponents,
    phase_diagram,
    cost,
    bayes,
    recovery,
    sweep,
    doctor,
)


def build_parser() -> Parser:
    """All commands; each adds its own arguments and what runs it."""
    parser = Parser(
        prog="python -m numeric",
        description="Solve the generated equations: thresholds with proven digits, learning curves, spectra, scaling laws.",
        epilog="exit codes: 0 everything asked for was found; 1 something has no value, in a line on stderr; 2 bad input, in a line; "
        "130 interrupted.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    for of_command in commands.choices.values():
        if of_command.get_default("own_settings"):
            add_own_settings(of_command)
    add_habits(parser, "attention-numeric")
    return parser


def main() -> int:
    """Run the command line."""
    arguments = build_parser().parse_args()
    interrupts.work_begins()
    return int(arguments.run(arguments))


def command_line() -> NoReturn:
    """Run the command line and exit."""
    run(main)


if __name__ == "__main__":
    command_line()
