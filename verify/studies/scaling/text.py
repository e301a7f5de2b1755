"""Text and JSON values of scaling laws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_erm.runtime.text_table import table_text
from numeric.maths.domain import finite
from verify.core.documents import comparison_document, listed, spectrum_summary
from verify.core.sequences import LEADING, LEAST_RATIO
from verify.core.text import excluded_lines, verdict_lines
from verify.studies.scaling.error_parts import ERROR_PARTS
from verify.studies.scaling.study import ScalingOutcome, Slope, TrainedPoint


def scaling_document(outcome: ScalingOutcome) -> dict[str, Any]:
    """Return the outcome as JSON values; NaN becomes null."""
    base, problem = outcome.plan.base, outcome.plan.base.problem
    return {
        "parameters": {
            "power_law": float(outcome.plan.gamma),
            "noise": problem.noise,
            "beta": problem.beta,
            "beta0": problem.beta0,
            "data": str(base.data),
            "seed": base.entropy,
            "lambda": [decay.name for decay in outcome.plan.decays],
        },
        "agrees": outcome.agrees,
        "points": [_place_document(place) for place in outcome.places],
        "slopes": [_slope_document(slope) for slope in outcome.slopes],
        "spectra": [
            {"lambda": decay.name, **spectrum_summary(p)}
            for (decay, _), p in outcome.panels.items()
        ],
        "comparison": comparison_document(outcome.comparison),
        "lines": [
            {
                "dim": dim,
                "lambda": decay.name,
                "samples": [point.samples for point in line],
                "excess_error": [finite(point.excess_error) for point in line],
            }
            for (dim, decay), line in outcome.lines.items()
        ],
        "target": listed(outcome.target),
        "phases": outcome.phases
        and {"dim": outcome.phases.dim, "local_slopes": outcome.phases.slopes},
        "sketches": [
            {name: listed(np.asarray(value)) for name, value in vars(sketch).items()}
            for sketch in outcome.sketches
        ],
    }


def _slope_document(slope: Slope) -> dict[str, Any]:
    return {
        "dim": slope.dim,
        "decay": slope.decay.name,
        "regime": slope.regime,
        "samples": slope.samples,
        **slope.trained._asdict(),
        "held": [slope.joint.low, slope.joint.high],
        "theory": slope.theory,
        "exponent": slope.exponent,
        "judged": slope.judged,
        "agrees": slope.agrees,
    }


def _place_document(place: TrainedPoint) -> dict[str, Any]:
    ratio, error = place.ratio
    return {
        "dim": place.dim,
        "lambda": place.decay.name,
        "alpha": place.alpha,
        "n": place.samples,
        "regime": place.regime.name,
        "excess_error": place.mean,
        "standard_deviation": finite(place.deviation),
        "runs": len(place.excess),
        "theory": place.theory,
        "expected": finite(place.expected),
        "ratio": ratio,
        "ratio_standard_error": finite(error),
        "z": finite(place.z),
        "learned": place.learned,
        "parts": dict(zip(ERROR_PARTS, place.parts.means, strict=True)),
        "theory_parts": dict(
            zip(ERROR_PARTS, map(finite, place.parts.theory.tolist()), strict=True)
        ),
        "part_scores": dict(zip(ERROR_PARTS, map(finite, place.parts.scores), strict=True)),
    }


def scaling_lines(outcome: ScalingOutcome) -> Iterator[str]:
    """Yield the table of all points, then the lines of slopes, spectra and verdicts."""
    yield from scaling_point_lines(outcome)
    yield from scaling_result_lines(outcome)


def scaling_point_lines(outcome: ScalingOutcome) -> Iterator[str]:
    """Yield the data, and every point with its ratio to the theory."""
    base, gamma = outcome.plan.base, float(outcome.plan.gamma)
    yield (
        f"excess errors of a power law k^-{gamma:g} on {base.data}, noise {base.problem.noise:g}:\n"
    )
    if outcome.places:
        yield table_text([_place_row(place) for place in outcome.places])


def scaling_result_lines(outcome: ScalingOutcome) -> Iterator[str]:
    """Yield every slope with the theory and the exponent, the spectra, the verdicts, and the
    excluded runs.
    """
    for slope in outcome.slopes:
        yield (
            f"slope, d {slope.dim}, lambda {slope.decay}, n {slope.samples[0]} to "
            f"{slope.samples[1]}: trained {slope.trained:.3f}, "
            f"theory {slope.theory:.3f}, "
            f"{_word(slope)}; exponent of the regime ({slope.regime}) as d grows "
            f"{slope.exponent:.3f}\n"
        )
    for (decay, alpha), panel in outcome.panels.items():
        yield (
            f"spectrum, d {panel.dim}, lambda {decay}, n/d^2 {alpha:g}: distance of the "
            "distribution functions "
            f"{panel.distance:.4f}, p {panel.p_value:.3f}\n"
        )
    yield from verdict_lines(outcome.comparison)
    yield from excluded_lines(outcome.comparison.excluded)
    yield scaling_verdict_line(outcome)


def _place_row(place: TrainedPoint) -> dict[str, object]:
    ratio, error = place.ratio
    return {
        "d": place.dim,
        "lambda": place.decay.name,
        "n": place.samples,
        "trained": place.mean,
        "theory": place.theory,
        "ratio": f"{ratio:.3f}",
        "+-": f"{error:.3f}",
        "expected": place.expected,
        "z": f"{place.z:+.1f}",
        "regime": place.regime.name,
    }


def _word(slope: Slope) -> str:
    if not slope.judged:
        return f"{'within' if slope.agrees else 'outside'}, not judged as n < {LEAST_RATIO} d"
    return "agrees" if slope.agrees else "DISAGREES"


def scaling_verdict_line(outcome: ScalingOutcome) -> str:
    """Return the verdict as text."""
    *first, last = outcome.judged or ("nothing",)
    judged = f"{', '.join(first)} and {last}" if first else last
    word = "agree" if outcome.agrees else "DISAGREE"
    if outcome.gaussian:
        return f"Gaussian-equivalent data: {judged} {word} with the theory\n"
    if not outcome.judged:
        return (
            f"token sequences: no whole feature is learned where n >= {LEAST_RATIO} d at every "
            "size, nothing is judged; "
            "raise --alpha, lower --lambda or leave out small --dim\n"
        )
    return (
        f"token sequences, n >= {LEAST_RATIO} d: {judged} {word} with the theory of their "
        f"indices, of which the first {LEADING} "
        "(d/2 at small d) are not Gaussian (ratio: the universality gap of the theory that "
        "assumes Gaussian indices)\n"
    )
