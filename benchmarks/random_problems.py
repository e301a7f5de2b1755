"""Does every corner of the parameter box give a solution or a status? Random points, each solved
cold and again from elsewhere.

Run: python -m benchmarks.random_problems --count 2000
    # prints a table; exit 1 if a point is wrong, not a number, or slow
     python -m benchmarks.random_problems --count 1000 --model any
    # the same of a model drawn at each point, in a box of its own

A converged point is wrong if a second solve, from conjugates moved by a factor of about e, ends at
a lower free entropy by more than the error bars of both. Time is processor time over the cores in
use, so that other work on the machine does not count.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.calibration.points import POSITIVE, Kind, problem_of
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.kernels import cores
from numeric.model import available, structure
from numeric.problem.problem import Problem
from numeric.problem.solution import QUANTITIES, Solution, Status
from numeric.saddle.solve import solve

BOX = {
    "alpha": (1e-4, 1e6),
    "lambda_": (1e-6, 1e4),
    "noise": (1e-4, 100.0),
    "kappa0": (0.01, 10.0),
    "width": (0.01, 10.0),
}
BOX |= {"beta": (0.01, 50.0), "beta0": (0.01, 50.0)}  #: drawn uniformly in the logarithm
MODEL_BOX = {
    "alpha": (0.02, 20.0),
    "lambda_": (1e-3, 3.0),
    "noise": (0.01, 5.0),
    "kappa0": (0.05, 2.0),
    "width": (0.2, 5.0),
}
MODEL_BOX |= {
    "beta": (0.3, 3.0),
    "beta0": (0.3, 3.0),
    "mu": (1e-3, 1.0),
    "label_noise": (1e-3, 1.0),
}
ZERO = {"lambda_": 0.1, "noise": 0.15}  #: share of points at which these vanish
SECONDS = 10.0  # of one solve
DEFINED = {
    name for name in QUANTITIES if name != "V"
}  #: V is infinite in the limit of no weight decay


def points(count: int, seed: int) -> Iterator[Problem]:
    """Random problems, each from its own stream."""
    for stream in np.random.SeedSequence(seed).spawn(count):
        rng = np.random.default_rng(stream)
        drawn = {name: float(np.exp(rng.uniform(*np.log(ends)))) for name, ends in BOX.items()}
        drawn |= {name: 0.0 for name, share in ZERO.items() if rng.random() < share}
        yield Problem(target=MarchenkoPastur(drawn.pop("kappa0")), **drawn)


def model_points(count: int, seed: int, names: tuple[str, ...]) -> Iterator[Problem]:
    """The same of a model drawn at each point."""
    for stream in np.random.SeedSequence(seed).spawn(count):
        rng = np.random.default_rng(stream)
        name = str(rng.choice(names))
        drawn = {key: float(np.exp(rng.uniform(*np.log(ends)))) for key, ends in MODEL_BOX.items()}
        yield problem_of(Kind(name), drawn | {"positive": float(rng.uniform(*POSITIVE))})


def timed(problem: Problem) -> tuple[Solution, float]:
    """A cold solve and the seconds it took on all cores."""
    before = os.times()
    solution = solve(problem)
    after = os.times()
    return solution, (after.user - before.user + after.system - before.system) / cores()


def has_undefined_value(solution: Solution) -> bool:
    """Whether a trusted solution has a value that is not a number."""
    return solution.trusted and any(np.isnan(getattr(solution, name)) for name in DEFINED)


def has_lower_minimum(solution: Solution, rng: np.random.Generator) -> bool:
    """Whether another start leads to a lower free entropy."""
    if solution.status not in (Status.CONVERGED, Status.UNSTABLE) or not solution.mh > 0:
        return False
    moved = {
        name: getattr(solution, name) * float(np.exp(rng.normal())) for name in ("mh", "qh", "Vh")
    }
    other = solve(solution.problem, replace(solution, **moved))
    if not other.trusted:
        return False
    allowed = solution.errors["free_entropy"] + other.errors["free_entropy"]
    return solution.free_entropy - other.free_entropy > allowed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the point to go on from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--model",
        help="'any', or names separated by commas; default tied attention in the widest box",
    )
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    statuses, faults, times = Counter[str](), Counter[str](), list[float]()
    for sharp in (
        False,
        True,
    ):  # compiles what averages over labels with one minimum, and with several
        solve(
            Problem(
                1.0,
                MarchenkoPastur(0.5),
                0.1,
                0.5,
                beta=10.0 if sharp else 1.0,
                beta0=20.0 if sharp else 1.0,
            )
        )
    drawn = points(arguments.count, arguments.seed)
    if arguments.model:
        known = tuple(name for name in available() if "kappa0" in structure(name).target_settings)
        names = known if arguments.model == "any" else tuple(arguments.model.split(","))
        drawn = model_points(arguments.count, arguments.seed, names)
    for number, problem in enumerate(drawn):
        if number < arguments.first:
            continue
        solution, seconds = timed(problem)
        statuses[solution.status.name.lower()] += 1
        times.append(seconds)
        found = {
            "too slow": seconds > SECONDS,
            "not a number": has_undefined_value(solution),
            "wrong": has_lower_minimum(solution, rng),
        }
        faults.update(name for name, holds in found.items() if holds)
        if any(found.values()) or not solution.trusted:
            names = ", ".join(name for name, holds in found.items() if holds)
            print(
                f"{number}: {solution.status.name.lower()}, {seconds:.1f} s {names}; {problem}",
                flush=True,
            )
    print(
        f"points {arguments.first} to {arguments.count - 1}: {dict(statuses)}; "
        f"{dict(faults) or 'no faults'}"
    )
    print(
        f"seconds on all cores: median {np.median(times):.2f}, 99 % "
        f"{np.quantile(times, 0.99):.1f}, most {max(times):.1f}"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
