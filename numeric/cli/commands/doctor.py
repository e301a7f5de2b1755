"""Command `python -m numeric doctor`: what this installation is made of, and what is wrong with it."""

import argparse
import sys

from numeric.cli.arguments import print_json


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "doctor",
        help="versions, cores, caches, compiled kernels, generated code: what there is, and what is wrong",
        description="Look at the installation and solve nothing. Prints a line a fact: versions of the package, of Python and of the "
        "libraries, the platform, cores and threads, memory, CUDA; the folders of caches with their size; which kernels are compiled "
        "and which will be on first use; whether generated code is what its manifests say. Then a line of advice for each thing that "
        "is wrong; the exit code is 1 if there is one.",
        epilog="example: python -m numeric doctor --json",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print facts and advice; exit 1 where something is wrong."""
    from numeric.cli.installation import examine

    report = examine()
    if arguments.json:
        print_json({**report.facts, "advice": report.advice})
    else:
        sys.stdout.write("".join(f"{line}\n" for line in report.lines()))
    return 1 if report.advice else 0
