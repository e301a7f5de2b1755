"""Text and JSON values of emerging features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from verify.core.documents import listed
from verify.core.versions import versions
from verify.studies.emergence.study import EmergenceOutcome, OverlapPoint


def emergence_lines(outcome: EmergenceOutcome) -> Iterator[str]:
    """Yield n_k of every feature with the theory's, the scores of the overlaps, and the verdict."""
    plan = outcome.plan
    yield "n_k: feature k leaves the bulk of S; trained, interval of 95 %, and theory\n"
    for one in outcome.emergences:
        trained = f"{one.trained:.0f}" if one.trained else "not found"
        word = "agrees" if one.agrees else "DISAGREES"
        yield f"  d {one.dim}, feature {one.feature}: {trained}, theory {one.theory:.0f}: {word}\n"
    if not outcome.emergences:
        yield "  none inside the numbers of samples trained, at least one point from an end\n"
    yield (
        f"v_k^T S v_k / s_k of features 1 to {plan.features}, trained (model), and z from n_k on\n"
    )
    yield from (_place_line(place, outcome) for place in outcome.places)
    if outcome.left_out:
        yield f"{outcome.left_out} runs left out, not converged\n"
    if len(scores := outcome.scores):
        yield (
            f"{len(scores)} scores: largest |z| {np.abs(scores).max():.1f}, root mean square "
            f"{np.sqrt(np.mean(scores**2)):.2f}\n"
        )
    if not outcome.emergences:
        yield "emergence: UNDETERMINED: no feature emerges at the numbers of samples trained\n"
    else:
        yield f"emergence: {'agrees' if outcome.agrees else 'DISAGREES'}\n"


def _place_line(place: OverlapPoint, outcome: EmergenceOutcome) -> str:
    s = outcome.plan.at(place.dim).target_eigenvalues()[: outcome.plan.features]
    trained, model = place.trained.held.mean(axis=0) / s, place.model.held.mean(axis=0) / s
    scores = (
        f" {z:+.1f}" if judged else "" for z, judged in zip(place.z, place.judged, strict=True)
    )
    cells = (f"{a:.3f} ({b:.3f}){z}" for a, b, z in zip(trained, model, scores, strict=True))
    return f"  d {place.dim}, n {place.samples}: {', '.join(cells)}\n"


def emergence_document(outcome: EmergenceOutcome) -> dict[str, Any]:
    """Return the outcome as JSON values."""
    plan = outcome.plan
    problem = plan.base.problem
    return {
        "agrees": outcome.agrees,
        "parameters": {
            "lambda": plan.decay.name,
            "noise": problem.noise,
            "beta": problem.beta,
            "beta0": problem.beta0,
            "data": str(plan.base.data),
            "seed": plan.base.entropy,
            "shuffle_labels": plan.base.shuffle_labels,
        },
        "emergences": [
            {
                "dim": one.dim,
                "feature": one.feature,
                "eigenvalue": one.eigenvalue,
                "theory": one.theory,
                "trained": one.trained and one.trained._asdict(),
                "judged": one.judged and one.judged._asdict(),
                "agrees": one.agrees,
            }
            for one in outcome.emergences
        ],
        "places": [_place_document(place) for place in outcome.places],
        "theory": [
            {
                "dim": dim,
                "samples": listed(theory.line_samples),
                "held": listed(theory.overlaps.held),
                "aligned": listed(theory.overlaps.aligned),
            }
            for dim, theory in outcome.theory.items()
        ],
        "left_out": outcome.left_out,
        "versions": versions(),
    }


def _place_document(place: OverlapPoint) -> dict[str, Any]:
    held, aligned = (
        {
            "trained": trained.mean(axis=0).tolist(),
            "deviation": trained.std(axis=0, ddof=1).tolist(),
            "model": model.mean(axis=0).tolist(),
            "model_deviation": model.std(axis=0, ddof=1).tolist(),
            "formula": formula.tolist(),
        }
        for trained, model, formula in zip(place.trained, place.model, place.formula, strict=True)
    )
    scores = [float(z) if judged else None for z, judged in zip(place.z, place.judged, strict=True)]
    known = {"dim": place.dim, "samples": place.samples, "runs": len(place.trained.held)}
    return {**known, "held": held, "aligned": aligned, "z": scores}
