"""Text and JSON values of capacities in training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attention_erm.runtime.text_table import table_text
from verify.core.intervals import INTERVAL_PROBABILITY
from verify.studies.capacity.study import CapacityEstimate, CapacityOutcome


def capacity_lines(outcome: CapacityOutcome) -> Iterator[str]:
    """Yield a table with a row for each setting, and the verdict."""
    table = table_text([_row(one) for one in outcome.estimates])
    yield from (f"{line}\n" for line in table.splitlines())
    yield f"capacity: {'agrees' if outcome.agrees else 'DISAGREES'}\n"


def _row(estimate: CapacityEstimate) -> dict[str, object]:
    return {
        "setting": estimate.case.setting,
        "theory": f"{estimate.theory.alpha:.6f}",
        **{f"d = {one.dim}": f"{one.simulation:.3f} +- {one.standard_error:.3f}"
           for one in estimate.groups},
        "d infinite, 95 %": f"{estimate.interval:.3f}",
        "z": f"{estimate.infinite.z:+.1f}",
        "verdict": capacity_verdict(estimate),
    }  # fmt: skip


def capacity_verdict(estimate: CapacityEstimate) -> str:
    """Return the verdict on one setting."""
    if not estimate.decides:
        return "undecided, add runs or larger sizes"
    return "agrees" if estimate.agrees else "DISAGREES"


def capacity_document(outcome: CapacityOutcome) -> dict[str, Any]:
    """Return the outcome as JSON values."""
    plan = outcome.plan
    return {
        "agrees": outcome.agrees,
        "parameters": {"seed": plan.seed, "data": str(plan.data)},
        "confidence": INTERVAL_PROBABILITY,
        "capacities": [_estimate_document(one) for one in outcome.estimates],
    }


def _estimate_document(estimate: CapacityEstimate) -> dict[str, Any]:
    problem = estimate.case.problem
    return {
        "model": problem.model,
        "target": repr(problem.target),
        "noise": problem.noise,
        "random_labels": estimate.case.random_labels,
        "theory": estimate.theory.alpha,
        "theory_error": estimate.theory.error,
        "sizes": [
            {
                "dim": one.dim,
                "runs": one.runs,
                "trained": one.simulation,
                "standard_error": one.standard_error,
            }
            for one in estimate.groups
        ],
        "trained": estimate.interval._asdict(),
        "z": estimate.infinite.z,
        "unresolved": estimate.unresolved,
        "verdict": capacity_verdict(estimate),
        "agrees": estimate.agrees,
    }
