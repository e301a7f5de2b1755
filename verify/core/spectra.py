"""Trained singular values compared with the law of the theory, with a p-value.

In the theory the learned map is a soft-thresholded noisy target: S = c (S0 + delta Z - b)_+ with Z
from the Gaussian orthogonal ensemble (arXiv 2509.24914, Claim 4.1), or c (S0 + delta Z) if a
symmetric matrix is trained directly. Maps drawn from this model at the trained size show how far an
empirical distribution is from the law at finite size. Eigenvalues repel, so this distance falls
like 1/d, and tables of Kolmogorov and Smirnov do not apply. Further finite-size effects fall like
1/d as well: maps of several sizes are extrapolated as all residuals are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attention_erm.runtime.errors import NoAnswer
from numeric.engines.task import Task
from numeric.laws.law import edge_grid
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.target_spectrum import target_density, target_edges
from numeric.maths.replicates import p_value
from numeric.model import float64 as generated
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.solve import solve
from numeric.studies.spectrum import LearnedSpectrum, learned_spectrum
from verify.core.measure import RunResult
from verify.core.minimise import DescentStatus
from verify.core.realised_problem import realised_problem
from verify.core.run import Run
from verify.core.scores import intercept_weights
from verify.core.target import TargetKind, gaussian_target, rank_ratio

#: Singular values below this share of the largest count as zero, because a descent reaches zero
#: only to its tolerance.
ZERO = 1e-3
#: number of maps drawn from the model: p-values are multiples of 1/(MODEL_DRAWS + 1)
MODEL_DRAWS = 199
DENSITY_POINTS = 400
_COST = 4e-5  #: seconds of all draws of one run, for each entry of its matrix
LEAST_P = 1 / (
    MODEL_DRAWS + 1
    #: smallest p-value; by chance one spectrum in 200 reaches it
)


class TargetDensity(NamedTuple):
    """Density (1/eigenvalue) of the law of the target at positions x, from edge to edge."""

    x: np.ndarray
    density: np.ndarray


@dataclass(frozen=True)
class TrainedSpectrum:
    """Singular values of S at one alpha: the law of the theory and the trained maps, shape (runs,
    d).

    Attributes:
        simulated: distances from the law of maps drawn from the model of the theory, shape
            (MODEL_DRAWS,).
        target: density of the target; None if its law has no density.
        smaller: singular values of maps of smaller sizes, from which distances are extrapolated.
    """

    alpha: float
    dim: int
    theory: LearnedSpectrum
    values: np.ndarray
    simulated: np.ndarray
    target: TargetDensity | None = None
    smaller: tuple[np.ndarray, ...] = ()

    def trained_ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ranks 1 to d and the mean singular value of each, without the zeros."""
        values = np.sort(self.values, axis=1)[:, ::-1].mean(axis=0)
        kept = values > ZERO * values.max()
        return np.arange(1, self.dim + 1)[kept], values[kept]

    @property
    def distance(self) -> float:
        """Return the distance between the trained distribution and the law."""
        return distance(self.theory, (*self.smaller, self.values))

    @property
    def p_value(self) -> float:
        """Return the probability that maps drawn from the model of the theory are as far from its
        law as the trained ones.
        """
        return p_value(self.distance, self.simulated)

    @property
    def agrees(self) -> bool:
        """Return whether the trained spectrum is no further from the law than some drawn from the
        model.
        """
        return self.p_value > LEAST_P


def trained_spectrum(
    results: Sequence[RunResult], solved: Solution | None = None
) -> TrainedSpectrum:
    """Return the singular values of the converged `results`, all of one setting, with the law of
    the theory.

    If the law of the target has a limit, the results may be of several sizes.

    Args:
        results: trained heads.
        solved: solution of the theory; solved here by default.

    Raises:
        NoAnswer: no run converged, or the theory did not.
    """
    converged = [r for r in results if r.status is DescentStatus.CONVERGED]
    if not converged:
        raise NoAnswer(
            f"alpha {results[0].run.problem.alpha:g}: no run converged: {results[0].status.value}"
        )
    sizes = [
        [r for r in converged if r.run.dim == dim] for dim in sorted({r.run.dim for r in converged})
    ]
    run, q0 = sizes[-1][0].run, sizes[-1][0].q0
    # A power law has no limit of infinite d: its law consists of its eigenvalues.
    problem = (
        run.problem
        if isinstance(run.problem.target, MarchenkoPastur)
        else realised_problem(run, q0)
    )
    solution = (solved or solve(problem)).unwrap()
    theory = learned_spectrum(solution).singular_values()
    rng = np.random.default_rng(run.entropy)
    drawn = [
        distance(
            theory, [model_spectra(solution, group[0].run, len(group), rng) for group in sizes]
        )
        for _ in range(MODEL_DRAWS)
    ]
    *smaller, values = (np.array([r.singular_values for r in group]) for group in sizes)
    density = _target_density(run.problem)
    return TrainedSpectrum(
        run.problem.alpha, run.dim, theory, values, np.array(drawn), density, tuple(smaller)
    )


def _target_density(problem: Problem) -> TargetDensity | None:
    target = problem.target
    if not isinstance(target, MarchenkoPastur):
        return None
    x, _ = edge_grid(*target_edges(target), DENSITY_POINTS)
    return TargetDensity(x, target_density(x, target))


def spectrum_task(results: Sequence[RunResult], solved: Solution | None = None) -> Task:
    """Return `trained_spectrum` as a task.

    Args:
        results: trained heads.
        solved: solution of the theory, if there is one.
    """
    run = results[-1].run
    label = f"spectrum at dim {run.dim} alpha {run.problem.alpha:g}"
    return Task(
        trained_spectrum,
        (tuple(results), solved),
        _COST * run.dim**2 * len(results),
        label,
        "spectra",
    )


def model_spectra(solution: Solution, run: Run, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return eigenvalues of maps drawn from the model of the theory at the size of the run, shape
    (count, d), decreasing.

    Args:
        solution: solution of the theory.
        run: states the size.
        count: number of maps.
        rng: source of the maps.
    """
    return np.array([_model_spectrum(solution, run, rng) for _ in range(count)])


def _model_spectrum(solution: Solution, run: Run, rng: np.random.Generator) -> np.ndarray:
    """Return the singular values of one map drawn from the model, decreasing, shape (d,)."""
    learned = learned_values(
        solution, run, np.linalg.eigvalsh(noisy_target(solution, run, rng))[::-1]
    )
    return np.sort(np.abs(learned))[::-1]


def noisy_target(solution: Solution, run: Run, rng: np.random.Generator) -> np.ndarray:
    """Return Y = S0 + delta Z at the size of the run, shape (d, d); a deterministic S0 is diagonal
    and decreasing.

    Args:
        solution: solution of the theory.
        run: states the size.
        rng: source of Z.
    """
    noise = rng.standard_normal((run.dim, run.dim))
    return _effective_target(run, solution, rng) + solution.delta * (noise + noise.T) / np.sqrt(
        2 * run.dim
    )


def learned_values(solution: Solution, run: Run, noisy: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of S, decreasing, shape (d,), from those of Y.

    Args:
        solution: solution of the theory.
        run: states the width.
        noisy: eigenvalues of Y, shape (d,).
    """
    if not run.problem.trains_factors:
        return solution.c * noisy
    values = np.maximum(generated.shrinkage(noisy, solution.b, solution.c), 0.0)
    values[run.columns :] = 0.0
    return values


def _effective_target(run: Run, solution: Solution, rng: np.random.Generator) -> np.ndarray:
    if run.target_kind is TargetKind.GAUSSIAN:
        return gaussian_target(run.dim, rank_ratio(run.problem.target), rng)
    eigenvalues = run.target_eigenvalues().copy()
    eigenvalues[: len(solution.strengths)] = solution.strengths[::-1]
    return np.diag(eigenvalues)


def _least_nonzero(largest: float) -> float:
    """Return the size up to which singular values count as zero, also if all of them are."""
    return max(ZERO * largest, float(np.finfo(float).tiny))


def distance(theory: LearnedSpectrum, maps: Sequence[np.ndarray]) -> float:
    """Return the largest gap between the empirical distribution function and that of the theory,
    from ZERO of the largest value on.

    Values are counted from above, so the border between small singular values and zeros does not
    matter.

    Args:
        theory: law of the theory.
        maps: singular values, shape (runs, d), of each size, extrapolated to infinite d as in
            `score_at`.
    """
    runs, dims = zip(*(values.shape for values in maps), strict=True)
    least = _least_nonzero(max(values.max() for values in maps))
    x = np.concatenate([[least], *(values[values > least] for values in maps)])
    above = intercept_weights(dims, runs) @ [_share_above(x, values) for values in maps]
    return float(np.abs(theory.mass_above(x) - above).max())


def _share_above(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the share of values above x; a value equal to x counts as a half."""
    ascending = np.sort(values, axis=None)
    return 1 - (np.searchsorted(ascending, x, "left") + np.searchsorted(ascending, x, "right")) / (
        2 * values.size
    )


def zero_fraction(values: np.ndarray) -> float:
    """Return the share of singular values that are zero."""
    return float((values <= _least_nonzero(values.max())).mean())
