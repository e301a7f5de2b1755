"""JSON documents of outcomes that several studies share; NaN becomes null."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import PowerLaw
from numeric.maths.domain import finite
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from verify.core.realised_problem import COMPARED_QUANTITIES
from verify.core.run import Run
from verify.core.scores import Comparison, Score
from verify.core.spectra import TrainedSpectrum


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return verdicts, every score and the excluded runs as JSON values."""
    return {
        "agrees": comparison.agrees,
        "verdicts": [
            {
                "quantity": v.quantity,
                "agrees": v.agrees,
                "advice": v.advice,
                "worst_z": finite(v.worst.z),
                "worst_alpha": v.worst.problem.alpha,
                "worst_width": v.worst.problem.width,
                "mean_relative_residual": finite(v.pooled.relative),
                "mean_standard_error": finite(v.pooled.standard_error),
            }
            for v in comparison.verdicts
        ],
        "points": [score_document(score) for score in comparison.scores],
        "excluded": [
            {
                "run": run_document(r.run),
                "status": r.status.name.lower(),
                "advice": r.status.value,
                "relative_gradient": finite(r.relative_gradient),
            }
            for r in comparison.excluded
        ],
    }


def score_rows(scores: Iterable[Score]) -> list[dict[str, object]]:
    """Return a row for each quantity, point and size: measurement, theory, and the score
    extrapolated in d.
    """
    return [
        {
            "alpha": score.problem.alpha,
            "quantity": score.quantity,
            "dim": group.dim,
            "runs": group.runs,
            "trained": group.simulation,
            "standard_error": finite(group.standard_error),
            "theory": group.theory,
            "z": finite(score.z),
            "verdict": "agrees" if score.agrees else "DISAGREES",
            "theory_status": score.theory_status,
        }
        for score in scores
        for group in score.groups
    ]


def score_document(score: Score) -> dict[str, Any]:
    """Return one quantity at one point, with the means at each size, as JSON values."""
    return {
        "quantity": score.quantity,
        **problem_document(score.problem),
        "z": finite(score.z),
        "residual": finite(score.residual),
        "standard_error": finite(score.standard_error),
        "degrees_of_freedom": finite(score.degrees_of_freedom),
        "theory_error": finite(score.theory_error),
        "theory_status": score.theory_status,
        "sizes": size_documents(score),
    }


def size_documents(score: Score) -> list[dict[str, Any]]:
    """Return the means at each size as JSON values."""
    return [
        {name: finite(value) for name, value in dataclasses.asdict(group).items()}
        for group in score.groups
    ]


def problem_document(problem: Problem) -> dict[str, Any]:
    """Return the parameters of a problem with the law of its target: a rank ratio, a power law, or
    a list of eigenvalues.
    """
    law = problem.target
    listed = (
        law.eigenvalues if isinstance(law, Eigenvalues) and not isinstance(law, PowerLaw) else ()
    )
    return {
        "alpha": problem.alpha,
        "kappa0": law.kappa0 if isinstance(law, MarchenkoPastur) else None,
        **{
            name.rstrip("_"): getattr(problem, name)
            for name in ("width", "lambda_", "noise", "tokens", "beta", "beta0")
        },
        "target_scale": law.scale if isinstance(law, MarchenkoPastur) else 1.0,
        "parametrisation": str(problem.parametrisation),
        "power_law": law.gamma if isinstance(law, PowerLaw) else None,
        "spikes": [value for value in listed if value > 0],
        "eigenvalues": list(listed),
    }


def run_document(run: Run) -> dict[str, Any]:
    """Return the parameters of a run with its key as JSON values."""
    return {**run.record(), "key": run.key}


def listed(values: np.ndarray) -> Any:
    """Return an array as nested lists of numbers; NaN becomes None."""
    return [listed(row) for row in values] if values.ndim else finite(float(values))


def spectrum_summary(spectrum: TrainedSpectrum) -> dict[str, Any]:
    """Return the setting of a spectrum, its distance from the law, and the data of its figure."""
    return {
        "alpha": spectrum.alpha,
        "dim": spectrum.dim,
        "runs": len(spectrum.values),
        "zero_mass": spectrum.theory.zero_mass,
        "distance": spectrum.distance,
        "p_value": spectrum.p_value,
        "agrees": spectrum.agrees,
        **spectrum_values(spectrum),
    }


def spectrum_values(spectrum: TrainedSpectrum) -> dict[str, Any]:
    """Return the densities of the theory and of the target, if it has one, and the singular values
    of each run.
    """
    target, theory = spectrum.target, spectrum.theory
    return {
        "target": target and {"x": listed(target.x), "density": listed(target.density)},
        "bulk": {"x": listed(theory.x), "density": listed(theory.density)},
        "singular_values": spectrum.values.tolist(),
    }


def line_document(solutions: Iterable[Solution]) -> list[dict[str, Any]]:
    """Return a theory line point by point, including points without solution."""
    return [
        {
            "alpha": s.problem.alpha,
            "lambda": s.problem.lambda_,
            "status": s.status.name.lower(),
            "replicon": finite(s.replicon),
            **{quantity: s.value(quantity) for quantity in COMPARED_QUANTITIES},
            "error_estimates": {
                quantity: s.errors.get(quantity) for quantity in COMPARED_QUANTITIES
            },
        }
        for s in solutions
    ]
