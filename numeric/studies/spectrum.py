"""The spectrum of the learned S: mass at zero, bulks, density, outliers; its rank, and where it falls into two bulks.

Factors learn S = c (Y - b)_+, a symmetric matrix trained directly A = c Y (theory note, sections 2, 4 and 6).
"""

import math
from collections.abc import Callable, Iterable, Iterator
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
_NO_MASS = 1e-9  # what rounding leaves of an interval where the width of the student cuts just below its upper end
_OUTLIER_POINTS = (
    40  # a single eigenvalue is nearly a semicircle, for which Chebyshev nodes are exact
)


@dataclass(frozen=True)
class LearnedOutlier:
    """An isolated eigenvalue of S: `value`, from the eigenvalue `target` of S0 at the eigenvalue `position` of Y.

    `overlap`: squared overlap of the eigenvectors of S and S0; `weight`: share of all eigenvalues.
    """

    target: float
    position: float
    value: float
    overlap: float
    weight: float


@dataclass(frozen=True)
class LearnedSpectrum:
    """Law of the eigenvalues of the learned S, of a general matrix its singular values.

    `zero_mass` at 0, a density on `x` (eigenvalue units), a grid within the edges of each bulk, and `outliers`, ascending;
    the masses of all three add up to one. `second_moment` is the integral of x^2 over the law, equal to q; `moment_error` is by how
    much its quadrature misses the closed form. `solution`: the point at which it is learned, whose settings a figure states.
    """

    zero_mass: float
    x: Array
    density: Array
    bulks: tuple[tuple[float, float], ...]
    outliers: tuple[LearnedOutlier, ...]
    second_moment: float
    moment_error: float
    solution: Solution | None = None

    def mass_above(self, points: Array) -> Array:
        """The law's mass above each point, by the trapezoidal rule on its grid; shape of `points`, one-dimensional."""
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
        """The density as a line to be drawn: bulks start and end at zero, and it is zero between them."""
        parts = list(zip(self.bulks, self._bulk_densities(), strict=True))
        x = [np.zeros(0), *(np.concatenate([[low], x, [high]]) for (low, high), (x, _) in parts)]
        density = [
            np.zeros(0),
            *(np.concatenate([[0.0], density, [0.0]]) for _, (_, density) in parts),
        ]
        return np.concatenate(x), np.concatenate(density)

    def ranks(self, dim: int) -> tuple[Array, Array]:
        """Rank, `dim` times the mass above, against positive eigenvalue; an outlier stands in the middle of its own unit of rank."""
        outliers = np.array([outlier.value for outlier in self.outliers])
        values = np.sort(np.concatenate([outliers, self.x]))[::-1]
        values = values[values > 0]
        return dim * self.mass_above(values) + 0.5 + 0.5 * np.isin(values, outliers), values

    def singular_values(self) -> "LearnedSpectrum":
        """The law of absolute values: of singular values, where this one is of eigenvalues of either sign."""
        if not any(low < 0 for low, _ in self.bulks) and not any(
            outlier.value < 0 for outlier in self.outliers
        ):
            return self
        bulks = _united(
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
        found = [
            np.interp(points, x, density, left=0.0, right=0.0)
            for x, density in self._bulk_densities()
        ]
        return np.asarray(np.sum(found, axis=0))


def _united(intervals: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Intervals in order, those that overlap as one."""
    found: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def learned_spectrum(solution: Solution, points: int = 400) -> LearnedSpectrum:
    """Spectrum of S at a solved point, `points` grid values per bulk (arXiv 2509.24914, Claim 4.1).

    Of a general matrix the singular values.

    Raises:
        InvalidParameter: no Solution is given, or no number of points.
        NotConverged: the solution is none.
        NoAnswer: the target is learned perfectly, so that no noise is left.
        ValueError: a general matrix trained on symmetric scores, whose singular values are not those of one law.

    >>> from attention_erm import MarchenkoPastur, Problem, learned_spectrum, solve
    >>> problem = Problem(alpha=0.5, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> spectrum = learned_spectrum(solve(problem))
    >>> round(spectrum.zero_mass, 4), [(round(low, 3), round(high, 3)) for low, high in spectrum.bulks]
    (0.3557, [(0.0, 3.947)])
    """
    require_solution(solution)
    points = count("points", points)
    problem = solution.unwrap().problem
    if problem.parametrisation is Parametrisation.GENERAL:
        raise ValueError(
            "the spectrum of a general matrix is not known; train it symmetric, or factors"
        )
    if solution.delta == 0:
        raise NoAnswer("S is the target itself, and has its spectrum: nothing else is learned")
    if solution.q == 0:
        return LearnedSpectrum(1.0, np.zeros(0), np.zeros(0), (), (), 0.0, 0.0, solution)
    ends = [_end(solution, target, points) for target in _learned_ends(solution)]
    # Singular values are those of a law that is its own mirror image: its positive half, twice.
    parts = ends if problem.general else [_mirrored(end) for end in reversed(ends[1:])] + ends[:1]
    weight = 2.0 if problem.general else 1.0
    moment, q = (weight * sum(getattr(end, name) for end in ends) for name in ("moment", "q"))
    return LearnedSpectrum(
        1 - weight * sum(end.mass for end in ends),
        np.concatenate([np.zeros(0), *(x for part in parts for x in part.grids)]),
        weight
        * np.concatenate([np.zeros(0), *(density for part in parts for density in part.densities)]),
        tuple(edges for part in parts for edges in part.edges),
        tuple(outlier for part in parts for outlier in part.outliers),
        moment,
        abs(moment - q),
        solution,
    )


def _learned_ends(solution: Solution) -> tuple[Target, ...]:
    """Laws whose upper ends hold what is learned: all of one where there is no threshold, but of singular values the positive half."""
    problem, target = solution.problem, solution.seen_target
    if problem.general:
        return (target,)
    return problem.ends(target) if problem.trains_factors else (target,)


class _End(NamedTuple):
    """What is learned at the upper end of a law: bulks by edges, grids, densities; outliers; mass; q by a rule and in closed form."""

    edges: list[tuple[float, float]]
    grids: list[Array]
    densities: list[Array]
    outliers: list[LearnedOutlier]
    mass: float
    moment: float
    q: float


def _end(solution: Solution, target: Target, points: int) -> _End:
    v, c = solution.delta**2, solution.c
    cut, learned, mass, q = _shrinkage(solution, target)
    # One that the threshold cuts is drawn as what is left of its interval.
    isolated = {outlier.low: outlier for outlier in target.outliers(v) if outlier.low >= cut}
    found = _End([], [], [], [], mass, 0.0, q)
    for low, high in target.support(v):
        if high <= cut:
            continue
        outlier = isolated.get(low)
        x, weights = edge_grid(max(low, cut), high, _OUTLIER_POINTS if outlier else points)
        values, density = learned(x), target.density(v, x)
        if np.sum(weights * density) < _NO_MASS:
            continue
        found = found._replace(moment=found.moment + float(np.sum(weights * density * values**2)))
        if outlier:
            value = float(learned(np.array(outlier.position)))
            outlying = LearnedOutlier(
                outlier.target, outlier.position, value, outlier.overlap, outlier.weight
            )
            found.outliers.append(outlying)
        else:
            least, most = map(float, learned(np.array([max(low, cut), high])))
            found.edges.append((least, most))
            found.grids.append(values)
            found.densities.append(density / c)
    return found


def _mirrored(end: _End) -> _End:
    return end._replace(
        edges=[(0.0 - high, 0.0 - low) for low, high in reversed(end.edges)],  # and no minus zero
        grids=[-x[::-1] for x in reversed(end.grids)],
        densities=[density[::-1] for density in reversed(end.densities)],
        outliers=[
            replace(one, target=-one.target, position=-one.position, value=-one.value)
            for one in reversed(end.outliers)
        ],
    )


def _shrinkage(
    solution: Solution, target: Target
) -> tuple[float, Callable[[Array], Array], float, float]:
    """Least eigenvalue of Y that is kept, what S makes of those above it, their mass, and their part of q in closed form."""
    problem, v, b, c = solution.problem, solution.delta**2, solution.b, solution.c
    if not problem.trains_factors:
        # Of singular values half of a law that is its own mirror image.
        low, share = (0.0, 0.5) if problem.general else (-np.inf, 1.0)
        return low, lambda x: c * x, share, share * solution.q
    energy = target.energy(v, b, problem.width)
    _, q = learned_overlaps(problem, energy, v, b, c)
    cut = b if solution.quantile is None else max(b, solution.quantile)
    return cut, lambda x: generated.shrinkage(x, b, c), energy.mass, q


def learned_rank(solution: Solution) -> tuple[float, float]:
    """Share of the eigenvalues of S that are not zero, of factors, and its error from those of delta and of the threshold.

    Raises:
        NotConverged: the solution is none.
    """
    problem = solution.unwrap().problem
    if solution.q == 0:
        return 0.0, 0.0
    target, errors = solution.seen_target, solution.errors

    def mass(delta: float, b: float) -> float:
        return sum(end.energy(delta**2, b, problem.width).mass for end in problem.ends(target))

    rank = mass(solution.delta, solution.b)
    moved = (
        mass(solution.delta + errors["delta"], solution.b),
        mass(solution.delta, solution.b + errors["b"]),
    )
    return rank, sum(abs(value - rank) for value in moved)


@dataclass(frozen=True)
class Split:
    """Where along alpha the eigenvalues of S that are not zero fall into two bulks: neighbouring solutions before and after."""

    before: Solution
    after: Solution

    @property
    def alpha(self) -> float:
        """The sample ratio between the two."""
        return math.sqrt(self.before.problem.alpha * self.after.problem.alpha)

    @property
    def error(self) -> float:
        """Of alpha: half of the bracket, and what the error of the noise delta (~ alpha^-1/2) moves the split by."""
        width = math.log(self.after.problem.alpha / self.before.problem.alpha)
        return self.alpha * (width / 2 + 2 * self.after.errors["delta"] / self.after.delta)


def spectrum_split(before: Solution, after: Solution) -> Split:
    """Bisect in log(alpha), to SPLIT_TOLERANCE, between a solution with one bulk and one with two at larger alpha.

    Raises:
        NotConverged: a solution is none.
        NoAnswer: the first has two bulks already, or the second has one.
    """
    if _split(before) or not _split(after):
        raise NoAnswer(
            f"no split of the spectrum between alpha {before.problem.alpha:g} and {after.problem.alpha:g}"
        )
    while math.log(after.problem.alpha / before.problem.alpha) > SPLIT_TOLERANCE:
        middle = solve(
            before.problem.at(math.sqrt(before.problem.alpha * after.problem.alpha)), after
        )
        before, after = (before, middle) if _split(middle) else (middle, after)
    return Split(before, after)


def _split(solution: Solution) -> bool:
    return len(learned_spectrum(solution, 2).bulks) > 1
