"""The main job from an empty folder: seconds that it takes, processor time of each stage, and how many cores were at work on average.

Run: python -m benchmarks.jobs.main_job --preset quick        (a minute; the default, main, takes several)

Kernels compiled before are not compiled again: delete numeric's caches (*.nbi, *.nbc) to have that in the time, too.
"""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

from verify.core.options import result_store
from verify.core.paper import figure_one
from verify.main_job.study import JOB_PRESETS, do_main_job, preset
from verify.studies.exponents.measure import student_store


def lines(name: str, workers: int | None) -> list[str]:
    """A line per stage, and one for all."""
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        outcome = do_main_job(
            preset(name, figure_one()), result_store(Path(folder)), student_store(Path(folder)), lambda _: None, workers
        )
    seconds = {**outcome.seconds, "between the jobs": time.process_time() - begun}
    total = math.fsum(seconds.values())
    return [
        *(f"{stage:32} {took:8.1f} s of processor time" for stage, took in seconds.items()),
        f"{'elapsed':32} {outcome.elapsed:8.1f} s: {total / outcome.elapsed:.2f} cores at work; "
        f"{'agrees' if outcome.agrees else 'disagrees'}",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--preset", choices=tuple(JOB_PRESETS), default="main")
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    sys.stdout.write("\n".join(lines(arguments.preset, arguments.workers)) + "\n")
