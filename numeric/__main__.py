"""Command line of the numerical layer: `python -m numeric COMMAND`, see --help."""

from numeric.cli.arguments import Parser, run
from numeric.cli.commands import (
    bayes,
    cost,
    curve,
    decompose,
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
)


def build_parser() -> Parser:
    """All commands; each adds its own arguments and what runs it."""
    parser = Parser(prog="python -m numeric", description="Solve the generated equations of tied attention.")
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    for of_command in commands.choices.values():
        if of_command.get_default("own_settings"):
            add_own_settings(of_command)
    return parser


def main() -> int:
    """Run the command line."""
    arguments = build_parser().parse_args()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    run(main)
