"""Text and JSON values of exponents of trained students."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from attention_erm.runtime.text_table import table_text
from numeric.maths.domain import finite
from verify.core.versions import versions
from verify.studies.exponents.study import ExponentEstimate, ExponentOutcome, SlopeAtSize

_NAMES = {"excess_error": "excess test error", "estimation_error": "estimation error"}


def exponent_lines(outcome: ExponentOutcome) -> Iterator[str]:
    """Yield every slope with the theory's, the estimate of each exponent, and the verdict."""
    for one in outcome.exponents:
        yield (
            f"gamma {one.gamma}, {one.path.name}: slope of the {_NAMES[one.path.quantity]}, "
            f"exponent {one.exponent}\n"
        )
        table = table_text([_slope_row(slope) for slope in one.slopes])
        yield from (f"  {line}\n" for line in table.splitlines())
        limit = f", limit of the trained slopes alone {one.limit:.3f}" if one.limit else ""
        word = "agrees" if one.agrees else "DISAGREES"
        yield f"  exponent {float(one.exponent):.3f}: {word}; estimate {one.estimate:.3f}{limit}\n"
        if one.approach:
            yield f"  theory beyond: {slopes_text(one.approach)}\n"
            yield f"    corrections go as d^-{one.correction:.3g}; {near_words(one.near)}\n"
    yield f"exponents: {'agree' if outcome.agrees else 'DISAGREE'}\n"


def _slope_row(slope: SlopeAtSize) -> dict[str, object]:
    failed = [
        f"{name} DISAGREE"
        for name, agrees in (("slopes", slope.slope_agrees), ("errors", slope.level_agrees))
        if not agrees
    ]
    missing = f"; {slope.left_out} runs not converged" if slope.left_out else ""
    return {
        "d": slope.dim,
        "n": f"{slope.samples[0]} to {slope.samples[-1]}",
        "trained slope": f"{slope.trained:.3f}",
        "theory": f"{slope.theory:.3f}",
        "exponent": f"{slope.estimate:.3f}",
        "error/theory": f"{1 + slope.level.value:.3f}",
        "verdict": (", ".join(failed) or "agrees") + missing,
    }


def slopes_text(slopes: Iterable[tuple[int, float]]) -> str:
    """Return pairs (d, slope) as text."""
    return ", ".join(f"{slope:.3f} at d = {dim:.0e}" for dim, slope in slopes)


def near_words(near: float) -> str:
    """Return as text the d from which on the slope is within 10 % of the exponent, given log10 of
    that d.
    """
    if math.isnan(near):
        return "one slope cannot show from which d on it is near"
    if math.isinf(near):
        return "not within 10 % at any d (extrapolated)"
    return f"within 10 % from d = 1e{math.ceil(near)} on (extrapolated)"


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
