"""Are the error bars honest? Random problems solved at the default accuracy, and again by a channel rule of ten times the work.

Run: python -m benchmarks.calibration --tokens 2 --count 200        (prints a table; exit 1 below 95 %)

A quantity is covered if its reference lies within the error bar; the reference has an error of its own, which is not added.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from numeric.channel.rules import ChannelRule, coarse_rules
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.fixed_point import Newton, iterate
from numeric.maths.replicates import CONFIDENCE
from numeric.problem.problem import Problem
from numeric.problem.solution import QUANTITIES, Solution, Status
from numeric.saddle.equations import SaddleMap
from numeric.saddle.refine import Refinement
from numeric.saddle.solve import solve

DOMAIN = {"alpha": (0.05, 5.0), "lambda_": (1e-3, 1.0), "kappa0": (0.05, 2.0), "width": (0.1, 2.0)}
DOMAIN |= {"beta": (0.3, 3.0), "beta0": (0.3, 3.0)}  #: drawn uniformly in the logarithm
NOISE = (0.0, 2.0)  #: drawn uniformly
FURTHER = {
    False: 1,
    True: 2,
}  #: refinements beyond the solver's last one; of a usual solve, which stops earlier, two or three
ROUNDING = 1e-12  # relative: an exact quantity has no error bar


class Check(NamedTuple):
    """One problem: the status of the solve, and per quantity the distance from the reference over the error bar."""

    problem: Problem
    status: Status
    ratios: dict[str, float]


def problems(count: int, tokens: int, seed: int) -> Iterator[Problem]:
    """Random problems, each from its own stream."""
    for stream in np.random.SeedSequence(seed).spawn(count):
        rng = np.random.default_rng(stream)
        drawn = {name: float(np.exp(rng.uniform(*np.log(ends)))) for name, ends in DOMAIN.items()}
        target = MarchenkoPastur(drawn.pop("kappa0"))
        yield Problem(target=target, noise=float(rng.uniform(*NOISE)), tokens=tokens, **drawn)


def finest_rule(problem: Problem) -> ChannelRule:
    """The rule of the reference."""
    rule = coarse_rules(problem)[0]
    for _ in range(rule.refinements + rule.spare + FURTHER[rule.independent]):
        rule = rule.refined()
    return rule


def reference(solution: Solution) -> dict[str, float] | None:
    """Quantities at the root of the finest rule nearest to a solution; None if none is found."""
    saddle = SaddleMap(solution.problem, finest_rule(solution.problem))
    if solution.status is Status.UNLEARNED:
        averages = saddle.rule.unlearned(solution.problem).mean()
        at = saddle.denoised(saddle.conjugates(averages).pack()[0])
    else:
        found = iterate(
            saddle,
            solution.conjugates.pack(),
            Newton(10 * saddle.rule.roughness),
            tolerance=Refinement().tolerance,
            max_steps=6,
        )
        if not found.converged:
            return None
        at = saddle.denoised(found.point)
        averages = saddle.averages(at).mean()
    return dict(zip(QUANTITIES, map(float, saddle.quantities(at, averages)[0]), strict=True))


def check(problem: Problem) -> Check:
    """Solve twice and compare."""
    solution = solve(problem)
    exact = reference(solution) if solution.trusted else None
    if exact is None:
        return Check(problem, solution.status, {})
    ratios = {}
    for name, error in solution.errors.items():
        distance = abs(getattr(solution, name) - exact[name])
        ratios[name] = distance / (error + ROUNDING * abs(exact[name])) if distance else 0.0
    return Check(problem, solution.status, ratios)


def report(checks: list[Check]) -> float:
    """Print shares covered and the worst cases; return the overall share."""
    statuses = [found.status.name.lower() for found in checks]
    counted = ", ".join(f"{statuses.count(name)} {name}" for name in sorted(set(statuses)))
    compared = [found for found in checks if found.ratios]
    print(f"{len(checks)} problems: {counted}; {len(compared)} with a reference")
    print(f"{'quantity':>18} {'covered':>8} {'median':>8} {'worst':>8}   (distance over error bar)")
    for name in QUANTITIES:
        ratios = np.array([found.ratios[name] for found in compared])
        print(f"{name:>18} {np.mean(ratios <= 1):8.3f} {np.median(ratios):8.3f} {ratios.max():8.2f}")
    for found in sorted(compared, key=lambda found: -max(found.ratios.values()))[:5]:
        print(f"worst {max(found.ratios.values()):.2f}, {found.status.name.lower()}: {found.problem}")
    share = float(np.mean([ratio <= 1 for found in compared for ratio in found.ratios.values()]))
    print(f"{'all':>18} {share:8.3f}")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tokens", type=int, default=2)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    asked = list(problems(arguments.count, arguments.tokens, arguments.seed))
    with ProcessPoolExecutor(arguments.workers) as pool:
        checks = list(pool.map(check, asked))
    return 0 if report(checks) >= CONFIDENCE else 1


if __name__ == "__main__":
    sys.exit(main())
