"""Command line: `python -m verify [--preset P]` is the main job; each study has a command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from attention_erm.cli import NO_TORCH
from attention_erm.runtime import interrupts

if __name__ == "__main__":
    interrupts.install_handlers()

from attention_erm.cli.messages import fail
from attention_erm.cli.parser import Parser, add_common_options
from attention_erm.cli.programs import require_working_folder
from verify.cli import lazy_torch

if __name__ == "__main__":
    require_working_folder()
    lazy_torch.install_lazy_torch()  # before any import of torch

import torch

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime.errors import InvalidParameter
from numeric.model import DEFAULT, require_up_to_date
from verify.cli import figure, figures
from verify.cli.study import add_study
from verify.core.pool import Pool, WorkerError
from verify.main_job import command as main_job
from verify.studies import STUDIES, study_of
from verify.sweeps import command as sweep


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="python -m verify",
        description="Train attention heads and compare them with the theory. Without a command: "
        "the main job.",
        epilog="example: python -m verify --preset quick --out report\nexit codes: 0 training "
        "agrees with the theory; 1 it disagrees, "
        "or something failed; 2 bad input, in one line; 130 interrupted; run the same command "
        "again to continue.",
    )
    main_job.add(parser)
    commands = parser.add_subparsers(dest="command")
    for folder in STUDIES:
        add_study(commands, study_of(folder))
    for command in (figure, figures, sweep.COMMAND):
        command.add(commands)
    commands.metavar = f"{{{','.join(commands.choices)}}}"
    add_common_options(parser, "attention-verify")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0 agreement, 1 disagreement or failure, 130
    interrupted.

    Raises:
        InvalidParameter: invalid arguments, alone or together.
        NoAnswer: the theory has no answer.
    """
    arguments = build_parser().parse_args(argv)
    if not lazy_torch.has_torch():
        fail(NO_TORCH)
    interrupts.raise_on_interrupt()
    require_up_to_date(DEFAULT)  # before workers start, because they train
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise InvalidParameter(
            "--device", "cuda", "needs a CUDA device, and torch sees none", "use --device cpu"
        )
    try:
        return int(arguments.run(arguments))
    except InvalidParameter as error:
        raise error.as_option() from None
    except WorkerError as error:
        sys.stderr.write(f"failed: {error}\n")
        return 1
    except KeyboardInterrupt as interrupt:
        return interrupts.report(str(interrupt) or Pool.left)
    except OSError as error:
        error.add_note("finished runs are stored")
        raise


def command_line() -> NoReturn:
    """Run the command line and exit."""
    run_to_exit(main)


if __name__ == "__main__":
    command_line()
