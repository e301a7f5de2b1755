"""Unknowns in which the saddle point is easy to find and to judge where the labels leave the student free.

With few samples and weak decay the threshold b lies just inside the noise: a small change of the conjugates then decides between
learning nothing and everything, their map repels, and their residual is a large multiple of any rounding. The share F = J_v(v, b) of
directions left free is fixed by counting labels instead, hardly depends on anything else, and b follows from it. In the logarithms of
(v, F, c) the map contracts: its residuals are those of v, of the conjugate of m, and of c.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from generated.tied_attention import float64 as generated
from numeric.iterate import Map, Vector
from numeric.problem import Parametrisation, Problem
from numeric.target_law import Energy

LEAST = 40.0  # of log(edge/b): a threshold so low is none
NOTHING = -1e3  # stands for the logarithm of no freedom at all, beyond the edge: a bracket needs a number
HALF = 0.5  # of the freedom that the labels would take with no decay: any share of order one will do as a start


class Unknowns(Protocol):
    """Coordinates of the conjugates, and what a map of their logarithms x is in these coordinates y."""

    def coordinates(self, x: Vector) -> Vector:
        """Coordinates y at conjugates exp(x)."""
        ...

    def conjugates(self, y: Vector) -> Vector:
        """Logarithms x at coordinates y; not numbers where there are none."""
        ...

    def image(self, y: Vector, x: Vector) -> Vector:
        """Where y goes if its conjugates go to exp(x)."""
        ...


class Logarithms:
    """The logarithms of the conjugates themselves."""

    def coordinates(self, x: Vector) -> Vector:
        """Itself."""
        return x

    def conjugates(self, y: Vector) -> Vector:
        """Itself."""
        return y

    def image(self, y: Vector, x: Vector) -> Vector:
        """Itself."""
        return x


@dataclass(frozen=True)
class Freedom:
    """Logarithms of (v, F, c), for a trace penalty."""

    problem: Problem

    def coordinates(self, x: Vector) -> Vector:
        """Coordinates y at x; where no solution has their F, it is a share of what the labels would take."""
        v, b, c = self._reduced(x)
        free, taken = self._energy(v, b).J_v, self._taken(v)
        return np.log([v, free if 0 < free < taken else HALF * taken, c])

    def conjugates(self, y: Vector) -> Vector:
        """Logarithms x at y; not numbers where no threshold leaves so many directions free."""
        v, free, c = map(float, np.exp(y))
        top = np.log(self.problem.target.upper_edge(v))

        def excess(log_b: float) -> float:
            here = self._energy(v, float(np.exp(log_b))).J_v if log_b < top else 0.0
            return float(np.log(here / free)) if here > 0 else NOTHING

        if not excess(top - LEAST) > 0:
            return np.full(3, np.nan)
        b = float(np.exp(brentq(excess, top - LEAST, top, xtol=1e-14, rtol=1e-14)))
        return np.log(generated.unreduced_variables(v, b, c, self.problem.lambda_, self.problem.width))

    def image(self, y: Vector, x: Vector) -> Vector:
        """(v, c) of exp(x), and F moved as the conjugate of m is."""
        v, _, c = self._reduced(x)
        halfway = (y[1] + np.log(self._energy(float(np.exp(y[0])), 0.0).J_v)) / 2  # to the whole: no step may pass it
        return np.array([np.log(v), min(y[1] + x[0] - self.conjugates(y)[0], halfway), np.log(c)])

    def governs(self, x: Vector) -> bool:
        """Whether labels could be fitted by the directions free at noise exp(x) without weight decay."""
        problem = self.problem
        if problem.parametrisation is not Parametrisation.FACTORISED or problem.lambda_ == 0:
            return False
        return self._labels_over_numbers(self._reduced(x)[0]) < 1

    def leaves_some(self, x: Vector) -> bool:
        """Whether exp(x) leaves directions free, and fewer than the labels would without decay, as a solution does."""
        v, b, _ = self._reduced(x)
        return 0 < self._energy(v, b).J_v < self._taken(v)

    def _taken(self, v: float) -> float:
        return self._labels_over_numbers(v) * self._energy(v, 0.0).J_v

    def _labels_over_numbers(self, v: float) -> float:
        """Sample ratio over the greatest that the directions free at noise v can fit."""
        numbers = generated.interpolation_ratio(self._energy(v, 0.0).J_v, generated.label_numbers(self.problem.tokens))
        return float(self.problem.alpha / numbers)

    def _reduced(self, x: Vector) -> tuple[float, float, float]:
        mh, qh, Vh = np.exp(x)
        v, b, c = map(float, generated.reduced_variables(mh, qh, Vh, self.problem.lambda_, self.problem.width))
        return v, b, c

    def _energy(self, v: float, b: float) -> Energy:
        return self.problem.target.energy(v, b, self.problem.width)


def unknowns_at(problem: Problem, x: Vector) -> Unknowns:
    """The unknowns that suit a solution near exp(x)."""
    freedom = Freedom(problem)
    return freedom if freedom.governs(x) and freedom.leaves_some(x) else Logarithms()


def in_unknowns(F: Map, unknowns: Unknowns) -> Map:
    """A map of x as one of y; not a number where the conjugates or their image are none."""

    def moved(y: Vector) -> Vector:
        try:
            return unknowns.image(y, F(unknowns.conjugates(y)))
        except (ArithmeticError, ValueError):
            return np.full_like(y, np.nan)

    return moved
