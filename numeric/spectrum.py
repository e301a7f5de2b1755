"""The spectrum of the learned S: mass at zero, bulks, density.

Theory note, sections 2 and 4.
"""

from dataclasses import dataclass

import numpy as np

from generated.tied_attention import float64 as generated
from numeric.solution import Solution
from numeric.target_law import Array


@dataclass(frozen=True)
class LearnedSpectrum:
    """Law of the singular values of the learned S (it is positive, so these are its eigenvalues).

    `zero_mass` at 0 and a density on `x` (eigenvalue units), a grid that ends at the edges of each bulk;
    `second_moment` is the integral of x^2 over the law, equal to q.
    """

    zero_mass: float
    x: Array
    density: Array
    bulks: tuple[tuple[float, float], ...]
    second_moment: float


def learned_spectrum(solution: Solution, points: int = 400) -> LearnedSpectrum:
    """Spectrum of S at a solved point, `points` grid values per bulk (arXiv 2509.24914, Claim 4.1).

    Raises:
        NotConverged: the solution is none.
    """
    solution.unwrap()
    if solution.q == 0:
        return LearnedSpectrum(1.0, np.zeros(0), np.zeros(0), (), 0.0)
    v, target, b, c = solution.delta**2, solution.problem.target, solution.b, solution.c
    cut = b if solution.quantile is None else max(b, solution.quantile)
    grids, densities, bulks, moment = [], [], [], 0.0
    for low, high in target.support(v):
        if high <= cut:
            continue
        x, weights = edge_grid(max(low, cut), high, points)
        values = generated.shrinkage(x, b, c)
        density = target.density(v, x)
        moment += float(np.sum(weights * density * values**2))
        grids.append(values)
        densities.append(density / c)
        bulks.append((float(values[0]), float(values[-1])))
    energy = target.energy(v, b, solution.problem.width)
    return LearnedSpectrum(1 - energy.mass, np.concatenate(grids), np.concatenate(densities), tuple(bulks), moment)


def edge_grid(low: float, high: float, points: int) -> tuple[Array, Array]:
    """Grid on [low, high] with weights of a Chebyshev rule: dense at the edges, where densities have square roots."""
    angles = (np.arange(points) + 0.5) * np.pi / points
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    return x, (high - low) / 2 * np.sin(angles) * np.pi / points
