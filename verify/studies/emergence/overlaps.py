"""Overlaps with single features: of trained maps, and of maps drawn from the theory's model of S at the same size.

As d grows an overlap is that of the theory's formula. At finite d an eigenvector scatters from one draw of the noise to the next, and
where features meet each other or the threshold the mean follows the scatter: maps S = c (S0 + delta Z - b)_+ at the theory's own c,
delta and b (arXiv 2509.24914, Claim 4.1) say by how much, with no parameter from training.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from numeric.problem.solution import Solution
from numeric.studies.sequential_recovery import FeatureOverlaps
from verify.core.measure import LeadingOverlaps, RunResult, leading_overlaps
from verify.core.run import Run
from verify.core.spectra import ZERO, learned_values, noisy_target


def trained_overlaps(results: Sequence[RunResult], count: int) -> FeatureOverlaps:
    """Those of trained maps with their first `count` features, arrays of shape (runs, count)."""
    return _collected(
        [LeadingOverlaps(r.eigenvalues, r.overlaps, r.held) for r in results],
        results[0].run.target_eigenvalues()[:count],
    )


def model_overlaps(solution: Solution, run: Run, count: int, draws: int) -> FeatureOverlaps:
    """The same of maps drawn from the theory's model at the size of the run, arrays of shape (draws, count)."""
    eigenvalues = run.target_eigenvalues()
    if solution.unwrap().q == 0:
        return FeatureOverlaps(np.zeros((draws, count)), np.zeros((draws, count)))
    rng = np.random.default_rng([run.entropy, run.dim, run.samples])
    target = torch.diag(torch.as_tensor(eigenvalues.copy()))
    drawn = [
        leading_overlaps(torch.as_tensor(_model_map(solution, run, rng)), target)
        for _ in range(draws)
    ]
    return _collected(drawn, eigenvalues[:count])


def _model_map(solution: Solution, run: Run, rng: np.random.Generator) -> np.ndarray:
    values, vectors = np.linalg.eigh(noisy_target(solution, run, rng))
    vectors = vectors[:, ::-1]
    return (vectors * learned_values(solution, run, values[::-1])) @ vectors.T


def _collected(measured: Sequence[LeadingOverlaps], eigenvalues: np.ndarray) -> FeatureOverlaps:
    """An eigenvector of an eigenvalue that is zero is none of S."""
    count, least = len(eigenvalues), ZERO * eigenvalues[0]
    values, overlaps, held = (np.array([one[k][:count] for one in measured]) for k in range(3))
    return FeatureOverlaps(held, np.where(values > least, overlaps, 0.0))
