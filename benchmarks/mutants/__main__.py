"""Mutation testing: `python -m benchmarks.mutants measure`, then `survey`, which goes on where it stopped, then `table`.

`again` tries those that were not noticed on the tree of today, by the tests written or changed since.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

for library in ("OMP", "OPENBLAS", "NUMBA"):  # before anything loads them: a fork of a process with threads could hang
    os.environ[f"{library}_NUM_THREADS"] = "1"

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Carry out one step; results are kept under build/mutants."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("step", choices=("measure", "control", "survey", "again", "table"))
    parser.add_argument("--minutes", type=float, default=60.0, help="of a survey (default 60)")
    parser.add_argument("--package", default="", help="or folder that a survey is of (default all)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants", help="where results are kept")
    parser.add_argument("pytest", nargs="*", help="more arguments of pytest to measure with, after --")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    trees = [folder / f"tree{k}" for k in range(len(os.sched_getaffinity(0)))]
    from benchmarks.mutants import relevance, survey

    if arguments.step == "measure":
        relevance.measure(survey.copy_tree(ROOT, trees[0]), folder, arguments.pytest)
        for tree in trees[1:]:
            shutil.rmtree(tree, ignore_errors=True)
            shutil.copytree(trees[0], tree)  # with what was compiled
    elif arguments.step == "control":
        _preload()
        sys.stdout.write(f"{Counter(survey.control(folder, trees[0], 40))}\n")
    elif arguments.step == "survey":
        _preload()
        survey.survey(folder, trees, 60 * arguments.minutes, arguments.package)
    elif arguments.step == "again":
        from benchmarks.mutants.again import try_again

        _preload()
        try_again(ROOT, folder, trees[0])
    else:
        from benchmarks.mutants.lines import lines_table
        from benchmarks.mutants.table import listing, table

        trials = list(survey.kept(folder).values())
        totals = {room: len(found) for room, found in survey.candidates(trees[0]).items()}
        sys.stdout.write(f"{listing(trials)}\n{table(trials, totals)}\n\n{lines_table(trees[0], folder)}\n")
    return 0


def _preload() -> None:
    """Import what takes long once, in the process that each trial is a fork of."""
    import matplotlib.pyplot  # noqa: F401
    import mpmath  # noqa: F401
    import numba  # noqa: F401
    import pandas  # noqa: F401
    import scipy.integrate
    import scipy.optimize
    import scipy.stats  # noqa: F401
    import sympy  # noqa: F401
    import torch  # noqa: F401
    import xarray  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
