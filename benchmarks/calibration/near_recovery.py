"""Error bars near the recovery threshold, where the saddle point is ill-conditioned.

Run: python -m benchmarks.calibration.near_recovery --count 100

Random points of the models with a closed channel, at little noise and weak decay, are solved from
S = 0 and led down from stronger decay, and compared with 30 proven digits. Half of the targets are
free Poisson laws, whose float64 solutions are proven; half are lists of eigenvalues, whose error
bars are estimates. The exit code is 1 if a value is farther from its digits than its error bar.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from attention_erm import Eigenvalues, MarchenkoPastur, Problem, recovery, solve
from attention_erm.runtime.errors import NoAnswer
from numeric.exact.exact_problem import ExactProblem
from numeric.problem.solution import QUANTITIES, Solution
from numeric.proven_saddle.proven_point import proven_point

DIGITS = 30
MODELS = ("quadratic_network", "linear_attention")
NOISE, DECAY = (1e-10, 1e-4), (1e-8, 1e-3)  # drawn uniformly in the logarithm
DISTANCE = (1e-3, 0.3)  # of alpha from the threshold, relative, likewise
RANK = (0.1, 0.6)  # rank ratio kappa0, drawn uniformly
STAGES = 8  # weight decays through which a solve is led down, from 1e-2
EIGENVALUES = 12  # of a target with a list of eigenvalues
ROUNDING = 1e-15  # relative: an exact quantity has no error bar


def points(count: int, seed: int) -> Iterator[Problem]:
    """Iterate over random problems near recovery.

    Args:
        count: number of problems.
        seed: seed of the draws.
    """
    rng = np.random.default_rng(seed)
    for index in range(count):
        rank, model = float(rng.uniform(*RANK)), MODELS[index % len(MODELS)]
        target = power_list(rank) if index % 4 > 1 else MarchenkoPastur(rank)
        threshold = float(recovery(target, model=model, digits=8).value)
        noise, decay, distance = (
            float(np.exp(rng.uniform(*np.log(ends)))) for ends in (NOISE, DECAY, DISTANCE)
        )
        alpha = threshold * (1 + distance * rng.choice([-1, 1]))
        yield Problem(alpha, target, decay, noise, model=model)


def power_list(rank: float) -> Eigenvalues:
    """Return a target of `EIGENVALUES` eigenvalues, of which some are zero.

    Args:
        rank: fraction of eigenvalues that are not zero.
    """
    kept = max(1, round(rank * EIGENVALUES))
    values = [*np.arange(1.0, kept + 1) ** -0.75, *[0.0] * (EIGENVALUES - kept)]
    return Eigenvalues(tuple(values), (1 / EIGENVALUES,) * EIGENVALUES)


def led(problem: Problem) -> Solution:
    """Solve at weaker and weaker decay, each point from the one before.

    Args:
        problem: the last point.
    """
    start: Solution | None = None
    for decay in np.geomspace(1e-2, problem.lambda_, STAGES):
        there = replace(problem, lambda_=float(decay))
        found = solve(problem if decay == problem.lambda_ else there, start)
        start = found if found.trusted and found.mh > 0 else None
    return solve(problem, start)


def reference(problem: Problem) -> dict[str, float]:
    """Return the proven values of all quantities.

    Args:
        problem: problem with a closed channel.

    Raises:
        NoAnswer: the digits could not be proven.
    """
    values = proven_point(ExactProblem.of(problem), DIGITS).values
    return {name: float(values[name]) for name in QUANTITIES if values[name] is not None}


def ratios(solution: Solution, exact: dict[str, float]) -> dict[str, float]:
    """Return the distance of each quantity from its digits, in error bars.

    Args:
        solution: the solution.
        exact: proven values by name.
    """
    return {
        name: abs(getattr(solution, name) - value) / (solution.errors[name] + ROUNDING * abs(value))
        for name, value in exact.items()
    }


def main() -> int:
    """Print one row per point and the share that is covered; return the exit code."""
    parser = argparse.ArgumentParser(description="error bars near the recovery threshold")
    parser.add_argument("--count", type=int, default=100, help="number of points")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws")
    arguments = parser.parse_args()
    found: list[float] = []
    for problem in points(arguments.count, arguments.seed):
        try:
            exact = reference(problem)
        except NoAnswer as error:
            print(f"no digits: {error}; {problem.summary}, lambda {problem.lambda_!r}")
            continue
        for name, solution in (("cold", solve(problem)), ("led", led(problem))):
            if not solution.trusted:
                print(f"{name}: {solution.status.name}: {problem}")
                continue
            far = ratios(solution, exact)
            worst = max(far, key=lambda name: far[name])
            found.append(far[worst])
            test = solution.errors["test_error"] / exact["test_error"]
            print(
                f"{name:4} {far[worst]:8.2g} bars ({worst}), bar of the test error {test:.1e}, "
                f"{solution.status.name.lower()}, residual {solution.residual:.0e}: {problem}"
            )
    covered = np.mean(np.array(found) <= 1)
    print(f"{len(found)} solutions, {covered:.1%} with every quantity within its error bar")
    return int(covered < 1)


if __name__ == "__main__":
    sys.exit(main())
