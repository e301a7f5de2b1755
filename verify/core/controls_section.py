"""Comparison with the theory of the tokens and with controls as a section of a report."""

from __future__ import annotations

from attention_erm.runtime.text_table import table_text
from verify.core.controls import ControlledOutcome
from verify.core.documents import comparison_document, score_rows
from verify.core.scores import Comparison, worst_verdict
from verify.core.section import Claim, Section, verdict_claim
from verify.core.text import LABELS, comparison_lines


def controls_section(outcome: ControlledOutcome) -> Section:
    """Return the verdicts on all theories, and the scores of every point.

    Args:
        outcome: comparison with all theories.
    """
    plan, controls = outcome.plan, outcome.controls
    lines = [*comparison_lines(plan.tokens, outcome.comparison)]
    document: dict[str, object] = {"comparison": comparison_document(outcome.comparison)}
    claims = [_claim(plan.tokens, outcome.comparison)]
    for control, comparison in controls.items():
        lines += comparison_lines(f"theory of {control.theory} (control)", comparison)
        document[control.key] = comparison_document(comparison)
        document[f"rejects_{control.key}"] = outcome.rejects(control)
        claims.append(_control(control.theory, comparison))
    rows = score_rows(outcome.comparison.scores)
    shown = [
        {name: value for name, value in row.items() if name != "theory_status"} for row in rows
    ]
    return Section(
        plan.title,
        outcome.agrees,
        (*lines, _verdict(outcome)),
        document,
        tuple(claims),
        points=(table_text(shown),),
        rows=rows,
    )


def _verdict(outcome: ControlledOutcome) -> str:
    found = "agrees" if outcome.comparison.agrees else "disagrees"
    parts = [f"theory of the {outcome.plan.tokens}: {found}"]
    for control, comparison in outcome.controls.items():
        worst = worst_verdict(comparison.verdicts)
        off = f"{100 * worst.pooled.relative:+.0f} % in the {LABELS[worst.quantity]}"
        rejected = "rejected" if outcome.rejects(control) else "not rejected"
        parts.append(f"theory of {control.theory}: {rejected}, training is off by {off}")
    return "; ".join(parts) + "\n"


def _claim(name: str, comparison: Comparison) -> Claim:
    worst = worst_verdict(comparison.verdicts)
    claim = verdict_claim(f"{name}, {LABELS[worst.quantity]}", worst)
    return claim._replace(agrees=comparison.agrees)


def _control(theory: str, comparison: Comparison) -> Claim:
    claim = _claim(f"theory of {theory} must fail", comparison)
    return claim._replace(agrees=not comparison.agrees)
