"""Text and JSON values of exponents of trained students."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from numeric.maths.domain import finite
from verify.core.versions import versions
from verify.studies.exponents.study import ExponentEstimate, ExponentOutcome, SlopeAtSize

_NAMES = {"excess_error": "excess test error", "estimation_error": "estimation error"}


def exponent_lines(outcome: ExponentOutcome) -> Iterator[str]:
    """Yield every slope with the theory's, the estimate of each exponent, and the verdict."""
    for one in outcome.exponents:
        yield (
            f"gamma {one.gamma}, {one.path.name}, slope of the {_NAMES[one.path.quantity]}, "
            f"exponent {one.exponent}:\n"
        )
        yield from map(_slope_line, one.slopes)
        limit = f", limit of the trained slopes alone {one.limit:.3f}" if one.limit else ""
        word = "agrees" if one.agrees else "DISAGREES"
        yield f"  exponent {float(one.exponent):.3f}: {word}; estimate {one.estimate:.3f}{limit}\n"
        if one.approach:
            slopes = ", ".join(f"{slope:.3f} at d = {dim:.0e}" for dim, slope in one.approach)
            yield (
                f"  theory beyond: {slopes}; corrections go as d^-{one.correction:.3g}, "
                f"{near_words(one.near)}\n"
            )
    yield f"exponents: {'agree' if outcome.agrees else 'DISAGREE'}\n"


def _slope_line(slope: SlopeAtSize) -> str:
    left_out = f"; {slope.left_out} runs left out, not converged" if slope.left_out else ""
    return (
        f"  d {slope.dim}, n {slope.samples[0]} to {slope.samples[-1]}, {slope.runs} runs of "
        f"{slope.hidden} columns: trained "
        f"{slope.trained:.3f}, theory {slope.theory:.3f}; estimate of the exponent "
        f"{slope.estimate:.3f}, "
        f"{'agrees' if slope.slope_agrees else 'DISAGREES'}; errors over theory "
        f"{1 + slope.level.value:.3f}, "
        f"{'agree' if slope.level_agrees else 'DISAGREE'}{left_out}\n"
    )


def near_words(near: float) -> str:
    """Return as text the d from which on the slope is within 10 % of the exponent, given log10 of
    that d.
    """
    if math.isnan(near):
        return "one slope cannot show from which d on it is near"
    if math.isinf(near):
        return "within 10 % at no d, by the farthest of these"
    return f"within 10 % from d = 1e{math.ceil(near)} on, by the farthest of these"


def exponent_document(outcome: ExponentOutcome) -> dict[str, Any]:
    """Return the outcome as JSON values."""
    plan = outcome.plan
    return {
        "agrees": outcome.agrees,
        "parameters": {
            "noise": plan.noise,
            "seed": plan.entropy,
            "shuffle_labels": plan.shuffle_labels,
            "theory_gamma_off": str(plan.perturbation.gamma),
            "theory_noise_factor": plan.perturbation.noise,
        },
        "exponents": [_exponent_document(one) for one in outcome.exponents],
        "versions": versions(),
    }


def _exponent_document(one: ExponentEstimate) -> dict[str, Any]:
    return {
        "gamma": str(one.gamma),
        "cell": one.path.name,
        "quantity": one.path.quantity,
        "exponent": str(one.exponent),
        "agrees": one.agrees,
        "seen": one.estimate._asdict(),
        "limit": one.limit._asdict() if one.limit else None,
        "slowest_correction": one.correction,
        "near_log10_dim": finite(one.near),
        "slopes": [_slope_document(slope) for slope in one.slopes],
        "beyond": [{"dim": dim, "theory": slope} for dim, slope in one.approach],
    }


def _slope_document(slope: SlopeAtSize) -> dict[str, Any]:
    names = (
        "dim",
        "samples",
        "runs",
        "hidden",
        "errors",
        "theory_errors",
        "theory",
        "theory_error",
        "slope_agrees",
        "level_agrees",
        "left_out",
    )
    return {
        **{name: getattr(slope, name) for name in names},
        "trained": slope.trained._asdict(),
        "seen": slope.estimate._asdict(),
        "level": slope.level._asdict(),
    }
