"""The main job from an empty folder: seconds that it takes, processor time of each stage, and how
many cores were at work on average.

Run: python -m benchmarks.jobs.main_job --preset quick
    # a minute; the default, main, takes several

Kernels compiled before are not compiled again: delete numeric's caches (*.nbi, *.nbc) to have that
in the time, too.
"""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

from verify.core.paper import figure_one
from verify.core.pool import Pool
from verify.main_job.plan import JOB_PRESETS, preset
from verify.main_job.run import sections


def lines(name: str, workers: int | None) -> list[str]:
    """Return a line per section, per stage, and one for all."""
    begun, started = time.process_time(), time.perf_counter()
    found = []
    with tempfile.TemporaryDirectory() as text, Pool(workers) as pool:
        folder = Path(text)
        for section in sections(preset(name, figure_one()), folder, pool):
            verdict = "agrees" if section.agrees else "disagrees"
            found.append(
                f"{section.title:64} {time.perf_counter() - started:8.1f} s after the start, "
                f"{verdict}"
            )
    seconds = {**pool.seconds, "between the jobs": time.process_time() - begun}
    total, elapsed = math.fsum(seconds.values()), time.perf_counter() - started
    return [
        *found,
        *(f"{stage:64} {took:8.1f} s of processor time" for stage, took in seconds.items()),
        f"{'elapsed':64} {elapsed:8.1f} s: {total / elapsed:.2f} cores at work",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--preset", choices=tuple(JOB_PRESETS), default="main")
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    sys.stdout.write("\n".join(lines(arguments.preset, arguments.workers)) + "\n")
