"""Command line of the numerical layer: `python -m numeric COMMAND`, see --help."""

from typing import NoReturn

from attention_erm.runtime import interrupts

if __name__ == "__main__":
    interrupts.install_handlers()

from attention_erm.cli.exit import run_to_exit
from attention_erm.cli.parser import Parser, add_common_options
from attention_erm.cli.programs import require_working_folder

if __name__ == "__main__":
    require_working_folder()

from numeric.cli.commands import (
    bayes,
    capacity,
    cost,
    curve,
    decompose,
    doctor,
    optimal,
    recovery,
    reliability,
    samples,
    spectrum,
    sweep,
    threshold,
    weights,
)
from numeric.cli.model_arguments import add_own_settings
from numeric.cli.power_laws import exponents, phase_diagram, scaling

COMMANDS = (
    threshold.COMMAND,
    curve.COMMAND,
    spectrum.COMMAND,
    decompose.COMMAND,
    optimal.COMMAND,
    scaling.COMMAND,
    exponents.COMMAND,
    phase_diagram.COMMAND,
    cost.COMMAND,
    bayes.COMMAND,
    recovery.COMMAND,
    capacity.COMMAND,
    reliability.COMMAND,
    samples.COMMAND,
    weights.COMMAND,
    sweep.COMMAND,
    doctor.COMMAND,
)


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="python -m numeric",
        description="Solve the generated equations: thresholds with proven digits, learning "
        "curves, spectra, scaling laws.",
        epilog="exit codes: 0 all results were found; 1 a result is missing, reported in a line on "
        "stderr; 2 invalid input, in one line; 130 interrupted.",
    )
    subparsers = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        command.add(subparsers)
    for subparser in subparsers.choices.values():
        if subparser.get_default("own_settings"):
            add_own_settings(subparser)
    add_common_options(parser, "attention-numeric")
    return parser


def main() -> int:
    """Run the command line and return the exit code."""
    arguments = build_parser().parse_args()
    interrupts.raise_on_interrupt()
    return int(arguments.run(arguments))


def command_line() -> NoReturn:
    """Run the command line and exit."""
    run_to_exit(main)


if __name__ == "__main__":
    command_line()
