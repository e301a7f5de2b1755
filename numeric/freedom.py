"""Unknowns in which the saddle point is easy to find where the labels leave the student free.

With few samples and weak decay the threshold b lies just inside the noise: a small change of the conjugates then decides between
learning nothing and everything, and their map repels. The share F = J_v(v, b) of directions left free is fixed by counting labels
instead, hardly depends on anything else, and b follows from it. In the logarithms of (v, F, c) the map contracts: its residuals
are those of v, of the conjugate of m, and of c.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from generated.tied_attention import float64 as generated
from numeric.iterate import Anderson, Map, Outcome, Vector, iterate
from numeric.problem import Parametrisation, Problem
from numeric.target_law import Energy

STEPS, PATIENCE = 40, 15  # it takes about ten where it works
LEAST = 40.0  # of log(edge/b): a threshold so low is none
NOTHING = -1e3  # stands for the logarithm of no freedom at all, beyond the edge: a bracket needs a number
HALF = 0.5  # of the freedom that the labels would take with no decay: any share of order one will do as a start


def underdetermined(problem: Problem, x: Vector) -> bool:
    """Whether labels could be fitted by the directions free at noise exp(x) without weight decay."""
    if problem.parametrisation is not Parametrisation.FACTORISED or problem.lambda_ == 0:
        return False
    return _labels_over_numbers(problem, _reduced(problem, x)[0]) < 1


def by_freedom(F: Map, problem: Problem, x: Vector, tolerance: float) -> Outcome:
    """Root of the map F of the logarithms of the conjugates, from x, by Anderson's acceleration in the other unknowns."""
    inner = FreedomMap(F, problem)
    found = iterate(inner, inner.coordinates(x), Anderson(), tolerance=tolerance, max_steps=STEPS, patience=PATIENCE)
    return found._replace(point=inner.conjugates(found.point) if np.isfinite(found.residual) else x)


@dataclass(frozen=True)
class FreedomMap:
    """The map of log (v, F, c), for a trace penalty."""

    map: Map
    problem: Problem

    def coordinates(self, x: Vector) -> Vector:
        """Logarithms of (v, F, c) at conjugates exp(x); where no solution has their F, it is a share of what the labels would take."""
        v, b, c = _reduced(self.problem, x)
        free, taken = self._energy(v, b).J_v, _labels_over_numbers(self.problem, v) * self._energy(v, 0.0).J_v
        return np.log([v, free if 0 < free < taken else HALF * taken, c])

    def conjugates(self, y: Vector) -> Vector:
        """Logarithms of the conjugates at log (v, F, c); not numbers where no threshold leaves so many directions free."""
        v, free, c = map(float, np.exp(y))
        top = np.log(self.problem.target.upper_edge(v))

        def excess(log_b: float) -> float:
            here = self._energy(v, float(np.exp(log_b))).J_v if log_b < top else 0.0
            return float(np.log(here / free)) if here > 0 else NOTHING

        if not excess(top - LEAST) > 0:
            return np.full(3, np.nan)
        b = float(np.exp(brentq(excess, top - LEAST, top, xtol=1e-14, rtol=1e-14)))
        return np.log(generated.unreduced_variables(v, b, c, self.problem.lambda_, self.problem.width))

    def __call__(self, y: Vector) -> Vector:
        """One application; not a number where the conjugates or their image are none."""
        try:
            x = self.conjugates(y)
            image = self.map(x)
        except (ArithmeticError, ValueError):
            return np.full(3, np.nan)
        v, _, c = _reduced(self.problem, image)
        halfway = (y[1] + np.log(self._energy(float(np.exp(y[0])), 0.0).J_v)) / 2  # to the whole: no step may pass it
        return np.array([np.log(v), min(y[1] + image[0] - x[0], halfway), np.log(c)])

    def _energy(self, v: float, b: float) -> Energy:
        return self.problem.target.energy(v, b, self.problem.width)


def _reduced(problem: Problem, x: Vector) -> tuple[float, float, float]:
    mh, qh, Vh = np.exp(x)
    v, b, c = map(float, generated.reduced_variables(mh, qh, Vh, problem.lambda_, problem.width))
    return v, b, c


def _labels_over_numbers(problem: Problem, v: float) -> float:
    """Sample ratio over the greatest that the directions free at noise v can fit."""
    free = problem.target.energy(v, 0.0, problem.width).J_v
    return float(problem.alpha / generated.interpolation_ratio(free, generated.label_numbers(problem.tokens)))
