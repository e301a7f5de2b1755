"""A sweep whose tasks wait, for tests that kill who takes part in it: `python -m made_up_sweep
FOLDER [SCHEDULER]` carries it out.
"""

import sys
import time
from pathlib import Path

import numpy as np

from numeric.engines.dask_workers import running_workers
from numeric.engines.processes import Processes
from numeric.engines.task import Task
from numeric.sweeps.attributes import status_attributes
from numeric.sweeps.plan import Block, Coordinate, SweepPlan, Variable
from numeric.sweeps.sweep import run_plan

LINES, POINTS, SECONDS = 24, 3, 0.1


def waited(line: int) -> dict[str, np.ndarray]:
    """Numbers that only the line says, after a while."""
    time.sleep(SECONDS)
    values = np.random.default_rng(line).standard_normal((1, POINTS))
    return {"value": values, "status": np.ones((1, POINTS), np.int8)}


def plan(code: str = "this") -> SweepPlan:
    """Lines of a few points."""
    over, chunks = ("line", "place"), (1, POINTS)
    status = status_attributes("how it ended", [("done", "done")])
    return SweepPlan(
        {
            "line": Coordinate("line", np.arange(LINES)),
            "place": Coordinate("place", np.arange(float(POINTS))),
        },
        {"value": Variable(over, chunks, {"units": "1"}), "status": Variable(over, chunks, status)},
        [
            Block(
                Task(waited, (line,), SECONDS, key=f"made-up-{line}"),
                {"line": slice(line, line + 1), "place": slice(0, POINTS)},
                "status",
                POINTS,
            )
            for line in range(LINES)
        ],
        {"title": "made up"},
        code,
    )


if __name__ == "__main__":
    engine = running_workers(sys.argv[2]) if len(sys.argv) > 2 else Processes(2)
    run_plan(plan(), Path(sys.argv[1]), engine, progress=False)
