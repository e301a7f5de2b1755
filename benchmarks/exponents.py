"""Local slopes of the full theory at the centre of every scaling regime, beside the derived
exponents, at dimensions that grow until slope and exponent agree to CLOSE.

Run: python -m benchmarks.exponents --gamma 3/4        (prints a table; minutes)

Samples and weight decay are d^x and d^y, (x, y) the centre of the largest circle in the regime
within the plane that `python -m numeric phase-diagram` draws. Slopes are differences over STEP of
log(n), with the target's tail in few blocks.
"""

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from numeric.laws.power_law import power_law
from numeric.problem.problem import Problem
from numeric.studies.phase_diagram import phase_diagram
from numeric.studies.regimes import Regime
from numeric.studies.scaling import ScalingPoint, scaling_curve, slope_between
from verify.studies.exponents.theory import CLOSE

STEP = 0.1
NOISE = 0.5
PER_OCTAVE = (
    16  #: blocks of the target's tail: four times as many change the slopes by less than 1e-4
)
AGREEMENT = (
    "within",
    "accounted for",
)  #: with the exponent, or with what its corrections make of it
#: The regime whose risk is a sum over features, few where gamma is large.
FEW_FEATURES = "spikes_and_slit.noise"


def crossover(regime: Regime, risk: float) -> float:
    """The exponent with the slowest correction: the risk itself adds to the noise R + Delta/2 of
    the denoising problem.

    Where R ~ (R + Delta/2)^p n^a the slope solves s = a + p s R/(R + Delta/2).
    """
    a, share = float(regime.risk[0]), risk / (risk + NOISE / 2)
    if regime.limit == "noise":  # noise and samples enter as a ratio
        return a / (1 + a * share)
    if regime.limit == "overfitting":  # the risk is a part of the noise
        return a / (1 - share)
    return a


def completed(point: ScalingPoint, dim: float) -> ScalingPoint:
    """With the risk as an integral over features, which the sum over k = 1, 2, ... falls short of
    by half a feature.

    (Euler and Maclaurin: each learned feature adds (b^2 + delta^2)/d.)
    """
    solution = point.solution
    half = (solution.b**2 + solution.delta**2) / (2 * dim)
    return replace(point, risk=point.risk + half)


class Slope(NamedTuple):
    """Local slope with its error, what is left of its distance from the exponent beyond its
    corrections, and how the solves ended.
    """

    value: float
    error: float
    beyond: float
    status: str


def slope(regime: Regime, gamma: Fraction, dim: float, x: float, y: float) -> Slope:
    """At n = d^x and weight decay d^y."""
    asked = Problem(1.0, power_law(float(gamma), int(dim), per_octave=PER_OCTAVE), dim**y, NOISE)
    ends = scaling_curve(asked, [dim**x, dim**x * math.exp(STEP)])
    status = "/".join(sorted({point.solution.status.name.lower() for point in ends}))
    smooth = [completed(point, dim) for point in ends] if regime.id == FEW_FEATURES else ends
    risk = math.sqrt(ends[0].risk * ends[1].risk)
    return Slope(*slope_between(*ends), slope_between(*smooth)[0] - crossover(regime, risk), status)


def lines(gamma: Fraction, dims: list[float]) -> Iterator[str]:
    """A line per regime and dimension, up to the first that agrees."""
    plane = phase_diagram(gamma, None, NOISE, 0)
    for regime in plane.regimes:
        x, y = regime.centre(plane.samples, plane.vertical)
        for dim in dims:
            started = time.perf_counter()
            found, error, beyond, status = slope(regime, gamma, dim, x, y)
            off = found - float(regime.risk[0])
            verdict = "unresolved" if not error < CLOSE else "not yet"
            if abs(beyond) + error < CLOSE:  # a slope may pass its exponent by on the way
                verdict = AGREEMENT[0] if abs(off) + error < CLOSE else AGREEMENT[1]
            yield (
                f"{gamma!s:>4} {regime.name:48} x {x:.2f} y {y:+.2f} d {dim:.0e} slope "
                f"{found:+.4f} ({error:.0e}) "
                f"exponent {float(regime.risk[0]):+.4f} difference {off:+.4f}, beyond corrections "
                f"{beyond:+.4f}: {verdict}; {status}, "
                f"{time.perf_counter() - started:.0f} s"
            )
            if verdict in AGREEMENT:
                break


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gamma", default="3/5,3/4,1,3/2,2")
    parser.add_argument("--dim", default="1e4,1e6,1e9,1e12,1e18,1e24,1e36")
    arguments = parser.parse_args()
    np.seterr(all="ignore")
    for gamma in map(Fraction, arguments.gamma.split(",")):
        for line in lines(gamma, list(map(float, arguments.dim.split(",")))):
            print(line, flush=True)
