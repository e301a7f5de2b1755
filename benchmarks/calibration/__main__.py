"""Run: python -m benchmarks.calibration --count 400            (prints tables; exit 1 below 95 %, or where `converged` is not true)

python -m benchmarks.calibration --count 200 --model tied_attention --tokens 2         (one kind of problem alone)
python -m benchmarks.calibration --count 400 --train                                  (trains where a status warns)
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from tqdm import tqdm

from benchmarks.calibration.coverage import Check, check
from benchmarks.calibration.points import Kind, kinds, problems
from benchmarks.calibration.training import scores
from numeric.engines.processes import use_one_thread
from numeric.maths.replicates import CONFIDENCE
from numeric.problem.solution import QUANTITIES, Solution, Status
from verify.judging.scores import BAND

WARNED = (Status.UNSTABLE, Status.INACCURATE, Status.ROUGH)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--model", help="this model's problems alone")
    parser.add_argument("--tokens", type=int, help="those of so many tokens alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--train", action="store_true", help="train at points that are unstable, rough or inaccurate")
    arguments = parser.parse_args()
    of = [kind for kind in kinds() if arguments.model in (None, kind.model) and arguments.tokens in (None, kind.tokens)]
    with ProcessPoolExecutor(arguments.workers, initializer=use_one_thread) as pool:
        asked = list(problems(arguments.count, arguments.seed, of))
        checks = list(tqdm(pool.map(check, asked), total=len(asked), mininterval=10))
        share = report(checks, of)
        if arguments.train:
            warned = [found.solution for found in checks if found.solution.status in WARNED]
            trained(warned, list(pool.map(scores, warned)))
    return 0 if share >= CONFIDENCE and not any(found.false for found in checks) else 1


def report(checks: Sequence[Check], of: Sequence[Kind]) -> float:
    """Print statuses and shares covered, by kind and by quantity, and the worst cases; return the overall share."""
    print("| problems | number | with a reference | covered | statuses |\n| --- | --- | --- | --- | --- |")
    for number, kind in enumerate(of):
        _row(str(kind), checks[number :: len(of)])
    _row("all", checks)
    compared = [found for found in checks if found.ratios]
    print("\n| quantity | covered | median distance over error bar | worst |\n| --- | --- | --- | --- |")
    for name in QUANTITIES:
        ratios = np.array([found.ratios[name] for found in compared if name in found.ratios])
        print(f"| {name} | {np.mean(ratios <= 1):.3f} | {np.median(ratios):.3f} | {ratios.max():.2f} |")
    for found in sorted(compared, key=lambda found: -max(found.ratios.values()))[:8]:
        name, worst = max(found.ratios.items(), key=lambda one: one[1])
        print(f"worst: {name} {worst:.2f}, {found.solution.status.name.lower()}: {found.solution.problem}")
    for found in checks:
        if found.false:
            print(f"FALSE: off by {found.misses:.1e}, lower {found.lower}: {found.solution.problem}")
    return _covered(checks)


def _covered(checks: Sequence[Check]) -> float:
    return float(np.mean([ratio <= 1 for found in checks for ratio in found.ratios.values()]))


def _row(title: str, checks: Sequence[Check]) -> None:
    statuses = Counter(found.solution.status.name.lower() for found in checks)
    counted = ", ".join(f"{count} {name}" for name, count in statuses.most_common())
    referred = sum(bool(found.ratios) for found in checks)
    print(f"| {title} | {len(checks)} | {referred} | {_covered(checks) if referred else np.nan:.3f} | {counted} |")


def trained(solutions: Sequence[Solution], found: Sequence[dict[str, float]]) -> None:
    """Print for each status how many points have training within the band, and each point's scores."""
    for solution, z in zip(solutions, found, strict=True):
        said = ", ".join(f"{name} {value:+.1f}" for name, value in z.items())
        print(f"{solution.status.name.lower()}: {said}; {solution.problem}")
    for status in WARNED:
        own = [
            max(map(abs, z.values())) for solution, z in zip(solutions, found, strict=True) if solution.status is status
        ]
        if own:
            print(
                f"{status.name.lower()}: {sum(worst < BAND for worst in own)} of {len(own)} within {BAND:g} standard errors"
            )


if __name__ == "__main__":
    sys.exit(main())
