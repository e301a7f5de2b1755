"""The main job as a JSON document."""

from __future__ import annotations

import math
from typing import Any

from numeric.maths.domain import finite
from verify.core.documents import comparison_document, line_document, spectrum_summary
from verify.core.versions import versions
from verify.main_job.study import MainJobOutcome
from verify.studies.exponents.text import exponent_document
from verify.studies.scaling.text import scaling_document
from verify.studies.thresholds.text import threshold_document


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
