"""Overlaps with single features, of trained maps and of maps drawn from the model of the theory at
the same size.

For large d an overlap follows the formula of the theory. At finite d an eigenvector scatters with
the noise, which changes the mean near degeneracies and near the threshold. Maps S = c (S0 + delta Z
- b)_+ with c, delta and b of the theory (arXiv 2509.24914, Claim 4.1) give this change without
parameters from training.
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
    """Return overlaps of trained maps with their first features, arrays of shape (runs, count).

    Args:
        results: runs of one size and number of samples.
        count: number of features.
    """
    return _collected(
        [LeadingOverlaps(r.eigenvalues, r.overlaps, r.held) for r in results],
        results[0].run.target_eigenvalues()[:count],
    )


def model_overlaps(solution: Solution, run: Run, count: int, draws: int) -> FeatureOverlaps:
    """Return overlaps of maps drawn from the theory's model, arrays of shape (draws, count).

    Args:
        solution: theory.
        run: run that gives size, target and seed.
        count: number of features.
        draws: number of maps.
    """
    eigenvalues = run.target_eigenvalues()
    if solution.unwrap().q == 0:
        return FeatureOverlaps(np.zeros((draws, count)), np.zeros((draws, count)))
    rng = np.random.default_rng([run.entropy, run.dim, run.samples])
    target = torch.diag(torch.as_tensor(eigenvalues.copy()))
    found = []
    for _ in range(draws):
        values, vectors = np.linalg.eigh(noisy_target(solution, run, rng))
        vectors = vectors[:, ::-1]
        s = (vectors * learned_values(solution, run, values[::-1])) @ vectors.T
        found.append(leading_overlaps(torch.as_tensor(s), target))
    return _collected(found, eigenvalues[:count])


def _collected(measured: Sequence[LeadingOverlaps], eigenvalues: np.ndarray) -> FeatureOverlaps:
    """Return the overlaps as arrays; an eigenvector of eigenvalue zero has overlap 0."""
    count, least = len(eigenvalues), ZERO * eigenvalues[0]
    values, overlaps, held = (np.array([one[k][:count] for one in measured]) for k in range(3))
    return FeatureOverlaps(held, np.where(values > least, overlaps, 0.0))
