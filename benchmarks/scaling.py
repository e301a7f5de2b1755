"""Timings of power laws: one solved point against the dimension, and the symbolic phase diagram.

Run: python -m benchmarks.scaling        (prints tables; about three minutes)
"""

import time

from benchmarks.timing import Case, report
from derive.models import load
from derive.scaling.phase_diagram import phase_diagram
from derive.scaling.power_law import system
from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.studies.scaling import scaling_curve

GAMMA, NOISE = 0.75, 0.5
TARGETS = {200: 1.0, 10**4: 10.0, 10**6: 60.0}  #: seconds of a cold point, by dimension


def point(dim: int, regime: str) -> None:
    """A cold point in the middle of a regime: noise-limited at weak decay, open bulk, or limited by
    strong decay.
    """
    samples, decay = {
        "noise": (dim**1.25, 1 / dim),
        "bulk": (dim**2.25, 1 / dim),
        "decay": (dim**2.0, 1.0),
    }[regime]
    (found,) = scaling_curve(Problem(1.0, power_law(GAMMA, dim), decay, NOISE), [samples])
    found.solution.unwrap()


def symbolic() -> None:
    phase_diagram.cache_clear()
    system.cache_clear()
    phase_diagram(system(load("tied_attention")))


CASES = (
    *(
        Case(
            f"one point, d = {dim:.0e}, {regime}",
            lambda dim=dim, regime=regime: point(dim, regime),
            1,
            target,
        )  # type: ignore[misc]
        for dim, target in TARGETS.items()
        for regime in ("noise", "bulk", "decay")
    ),
    Case("symbolic phase diagram", symbolic, 1, 60.0),
)


if __name__ == "__main__":
    started = time.perf_counter()
    point(50, "bulk")  # compiles
    report(CASES)
    print(f"{time.perf_counter() - started:.0f} s in all")
