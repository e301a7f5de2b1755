"""Command line: `python -m verify [--preset P]` is the main job; the commands are pieces of it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from numeric.cli.arguments import BadInput, Parser, bad_argument
from numeric.cli.arguments import run as run_to_exit
from numeric.maths.domain import InvalidParameter
from verify.cli.arguments import note
from verify.cli.commands import (
    cross_validate,
    curve,
    figure,
    figures,
    main_job,
    message_passing,
    models,
    published,
    spectrum,
    sweep,
    thresholds,
)
from verify.cli.power_laws import emergence, exponents, gap, scaling, width
from verify.jobs.pool import WorkerError

COMMANDS = (
    curve,
    figure,
    figures,
    spectrum,
    scaling,
    gap,
    exponents,
    emergence,
    thresholds,
    cross_validate,
    message_passing,
    models,
    published,
    width,
    sweep,
)


def build_parser() -> Parser:
    """All commands; each adds its own arguments and what runs it."""
    parser = Parser(
        prog="python -m verify",
        description="Train attention heads and set them beside the theory. Without a command: the main job.",
        epilog="example: python -m verify --preset quick --out report",
    )
    main_job.add(parser)
    names = (command.__name__.rpartition(".")[2].replace("_", "-") for command in COMMANDS)
    commands = parser.add_subparsers(dest="command", metavar=f"{{{','.join(names)}}}")
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 agreement, 1 disagreement or failure, 130 interrupted.

    Raises BadInput for arguments that make no sense, alone or together, and NoAnswer where the theory has none.
    """
    arguments = build_parser().parse_args(argv)
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise BadInput("--device", "cuda", "needs a CUDA device, and torch sees none", "use --device cpu")
    try:
        return int(arguments.run(arguments))
    except InvalidParameter as error:
        raise bad_argument(error) from None
    except WorkerError as error:
        note(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        note("interrupted: finished runs are kept, the same command goes on from there")
        return 130


if __name__ == "__main__":
    run_to_exit(main)
