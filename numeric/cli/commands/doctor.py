"""Command `doctor`: report on the installation and its problems."""

import argparse

from numeric.cli.command import Command, Result
from numeric.cli.output import add_json


def _compute(arguments: argparse.Namespace) -> Result:
    from numeric.cli.installation import examine

    report = examine()
    return Result(
        {**report.facts, "advice": report.advice},
        text="".join(f"{line}\n" for line in report.lines()),
        timed=False,
        finish=lambda: int(bool(report.advice)),
    )


COMMAND = Command(
    "doctor",
    help="check the installation: versions, cores, caches, compiled kernels, generated code",
    description="Examine the installation; no equation is solved. Prints one line per fact: "
    "versions of the package, of Python and of the libraries, the platform, cores and threads, "
    "memory, CUDA; the folders of caches with their size; which kernels are compiled; whether "
    "generated code is up to date. Then one line of advice per problem; the exit code is 1 if "
    "there is one.",
    example="python -m numeric doctor --json",
    add_options=add_json,
    compute=_compute,
)
