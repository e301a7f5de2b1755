"""Timings of the spectral function against their targets.

Run: python -m benchmarks.spectral        (prints a table; needs nothing but the package)
"""

import numpy as np

from benchmarks.timing import Case, report
from numeric.laws.divided_difference import second_difference
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law

PAIRS = 10**6
TARGET, ATOMS, HEAVY = MarchenkoPastur(0.5), power_law(0.75, 1000), power_law(0.75, 200)
_RANDOM = np.random.default_rng(1)
VARIANCES = np.exp(_RANDOM.uniform(np.log(1e-2), np.log(10.0), PAIRS))
# Below this share of the upper edge no pair needs ball arithmetic.
THRESHOLDS = _RANDOM.uniform(-0.5, 0.8, PAIRS) * np.array([TARGET.upper_edge(v) for v in VARIANCES])

CASES = (
    Case("Marchenko-Pastur: 10^6 pairs (v, b)", lambda: TARGET.grid(VARIANCES, THRESHOLDS), 5, 1.0),
    Case("Marchenko-Pastur: one pair", lambda: TARGET.energy(0.5, 0.3, 1.0), 99, 1e-4),
    Case("1000 eigenvalues: one pair", lambda: ATOMS.energy(0.5, 0.3, 1.0), 99, 5e-3),
    Case("1000 eigenvalues: one pair at small v", lambda: ATOMS.energy(1e-3, 0.3, 1.0), 99, 5e-3),
    Case("1000 eigenvalues: all edges", lambda: ATOMS.support(1e-3), 99, 5e-3),
    Case(
        "Marchenko-Pastur: double integral of the replicon",
        lambda: second_difference(TARGET, 0.5, 0.3),
        99,
        5e-3,
    ),
    Case(
        "200 eigenvalues: double integral of the replicon",
        lambda: second_difference(HEAVY, 0.5, 0.3),
        9,
        5e-2,
    ),
    Case(
        "1000 eigenvalues: density at 400 points",
        lambda: ATOMS.density(0.1, np.linspace(0.0, 3.0, 400)),
        9,
        0.1,
    ),
)

if __name__ == "__main__":
    report(CASES)
