"""Tokens with a covariance: local slopes of the theory, and the time of a solution over that of
isotropic tokens.

Run: python -m benchmarks.covariance

Slopes are those of the risk at n = d^2.5, lambda = d^0.6 and noise 1 in quadratic networks, in the
regime that the weight decay limits. Times are those of one point of a list of 1000 directions, with
and without the covariance, in one run.
"""

import math
import sys
import time
from fractions import Fraction

from attention_erm import Problem, power_law, solve
from numeric import PowerLawCovariance
from numeric.studies.regimes import covariance_regimes

EXPONENTS = (
    (Fraction(3, 4), Fraction(1, 2)),
    (Fraction(1), Fraction(1, 4)),
    (Fraction(1, 2), Fraction(3, 4)),
)
DIMS = (10**4, 10**7)
SAMPLES, DECAY, STEP = 2.5, 0.6, 0.05
BLOCKS = 128  # per octave of directions


def slope(gamma: Fraction, a: Fraction, dim: int) -> float:
    """Return the local slope of the risk in the number of samples.

    Args:
        gamma: exponent of the target.
        a: exponent of the covariance.
        dim: number of directions.
    """
    target = PowerLawCovariance(float(gamma), float(a), dim, per_octave=BLOCKS)
    risks = []
    for side in (-1, 1):
        samples = dim**SAMPLES * math.exp(side * STEP)
        problem = Problem(samples / dim**2, target, dim**DECAY, 1.0, model="quadratic_network")
        risks.append(solve(problem).unwrap().denoising_error)
    return math.log(risks[1] / risks[0]) / (2 * STEP)


def seconds(problem: Problem) -> float:
    """Return the least time of three solutions."""
    found = []
    for _ in range(3):
        started = time.perf_counter()
        solve(problem).unwrap()
        found.append(time.perf_counter() - started)
    return min(found)


def main() -> int:
    """Print slopes and times; the exit code is 1 if a slope is more than 3 % from its exponent."""
    off = False
    for gamma, a in EXPONENTS:
        cells = covariance_regimes(gamma, a)
        exponent = max(cells, key=lambda cell: cell.margin(SAMPLES, DECAY, 1.0)).risk[0]
        slopes = [slope(gamma, a, dim) for dim in DIMS]
        shown = " | ".join(f"{value:.4f}" for value in slopes)
        print(f"| {gamma} | {a} | {exponent} = {float(exponent):.4f} | {shown} |")
        off |= abs(slopes[-1] / float(exponent) - 1) > 0.03
    for model in ("quadratic_network", "tied_attention"):
        times = [
            seconds(Problem(1.0, target, 0.05, 0.5, model=model))
            for target in (power_law(1.25, 1000), PowerLawCovariance(0.75, 0.5, 1000))
        ]
        print(f"{model}, 1000 directions: {times[1] / times[0]:.2f} times the isotropic time")
    return int(off)


if __name__ == "__main__":
    sys.exit(main())
