"""Command line of the numerical layer: `python -m numeric COMMAND`, see --help."""

from typing import NoReturn

from attention_erm.runtime import interrupts

if __name__ == "__main__":
    interrupts.install_handlers()

from attention_erm.cli.parser import Parser, add_common_options
from attention_erm.cli.programs import require_working_folder

if __name__ == "__main__":
    require_working_folder()

from attention_erm.cli.exit import run_to_exit
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
    add_common_options(parser, "attention-numeric")
    return parser


def main() -> int:
    """Run the command line."""
    arguments = build_parser().parse_args()
    interrupts.raise_on_interrupt()
    return int(arguments.run(arguments))


def command_line() -> NoReturn:
    """Run the command line and exit."""
    run_to_exit(main)


if __name__ == "__main__":
    command_line()
