"""Any model: deriving, proving and listing, and a point of a learning curve by the kind of its
channel.

Run: python -m benchmarks.models        (three minutes; prints a table)

`derive gen` runs in a copy whose generated/ is empty, so that nothing is found current.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Case, report
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve

ROOT = Path(__file__).parents[1]
COMMANDS = (("gen quadratic_network", 15.0), ("gen", 60.0), ("check", 60.0), ("list", 2.0))
POINTS = (
    ("quadratic_network", "closed", 10, 0.01),
    ("first_row_attention", "one visible number", 5, 0.05),
)


def timed_commands() -> Iterator[str]:
    """One line for each command, start to exit; every model but the first is derived by the
    second.
    """
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        shutil.copytree(
            ROOT / "derive", tree / "derive", ignore=shutil.ignore_patterns("__pycache__")
        )
        (tree / "generated").mkdir()
        (tree / "attention_erm").symlink_to(ROOT / "attention_erm")
        for arguments, target in COMMANDS:
            started = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "derive", *arguments.split()],
                cwd=tree,
                check=True,
                capture_output=True,
            )
            took = time.perf_counter() - started
            yield f"{f'derive {arguments}':58} {took:9.4f} {target:7.3f} {took / target:6.3f}"


def point(model: str) -> object:
    """A solved point of a learning curve."""
    return solve(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5, model=model)).unwrap()


def main() -> None:
    report(
        Case(
            f"curve, one point, {model} ({kind})", lambda model=model: point(model), repeats, target
        )
        for model, kind, repeats, target in POINTS
    )
    for line in timed_commands():
        print(line, flush=True)


if __name__ == "__main__":
    main()
