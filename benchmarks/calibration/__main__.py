"""Run: python -m benchmarks.calibration --count 400
    # prints tables; exit 1 below 95 %, or where `converged` is not true

python -m benchmarks.calibration --count 200 --model tied_attention --tokens 2
    # one kind of problem alone
python -m benchmarks.calibration --count 400 --train
    # instead trains, where a status warns
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from tqdm import tqdm

from benchmarks.calibration.coverage import Check, check
from benchmarks.calibration.points import Kind, kinds, problems
from benchmarks.calibration.training import WARNED, TrainedScores, trained_scores
from numeric.engines.processes import use_one_thread
from numeric.maths.replicates import CONFIDENCE
from numeric.problem.solution import QUANTITIES
from verify.core.scores import BAND


def main() -> int:
    """Print what was asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--model", help="this model's problems alone")
    parser.add_argument("--tokens", type=int, help="those of so many tokens alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--train",
        action="store_true",
        help="instead train where points are unstable, rough or inaccurate",
    )
    arguments = parser.parse_args()
    of = [
        kind
        for kind in kinds()
        if arguments.model in (None, kind.model) and arguments.tokens in (None, kind.tokens)
    ]
    with ProcessPoolExecutor(arguments.workers, initializer=use_one_thread) as pool:
        asked = list(problems(arguments.count, arguments.seed, of))
        if arguments.train:
            report_trained(pool.map(trained_scores, asked))
            return 0
        checks = list(tqdm(pool.map(check, asked), total=len(asked), mininterval=10))
        share = report(checks, of)
    return 0 if share >= CONFIDENCE and not any(found.is_wrong for found in checks) else 1


def report(checks: Sequence[Check], of: Sequence[Kind]) -> float:
    """Print statuses and shares covered, by kind and by quantity, and the worst cases; return the
    overall share.
    """
    print(
        "| problems | number | with a reference | covered | statuses |\n| --- | --- | --- | --- | "
        "--- |"
    )
    for number, kind in enumerate(of):
        _row(str(kind), checks[number :: len(of)])
    _row("all", checks)
    compared = [found for found in checks if found.ratios]
    print(
        "\n| quantity | covered | median distance over error bar | worst |\n| --- | --- | --- | "
        "--- |"
    )
    for name in QUANTITIES:
        ratios = np.array([found.ratios[name] for found in compared if name in found.ratios])
        print(
            f"| {name} | {np.mean(ratios <= 1):.3f} | {np.median(ratios):.3f} | {ratios.max():.2f} "
            "|"
        )
    for found in sorted(compared, key=lambda found: -max(found.ratios.values()))[:8]:
        name, worst = max(found.ratios.items(), key=lambda one: one[1])
        print(
            f"worst: {name} {worst:.2f}, {found.solution.status.name.lower()}: "
            f"{found.solution.problem}"
        )
    for found in checks:
        if found.is_wrong:
            print(
                f"FALSE: off by {found.misses:.1e}, lower {found.lower}: {found.solution.problem}"
            )
    return _covered(checks)


def _covered(checks: Sequence[Check]) -> float:
    return float(np.mean([ratio <= 1 for found in checks for ratio in found.ratios.values()]))


def _row(title: str, checks: Sequence[Check]) -> None:
    statuses = Counter(found.solution.status.name.lower() for found in checks)
    counted = ", ".join(f"{count} {name}" for name, count in statuses.most_common())
    referred = sum(bool(found.ratios) for found in checks)
    print(
        f"| {title} | {len(checks)} | {referred} | {_covered(checks) if referred else np.nan:.3f} "
        f"| {counted} |"
    )


def report_trained(found: Iterable[TrainedScores | None]) -> None:
    """Print the scores of each point as it is trained, then for each status at how many training is
    within the band.
    """
    within = {status: Counter[bool]() for status in WARNED}
    for one in filter(None, found):
        status, worst = one.solution.status, max(map(abs, one.scores.values()))
        within[status][worst < BAND] += 1
        said = ", ".join(f"{name} {z:+.1f}" for name, z in one.scores.items())
        print(f"{status.name.lower()}: {said}; {one.solution.problem}", flush=True)
    for status, counted in within.items():
        print(
            f"{status.name.lower()}: {counted[True]} of {counted.total()} within {BAND:g} standard "
            "errors"
        )


if __name__ == "__main__":
    sys.exit(main())
