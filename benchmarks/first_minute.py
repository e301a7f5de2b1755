"""What a first user waits for: each command right after installation, when its kernels are
compiled, and again, warm.

Run: python -m benchmarks.first_minute        (a minute; prints two tables)

The sources are copied without anything compiled, and compile into a folder of their own, one
command after the other, as a user's do.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = ("attention_erm", "generated", "numeric")
REPEATS = 5  # of a warm command
SHOWN = 8  # packages in the table of imports


class Command(NamedTuple):
    """Arguments of `python -m numeric`, and the seconds that it should take at most: at first, and
    warm.
    """

    name: str
    arguments: str
    first: float
    warm: float | None = None


POINT = "curve --alpha 0.5 --kappa0 .5 --lambda .01 --noise .5 --json"
COMMANDS = (
    Command("threshold", "threshold interpolation --kappa0 1/2 --noise 1/2", 0.5, 0.1),
    Command("one point", POINT, 15.0, 1.0),
    Command(
        "one point, three tokens",
        "curve --alpha 0.5 --kappa0 .5 --lambda .05 --noise .5 --tokens 3 --json",
        15.0,
    ),
    Command(
        "scaling",
        "scaling --power-law 3/4 --dim 200 --lambda 1/d --samples 1e3:1e8:3 --noise .5 --json",
        15.0,
    ),
)


class Duration(NamedTuple):
    """Seconds of a process, start to exit: on the clock, and of all cores."""

    wall: float
    cpu: float


def installation(folder: Path) -> dict[str, str]:
    """Copy the sources into a folder; the environment in which they compile into it."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "NUMBA_CACHE_DIR": str(folder / "cache")}


def run(arguments: str, folder: Path, environment: dict[str, str], *options: str) -> str:
    """Run a command there; what it says on stderr."""
    command = [sys.executable, *options, "-m", "numeric", *arguments.split()]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, text=True, capture_output=True
    ).stderr


def timed(arguments: str, folder: Path, environment: dict[str, str]) -> Duration:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run(arguments, folder, environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Duration(time.perf_counter() - started, cpu)


def columns(took: Duration, target: float | None) -> str:
    ratio = f"{target:6.1f} {took.wall / target:6.2f}" if target else f"{'':13}"
    return f"{took.wall:7.2f} {took.cpu:7.2f} {ratio}"


def import_seconds(report: str) -> Counter[str]:
    """Seconds by package of what `python -X importtime` reports."""
    spent: Counter[str] = Counter()
    for line in report.splitlines():
        if line.startswith("import time:") and "self" not in line:
            own, _, module = line.removeprefix("import time:").split("|")
            spent[module.strip().split(".")[0]] += int(own)
    return Counter({package: microseconds / 1e6 for package, microseconds in spent.items()})


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = installation(folder)
        head = f"{'s':>7} {'CPU s':>7} {'target':>6} {'ratio':>6}"
        print(f"{'command':24} | first {head[6:]} | warm  {head[6:]}")
        for command in COMMANDS:
            first = timed(command.arguments, folder, environment)
            again = [timed(command.arguments, folder, environment) for _ in range(REPEATS)]
            warm = Duration(*(statistics.median(values) for values in zip(*again, strict=True)))
            print(
                f"{command.name:24} | {columns(first, command.first)} | "
                f"{columns(warm, command.warm)}",
                flush=True,
            )
        spent = import_seconds(run(POINT, folder, environment, "-X", "importtime"))
    print(
        f"\nimports of a warm point: {sum(spent.values()):.2f} s, each package without those that "
        "it imports"
    )
    for package, seconds in spent.most_common(SHOWN):
        print(f"{package:24} | {seconds:7.3f}")


if __name__ == "__main__":
    main()
