"""Outcomes as JSON values; numbers that do not exist are null."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import PowerLaw
from numeric.maths.domain import finite
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from verify.judging.error_parts import ERROR_PARTS
from verify.judging.realised import COMPARED_QUANTITIES
from verify.judging.scores import Comparison, Score
from verify.judging.spectra import TrainedSpectrum, zero_fraction
from verify.networks.width import WidthPoint
from verify.report.exponents import exponent_document
from verify.report.thresholds import threshold_document
from verify.report.versions import versions
from verify.studies.learning_curves import LearningCurveOutcome
from verify.studies.main_job import MainJobOutcome
from verify.studies.message_passing import MessagePassingPoint
from verify.studies.models import JUDGED, ModelOutcome
from verify.studies.scaling import Place, ScalingOutcome, Slope
from verify.training.run import Run


def main_job_document(outcome: MainJobOutcome) -> dict[str, Any]:
    """Return the report as JSON values; numbers that do not exist are null."""
    base = outcome.plan.base.record()
    return {
        "agrees": outcome.agrees,
        "comparisons": {str(kind): comparison_document(c) for kind, c in outcome.comparisons.items()},
        "curves": [{"width": width, "theory": line_document(line)} for width, line in outcome.curves.items()],
        "thresholds": {kind: {"value": t.value, "digits": t.digits} for kind, t in outcome.thresholds.items()},
        "spectra": [
            {**spectrum_summary(p), "second_moment": p.theory.second_moment,
             "trained_second_moment": float((p.values**2).mean())}
            for p in outcome.panels
        ],
        "scaling": scaling_document(outcome.laws) if outcome.laws else None,
        "exponents": [
            {"regime": a.regime, "exponent": str(a.exponent), "reached": a.reached, "closes_in": a.closes_in,
             "slopes": [{"dim": dim, "slope": slope, "error": error} for dim, slope, error in a.slopes],
             "left_out": a.left_out, "settled_log10_dim": finite(a.settled),
             "near_log10_dim": finite(a.near)}
            for a in outcome.exponents
        ],
        "trained_exponents": exponent_document(outcome.trained) if outcome.trained else None,
        "trained_thresholds": threshold_document(outcome.sighted) if outcome.sighted else None,
        "parameters": {key: base[key] for key in _SHARED},
        "seed": outcome.plan.base.entropy,
        "seconds": outcome.seconds,
        "elapsed": outcome.elapsed,
        "run_seconds": math.fsum(result.seconds for result in outcome.results.values()),
        "versions": versions(),
    }  # fmt: skip


_SHARED = (
    *("kappa0", "lambda_", "noise", "tokens", "beta", "beta0", "target", "parametrisation", "minimiser", "device"),
    "shuffle_labels",
)


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return verdicts, every score and the excluded runs as JSON values."""
    return {
        "agrees": comparison.agrees,
        "verdicts": [
            {"quantity": v.quantity, "agrees": v.agrees, "advice": v.advice, "worst_z": finite(v.worst.z),
             "worst_alpha": v.worst.problem.alpha, "worst_width": v.worst.problem.width,
             "mean_relative_residual": finite(v.pooled.relative),
             "mean_standard_error": finite(v.pooled.standard_error)}
            for v in comparison.verdicts
        ],
        "points": [score_document(score) for score in comparison.scores],
        "excluded": [
            {"run": _run_document(r.run), "status": r.status.name.lower(), "advice": r.status.value,
             "relative_gradient": finite(r.relative_gradient)}
            for r in comparison.excluded
        ],
    }  # fmt: skip


def score_rows(scores: Iterable[Score]) -> list[dict[str, object]]:
    """A row for each quantity, point and size: what runs did beside the theory, and the score of the point, extrapolated in d."""
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
    """One quantity at one point, with the means at each size."""
    return {
        "quantity": score.quantity,
        **problem_document(score.problem),
        "z": finite(score.z),
        "residual": finite(score.residual),
        "standard_error": finite(score.standard_error),
        "degrees_of_freedom": finite(score.degrees_of_freedom),
        "theory_error": finite(score.theory_error),
        "theory_status": score.theory_status,
        "sizes": _sizes(score),
    }


def _sizes(score: Score) -> list[dict[str, Any]]:
    return [{name: finite(value) for name, value in dataclasses.asdict(group).items()} for group in score.groups]


def message_passing_document(point: MessagePassingPoint) -> dict[str, Any]:
    """Message passing at one sample ratio as JSON values: scores, the descents beside it, and runs left out."""
    return {
        "alpha": point.problem.alpha,
        "agrees": point.agrees,
        "order_parameters": [
            {"quantity": s.quantity, "z": finite(s.z), "residual": finite(s.residual), "standard_error": finite(s.standard_error),
             "theory_error": finite(s.theory_error), "descent": point.descent.get(s.quantity), "sizes": _sizes(s)}
            for s in point.scores
        ],
        "largest_distance_of_maps": point.distance,
        "most_steps": point.steps,
        "most_evaluations": point.evaluations,
        "excluded": [{"run": _run_document(r.run), "status": r.status.name.lower(), "advice": r.status.value} for r in point.failed],
    }  # fmt: skip


def model_document(outcome: ModelOutcome) -> dict[str, Any]:
    """One model trained at several settings as JSON values."""
    return {
        "model": outcome.model,
        "agrees": outcome.agrees,
        "points": [
            {**score_document(score), **dict(score.problem.extra), "target": repr(score.problem.target), "agrees": score.agrees}
            for score in outcome.scores
        ],
        "curve": [
            {"alpha": solution.problem.alpha, "status": solution.status.name.lower(),
             **{name: finite(getattr(solution, name)) if solution.trusted else None for name in JUDGED}}
            for solution in outcome.curve
        ],
    }  # fmt: skip


def model_rows(outcome: ModelOutcome) -> list[dict[str, object]]:
    """The same rows of one model, each with its setting."""
    return [{**_parameters(score.problem), **row} for score in outcome.scores for row in score_rows([score])]


def _parameters(problem: Problem) -> dict[str, object]:
    """Of a problem of any model: what all have, what this one takes, and settings of its own."""
    taken = {name: getattr(problem, name) for name in ("tokens", "beta", "beta0") if problem.takes(name)}
    stated = {"target": repr(problem.target), "lambda": problem.lambda_, "noise": problem.noise, "width": problem.width}
    return {**stated, **taken, "parametrisation": str(problem.parametrisation), **dict(problem.extra)}


def problem_document(problem: Problem) -> dict[str, Any]:
    """Parameters of a problem, with the law of its target: of a rank ratio, a power law, or a list of eigenvalues."""
    law = problem.target
    listed = law.eigenvalues if isinstance(law, Eigenvalues) and not isinstance(law, PowerLaw) else ()
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


def _run_document(run: Run) -> dict[str, Any]:
    return {**run.record(), "key": run.key}


def listed(values: np.ndarray) -> Any:
    """An array as a list of its rows, down to numbers; those that do not exist are null."""
    return [listed(row) for row in values] if values.ndim else finite(float(values))


def scaling_document(outcome: ScalingOutcome) -> dict[str, Any]:
    """The outcome as JSON values; numbers that do not exist are null."""
    base, problem = outcome.plan.base, outcome.plan.base.problem
    return {
        "parameters": {"power_law": float(outcome.plan.gamma), "noise": problem.noise, "beta": problem.beta, "beta0": problem.beta0,
                       "data": str(base.data), "seed": base.entropy, "lambda": [decay.name for decay in outcome.plan.decays]},
        "agrees": outcome.agrees,
        "points": [_place_document(place) for place in outcome.places],
        "slopes": [_slope_document(slope) for slope in outcome.slopes],
        "spectra": [
            {"lambda": decay.name, **spectrum_summary(p)}
            for (decay, _), p in outcome.panels.items()
        ],
        "comparison": comparison_document(outcome.comparison),
        "lines": [
            {"dim": dim, "lambda": decay.name, "samples": [point.samples for point in line],
             "excess_error": [finite(point.excess_error) for point in line]}
            for (dim, decay), line in outcome.lines.items()
        ],
        "target": listed(outcome.target),
        "phases": outcome.phases and {"dim": outcome.phases.dim, "local_slopes": outcome.phases.slopes},
        "sketches": [{name: listed(np.asarray(value)) for name, value in vars(sketch).items()} for sketch in outcome.sketches],
    }  # fmt: skip


def _slope_document(slope: Slope) -> dict[str, Any]:
    return {
        "dim": slope.dim, "decay": slope.decay.name, "regime": slope.regime, "samples": slope.samples, **slope.trained._asdict(),
        "held": [slope.held.low, slope.held.high], "theory": slope.theory, "exponent": slope.exponent, "judged": slope.judged,
        "agrees": slope.agrees,
    }  # fmt: skip


def _place_document(place: Place) -> dict[str, Any]:
    ratio, error = place.ratio
    return {
        "dim": place.dim, "lambda": place.decay.name, "alpha": place.alpha, "n": place.samples, "regime": place.regime.name,
        "excess_error": place.mean, "standard_deviation": finite(place.deviation), "runs": len(place.excess),
        "theory": place.theory, "expected": finite(place.expected), "ratio": ratio, "ratio_standard_error": finite(error),
        "z": finite(place.z), "learned": place.learned,
        "parts": dict(zip(ERROR_PARTS, place.parts.means, strict=True)),
        "theory_parts": dict(zip(ERROR_PARTS, map(finite, place.parts.theory.tolist()), strict=True)),
        "part_scores": dict(zip(ERROR_PARTS, map(finite, place.parts.scores), strict=True)),
    }  # fmt: skip


def spectrum_summary(spectrum: TrainedSpectrum) -> dict[str, Any]:
    """What a spectrum is of, how far it is from its law, and what a figure of it shows."""
    return {
        "alpha": spectrum.alpha, "dim": spectrum.dim, "runs": len(spectrum.values), "zero_mass": spectrum.theory.zero_mass,
        "distance": spectrum.distance, "p_value": spectrum.p_value, "agrees": spectrum.agrees, **_spectrum_values(spectrum),
    }  # fmt: skip


def _spectrum_values(spectrum: TrainedSpectrum) -> dict[str, Any]:
    """Densities of the theory and of the target, if it has one, beside the singular values of each run."""
    target, theory = spectrum.target, spectrum.theory
    return {
        "target": target and {"x": listed(target.x), "density": listed(target.density)},
        "bulk": {"x": listed(theory.x), "density": listed(theory.density)},
        "singular_values": spectrum.values.tolist(),
    }


def spectrum_document(spectrum: TrainedSpectrum) -> dict[str, object]:
    """A spectrum as JSON values, whole."""
    return {
        "alpha": spectrum.alpha,
        "zero_mass": spectrum.theory.zero_mass,
        "trained_zero_mass": zero_fraction(spectrum.values),
        "second_moment": spectrum.theory.second_moment,
        "trained_second_moment": float((spectrum.values**2).mean()),
        "distance": spectrum.distance,
        "p_value": spectrum.p_value,
        **_spectrum_values(spectrum),
    }


def line_document(solutions: Iterable[Solution]) -> list[dict[str, Any]]:
    """A line of the theory, point by point, solved or not."""
    return [
        {
            "alpha": s.problem.alpha,
            "lambda": s.problem.lambda_,
            "status": s.status.name.lower(),
            "replicon": finite(s.replicon),
            **{quantity: s.value(quantity) for quantity in COMPARED_QUANTITIES},
            "error_estimates": {quantity: s.errors.get(quantity) for quantity in COMPARED_QUANTITIES},
        }
        for s in solutions
    ]


def learning_curve_document(name: str, outcome: LearningCurveOutcome) -> dict[str, Any]:
    """The outcome as JSON values; numbers that do not exist are null."""
    return {
        "figure": name,
        "title": outcome.preset.title,
        "agrees": outcome.agrees,
        "curves": [
            {
                "label": curve.name,
                "theory": line_document(curve.solutions),
            }
            for curve in outcome.curves
        ],
        "comparison": comparison_document(outcome.comparison),
        "spectra": [{"label": label, **spectrum_summary(spectrum)} for label, spectrum in outcome.spectra],
        "training_order": list(outcome.training_order),
        "theory_order": list(outcome.theory_order),
        "starts": [effect._asdict() for effect in outcome.starts],
    }


def width_document(problem: Problem, points: Sequence[WidthPoint]) -> dict[str, Any]:
    """Networks along their width; slopes are null at the first one."""
    names = (
        *("hidden", "runs", "estimation_error", "estimation_deviation", "train_error", "train_deviation"),
        *("slope", "slope_deviation", "slope_theory", "ratio", "z", "slope_z", "agrees"),
    )
    rows = [
        {
            **{name: finite(getattr(point, name)) for name in names},
            "theory": {name: getattr(point.solution, name) for name in ("estimation_error", "train_error")},
            "status": point.solution.status.name.lower(),
        }
        for point in points
    ]
    assert isinstance(problem.target, PowerLaw)
    return {
        "agrees": all(point.agrees for point in points),
        "parameters": {"model": problem.model, "gamma": problem.target.gamma, "dim": problem.target.dim, "alpha": problem.alpha,
                       "lambda": problem.lambda_, "noise": problem.noise, "data": str(points[0].samples)},
        "points": rows,
        "versions": versions(),
    }  # fmt: skip
