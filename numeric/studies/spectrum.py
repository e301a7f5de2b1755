"""The spectrum of the learned S: mass at zero, bulks, density, outliers.

Factors learn S = c (Y - b)_+, a symmetric matrix trained directly A = c Y (theory note, sections 2, 4 and 6).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from numeric.laws.law import Array, edge_grid
from numeric.maths.domain import NoAnswer
from numeric.model import float64 as generated
from numeric.problem.problem import Parametrisation
from numeric.problem.solution import Solution

_OUTLIER_POINTS = 40  # a single eigenvalue is nearly a semicircle, for which Chebyshev nodes are exact


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
    """Law of the eigenvalues of the learned S: positive ones, its singular values, unless it is trained directly.

    `zero_mass` at 0, a density on `x` (eigenvalue units), a grid that ends at the edges of each bulk, and `outliers`, ascending;
    the masses of all three add up to one. `second_moment` is the integral of x^2 over the law, equal to q; `moment_error` is by how
    much its quadrature misses the closed form.
    """

    zero_mass: float
    x: Array
    density: Array
    bulks: tuple[tuple[float, float], ...]
    outliers: tuple[LearnedOutlier, ...]
    second_moment: float
    moment_error: float


def learned_spectrum(solution: Solution, points: int = 400) -> LearnedSpectrum:
    """Spectrum of S at a solved point, `points` grid values per bulk (arXiv 2509.24914, Claim 4.1).

    Raises:
        NotConverged: the solution is none.
        InvalidParameter: another model than tied attention.
        NoAnswer: the target is learned perfectly, so that no noise is left.
        ValueError: a general matrix, whose singular values are not those of a symmetric one.
    """
    solution.unwrap().problem.require_tied("spectrum")
    if solution.problem.parametrisation is Parametrisation.GENERAL:
        raise ValueError("the spectrum of a general matrix is not known; train it symmetric, or factors")
    if solution.delta == 0:
        raise NoAnswer("S is the target itself, and has its spectrum: nothing else is learned")
    if solution.q == 0:
        return LearnedSpectrum(1.0, np.zeros(0), np.zeros(0), (), (), 0.0, 0.0)
    v, target, c = solution.delta**2, solution.seen_target, solution.c
    cut, learned, zero_mass, q = _shrinkage(solution)
    # One that the threshold cuts is drawn as what is left of its interval.
    isolated = {outlier.low: outlier for outlier in target.outliers(v) if outlier.low >= cut}
    grids, densities, bulks, outliers, moment = [np.zeros(0)], [np.zeros(0)], [], [], 0.0
    for low, high in target.support(v):
        if high <= cut:
            continue
        outlier = isolated.get(low)
        x, weights = edge_grid(max(low, cut), high, _OUTLIER_POINTS if outlier else points)
        values, density = learned(x), target.density(v, x)
        moment += float(np.sum(weights * density * values**2))
        if outlier:
            value = float(learned(np.array(outlier.position)))
            outliers.append(LearnedOutlier(outlier.target, outlier.position, value, outlier.overlap, outlier.weight))
        else:
            grids.append(values)
            densities.append(density / c)
            bulks.append((float(values[0]), float(values[-1])))
    return LearnedSpectrum(
        zero_mass,
        np.concatenate(grids),
        np.concatenate(densities),
        tuple(bulks),
        tuple(outliers),
        moment,
        abs(moment - q),
    )


def _shrinkage(solution: Solution) -> tuple[float, Callable[[Array], Array], float, float]:
    """Least eigenvalue of Y that is kept, what S makes of those above it, the mass of the others, and q in closed form."""
    problem, v, b, c = solution.problem, solution.delta**2, solution.b, solution.c
    if problem.parametrisation is Parametrisation.SYMMETRIC:
        return -np.inf, lambda x: c * x, 0.0, solution.q
    energy = solution.seen_target.energy(v, b, problem.width)
    stiffness = solution.Vh or 1.0  # zero at vanishing decay: it enters V alone
    _, q, _ = generated.overlaps(energy.J, energy.J_v, energy.J_b, v, b, c, stiffness)
    cut = b if solution.quantile is None else max(b, solution.quantile)
    return cut, lambda x: generated.shrinkage(x, b, c), 1 - energy.mass, float(q)
