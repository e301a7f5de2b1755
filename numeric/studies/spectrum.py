"""Spectrum of the learned S: mass at zero, bulks, density, outliers; its rank; its split into two
bulks.

Training of factors learns S = c (Y - b)_+; direct training of a symmetric matrix learns A = c Y
(theory note, sections 2, 4 and 6).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.laws.law import Array, Target, edge_grid
from numeric.maths.domain import count
from numeric.model import float64 as generated
from numeric.problem.problem import Parametrisation
from numeric.problem.solution import Solution, require_solution
from numeric.saddle.estimator import learned_overlaps
from numeric.saddle.solve import solve

SPLIT_TOLERANCE = 1e-4  # of log(alpha), between the last point of one bulk and the first of two
# Mass of an interval due to rounding, if the width of the student cuts just below its upper end.
_NO_MASS = 1e-9
# The law of a single eigenvalue is nearly a semicircle, for which Chebyshev nodes are exact.
_OUTLIER_POINTS = 40

SHOWN_PARTS = 6  # most bulks and outliers in the printed form


@dataclass(frozen=True)
class LearnedOutlier:
    """Isolated eigenvalue of S.

    Attributes:
        target: corresponding eigenvalue of S0.
        position: corresponding eigenvalue of Y.
        value: eigenvalue of S.
        overlap: squared overlap of the eigenvectors of S and S0.
        weight: fraction of all eigenvalues.
    """

    target: float
    position: float
    value: float
    overlap: float
    weight: float

    def negative(self) -> "LearnedOutlier":
        """Return the outlier of -S."""
        return replace(self, target=-self.target, position=-self.position, value=-self.value)


@dataclass(frozen=True)
class LearnedSpectrum:
    """Law of the eigenvalues of the learned S; of the singular values if the matrix is general.

    The masses at zero, of the density and of the outliers add up to one.

    Attributes:
        zero_mass: mass at 0.
        x: grid within the edges of each bulk, eigenvalue, shape (points,).
        density: density on the grid, 1/eigenvalue, shape (points,).
        bulks: lower and upper edge of each bulk, ascending.
        outliers: isolated eigenvalues, ascending.
        second_moment: integral of x^2 over the law, equal to q.
        moment_error: difference of the second moment from its closed form.
        solution: the solution, whose settings a figure shows in its caption.
    """

    zero_mass: float
    x: Array
    density: Array
    bulks: tuple[tuple[float, float], ...]
    outliers: tuple[LearnedOutlier, ...]
    second_moment: float
    moment_error: float
    solution: Solution | None = None

    def __repr__(self) -> str:
        """Return masses, bulks and outliers in at most ten lines; the density is in x, density."""
        lines = [
            f"spectrum of S: {self.solution.problem.summary}" if self.solution else "spectrum of S",
            f"  mass at 0         {self.zero_mass:.6g}",
            f"  second moment     {self.second_moment:.6g}, off by {self.moment_error:.1e}",
        ]
        parts = [f"  bulk              {low:.6g} to {high:.6g}" for low, high in self.bulks]
        parts += [f"  outlier           {outlier.value:.6g}" for outlier in self.outliers[::-1]]
        hidden = len(parts) - SHOWN_PARTS
        shown = parts if hidden <= 0 else [*parts[: SHOWN_PARTS - 1], f"  and {hidden + 1} more"]
        return "\n".join([*lines, *shown, f"  density on {len(self.x)} points"])

    def mass_above(self, points: Array) -> Array:
        """Return the mass above each point, by the trapezoidal rule on the grid.

        Args:
            points: positions, eigenvalue, shape (n,).

        Returns:
            Masses, shape (n,).
        """
        mass = np.zeros(len(points))
        for x, density in self._bulk_densities():
            pieces = np.concatenate(
                [[0.0], np.cumsum(np.diff(x) * (density[1:] + density[:-1]) / 2)]
            )
            mass += np.interp(-points, -x[::-1], (pieces[-1] - pieces)[::-1])
        return np.asarray(
            mass + sum(outlier.weight * (outlier.value > points) for outlier in self.outliers)
        )

    def outline(self) -> tuple[Array, Array]:
        """Return the density as a line (x, density) that starts and ends at zero for each bulk."""
        x, density = [np.zeros(0)], [np.zeros(0)]
        for (low, high), (inner, values) in zip(self.bulks, self._bulk_densities(), strict=True):
            x += [np.array([low]), inner, np.array([high])]
            density += [np.zeros(1), values, np.zeros(1)]
        return np.concatenate(x), np.concatenate(density)

    def ranks(self, dim: int) -> tuple[Array, Array]:
        """Return the ranks, `dim` times the mass above, and the values of positive eigenvalues.

        The rank of an outlier is the centre of its unit interval.
        """
        outliers = np.array([outlier.value for outlier in self.outliers])
        values = np.sort(np.concatenate([outliers, self.x]))[::-1]
        values = values[values > 0]
        return dim * self.mass_above(values) + 0.5 + 0.5 * np.isin(values, outliers), values

    def singular_values(self) -> "LearnedSpectrum":
        """Return the law of absolute values, for a law of eigenvalues of either sign."""
        if not any(low < 0 for low, _ in self.bulks) and not any(
            outlier.value < 0 for outlier in self.outliers
        ):
            return self
        bulks = _merge_overlapping(
            (0.0 if low < 0 < high else min(abs(low), abs(high)), max(-low, high))
            for low, high in self.bulks
        )
        inner = [0.0] if any(low < 0 < high for low, high in self.bulks) else []
        x = np.unique(np.concatenate([inner, np.abs(self.x)]))
        outliers = (replace(outlier, value=abs(outlier.value)) for outlier in self.outliers)
        return replace(
            self,
            x=x,
            density=self._density(x) + self._density(-x),
            bulks=bulks,
            outliers=tuple(sorted(outliers, key=lambda outlier: outlier.value)),
        )

    def _bulk_densities(self) -> Iterator[tuple[Array, Array]]:
        for low, high in self.bulks:
            inside = (self.x >= low) & (self.x <= high)
            yield self.x[inside], self.density[inside]

    def _density(self, points: Array) -> Array:
        bulks = self._bulk_densities()
        return np.asarray(
            np.sum([np.interp(points, *bulk, left=0.0, right=0.0) for bulk in bulks], axis=0)
        )


def _merge_overlapping(intervals: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the intervals in ascending order, with overlapping ones merged."""
    found: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def learned_spectrum(solution: Solution, points: int = 400) -> LearnedSpectrum:
    """Compute the spectrum of S (arXiv 2509.24914, Claim 4.1); singular values of a general matrix.

    For tokens with a covariance C it is the spectrum of C^{1/2} S C^{1/2}, which the loss sees.

    Args:
        solution: the solution.
        points: number of grid points of each bulk.

    Raises:
        InvalidParameter: the argument is not a Solution, or `points` is not a positive integer.
        NotConverged: the solution has not converged.
        NoAnswer: the target is learned perfectly, so that no noise is left.
        ValueError: a general matrix is trained on symmetric scores; its singular values are not
            known.

    >>> from attention_erm import MarchenkoPastur, Problem, learned_spectrum, solve
    >>> problem = Problem(alpha=0.5, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> spectrum = learned_spectrum(solve(problem))
    >>> bulks = [(round(low, 3), round(high, 3)) for low, high in spectrum.bulks]
    >>> round(spectrum.zero_mass, 4), bulks
    (0.3557, [(0.0, 3.947)])
    """
    require_solution(solution)
    points = count("points", points)
    problem = solution.unwrap().problem
    if problem.parametrisation is Parametrisation.GENERAL:
        raise ValueError(
            "the spectrum of a general matrix is not known; train it symmetric, or factors"
        )
    if not problem.trains_factors:
        problem.require_isotropic("the spectrum of a matrix that is trained directly")
    if solution.delta == 0:
        raise NoAnswer("S is the target itself, and has its spectrum: nothing else is learned")
    if solution.q == 0:
        return LearnedSpectrum(1.0, np.zeros(0), np.zeros(0), (), (), 0.0, 0.0, solution)
    target = solution.effective_target
    # Singular values have a symmetric law: they are its positive half, counted twice.
    weight, one_law = (
        (2.0, True) if problem.has_singular_values else (1.0, not problem.trains_factors)
    )
    laws = (target,) if one_law else problem.signed_targets(target)
    ends = [_end(solution, law, points) for law in laws]
    parts = [*(end.negative() for end in reversed(ends[1:])), ends[0]]
    bulks = [bulk for part in parts for bulk in part.bulks]
    moment, q = (weight * sum(getattr(end, name) for end in ends) for name in ("moment", "q"))
    return LearnedSpectrum(
        1 - weight * sum(end.mass for end in ends),
        np.concatenate([np.zeros(0), *(bulk.x for bulk in bulks)]),
        weight * np.concatenate([np.zeros(0), *(bulk.density for bulk in bulks)]),
        tuple((bulk.low, bulk.high) for bulk in bulks),
        tuple(outlier for part in parts for outlier in part.outliers),
        moment,
        abs(moment - q),
        solution,
    )


class _Bulk(NamedTuple):
    """Density of S on a grid between two edges."""

    low: float
    high: float
    x: Array
    density: Array


class _End(NamedTuple):
    """Learned part at the upper end of a law.

    `moment` and `q` are its second moment, by quadrature and in closed form.
    """

    bulks: list[_Bulk]
    outliers: list[LearnedOutlier]
    mass: float
    moment: float
    q: float

    def negative(self) -> "_End":
        """Return the same part of -S."""
        bulks = [  # 0.0 - x avoids minus zero
            _Bulk(0.0 - bulk.high, 0.0 - bulk.low, -bulk.x[::-1], bulk.density[::-1])
            for bulk in reversed(self.bulks)
        ]
        outliers = [outlier.negative() for outlier in reversed(self.outliers)]
        return self._replace(bulks=bulks, outliers=outliers)


def least_learned_position(solution: Solution) -> float:
    """Return the smallest eigenvalue of Y that is learned: the threshold, or the quantile at which
    the rank limit cuts.
    """
    return solution.b if solution.quantile is None else max(solution.b, solution.quantile)


def _end(solution: Solution, target: Target, points: int) -> _End:
    problem, v, b, c = solution.problem, solution.delta**2, solution.b, solution.c
    if problem.trains_factors:
        energy = target.energy(v, b, problem.width)
        # With a covariance of the tokens the law depends on b.
        law, threshold = target.at_threshold(b)
        cut = threshold if energy.quantile is None else max(threshold, energy.quantile)
        mass = energy.mass
        _, q = learned_overlaps(problem, energy, v, b, c)
    else:  # singular values are half of a symmetric law
        cut, mass = (0.0, 0.5) if problem.has_singular_values else (-np.inf, 1.0)
        law, threshold, q = target, 0.0, mass * solution.q

    def learned(x: Array) -> Array:
        return generated.shrinkage(x, threshold, c) if problem.trains_factors else c * x

    # An outlier that the threshold cuts is returned as a bulk, the rest of its interval.
    isolated = {outlier.low: outlier for outlier in law.outliers(v) if outlier.low >= cut}
    bulks, outliers, moment = list[_Bulk](), list[LearnedOutlier](), 0.0
    for low, high in law.support(v):
        if high <= cut:
            continue
        outlier = isolated.get(low)
        x, weights = edge_grid(max(low, cut), high, _OUTLIER_POINTS if outlier else points)
        values, density = learned(x), law.density(v, x)
        if np.sum(weights * density) < _NO_MASS:
            continue
        moment += float(np.sum(weights * density * values**2))
        if outlier:
            value = float(learned(np.array(outlier.position)))
            outliers.append(
                LearnedOutlier(
                    outlier.target, outlier.position, value, outlier.overlap, outlier.weight
                )
            )
        else:
            least, most = map(float, learned(np.array([max(low, cut), high])))
            bulks.append(_Bulk(least, most, values, density / c))
    return _End(bulks, outliers, mass, moment, q)


def learned_rank(solution: Solution) -> tuple[float, float]:
    """Return the fraction of nonzero eigenvalues of S when factors are trained, and its error due
    to the error bars of delta and of the threshold.

    Raises:
        NotConverged: the solution has not converged.
    """
    problem = solution.unwrap().problem
    if solution.q == 0:
        return 0.0, 0.0
    target, delta, b, errors = (
        solution.effective_target,
        solution.delta,
        solution.b,
        solution.errors,
    )

    def mass(delta: float, b: float) -> float:
        return sum(
            end.energy(delta**2, b, problem.width).mass for end in problem.signed_targets(target)
        )

    rank = mass(delta, b)
    moved = mass(delta + errors["delta"], b), mass(delta, b + errors["b"])
    return rank, sum(abs(value - rank) for value in moved)


@dataclass(frozen=True)
class SpectrumSplit:
    """Neighbouring solutions along alpha, before and after the nonzero eigenvalues of S split into
    two bulks.
    """

    before: Solution
    after: Solution

    @property
    def alpha(self) -> float:
        """Sample ratio between the two solutions."""
        return math.sqrt(self.before.problem.alpha * self.after.problem.alpha)

    @property
    def error(self) -> float:
        """Error of alpha: half of the interval, plus the effect of the error of delta ~
        alpha^-1/2.
        """
        width = math.log(self.after.problem.alpha / self.before.problem.alpha)
        return self.alpha * (width / 2 + 2 * self.after.errors["delta"] / self.after.delta)


def spectrum_split(before: Solution, after: Solution) -> SpectrumSplit:
    """Find the sample ratio at which the spectrum splits, by bisection in log(alpha) to
    SPLIT_TOLERANCE.

    Args:
        before: solution with one bulk.
        after: solution with two bulks, at larger alpha.

    Raises:
        NotConverged: a solution has not converged.
        NoAnswer: `before` has two bulks, or `after` has one.
    """
    if _is_split(before) or not _is_split(after):
        raise NoAnswer(
            f"no split of the spectrum between alpha {before.problem.alpha:g} and "
            f"{after.problem.alpha:g}"
        )
    while math.log(after.problem.alpha / before.problem.alpha) > SPLIT_TOLERANCE:
        split = SpectrumSplit(before, after)
        middle = solve(before.problem.at(split.alpha), after)
        before, after = (before, middle) if _is_split(middle) else (middle, after)
    return SpectrumSplit(before, after)


def _is_split(solution: Solution) -> bool:
    return len(learned_spectrum(solution, 2).bulks) > 1
