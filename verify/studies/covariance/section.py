"""Training on tokens with a covariance as a section of a report."""

from __future__ import annotations

from attention_erm.runtime.text_table import table_text
from verify.core.documents import comparison_document, score_rows
from verify.core.scores import Comparison, worst_verdict
from verify.core.section import Claim, Section, verdict_claim
from verify.core.text import comparison_lines
from verify.report.html import LABELS
from verify.studies.covariance.study import CovarianceOutcome


def covariance_section(outcome: CovarianceOutcome, must_reject: bool = False) -> Section:
    """Return the verdicts on both theories, and the scores of every point.

    Args:
        outcome: comparison with both theories.
        must_reject: whether the theory of isotropic tokens must be rejected. A weak covariance
            changes too little for that.
    """
    lines = (
        *comparison_lines("covariance", outcome.comparison),
        *comparison_lines("isotropic theory (control)", outcome.isotropic),
        _verdict(outcome),
    )
    rows = score_rows(outcome.comparison.scores)
    shown = [
        {name: value for name, value in row.items() if name != "theory_status"} for row in rows
    ]
    return Section(
        "Tokens with a covariance",
        outcome.agrees and (outcome.rejects_isotropic or not must_reject),
        lines,
        {
            "comparison": comparison_document(outcome.comparison),
            "isotropic": comparison_document(outcome.isotropic),
            "rejects_isotropic": outcome.rejects_isotropic,
        },
        (_claim("tokens with a covariance", outcome.comparison), _control(outcome)),
        points=(table_text(shown),),
        rows=rows,
    )


def _verdict(outcome: CovarianceOutcome) -> str:
    worst = worst_verdict(outcome.isotropic.verdicts)
    off = f"{100 * worst.pooled.relative:+.0f} % in the {LABELS[worst.quantity]}"
    found = "agrees" if outcome.comparison.agrees else "disagrees"
    control = "rejected" if outcome.rejects_isotropic else "not rejected"
    return (
        f"theory with the covariance: {found}; theory of isotropic tokens: {control}, "
        f"training is off by {off}\n"
    )


def _claim(name: str, comparison: Comparison) -> Claim:
    worst = worst_verdict(comparison.verdicts)
    claim = verdict_claim(f"{name}, {LABELS[worst.quantity]}", worst)
    return claim._replace(agrees=comparison.agrees)


def _control(outcome: CovarianceOutcome) -> Claim:
    claim = _claim("isotropic theory must fail", outcome.isotropic)
    return claim._replace(agrees=outcome.rejects_isotropic)
