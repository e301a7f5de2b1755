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
    gaussian = outcome.gaussian_norms
    lines = (
        *comparison_lines("covariance", outcome.comparison),
        *comparison_lines("isotropic theory (control)", outcome.isotropic),
        *(comparison_lines("Gaussian norms (control)", gaussian) if gaussian else ()),
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
            **(
                {
                    "gaussian_norms": comparison_document(gaussian),
                    "rejects_gaussian_norms": outcome.rejects_gaussian_norms,
                }
                if gaussian
                else {}
            ),
        },
        (
            _claim("tokens with a covariance", outcome.comparison),
            _control("isotropic theory", outcome.isotropic),
            *([_control("theory of Gaussian norms", gaussian)] if gaussian else []),
        ),
        points=(table_text(shown),),
        rows=rows,
    )


def _verdict(outcome: CovarianceOutcome) -> str:
    found = "agrees" if outcome.comparison.agrees else "disagrees"
    named = "covariance and the norms" if outcome.gaussian_norms else "covariance"
    parts = [
        f"theory with the {named}: {found}",
        _control_text("theory of isotropic tokens", outcome.isotropic),
    ]
    if outcome.gaussian_norms:
        parts.append(_control_text("theory of Gaussian norms", outcome.gaussian_norms))
    return "; ".join(parts) + "\n"


def _control_text(name: str, comparison: Comparison) -> str:
    worst = worst_verdict(comparison.verdicts)
    off = f"{100 * worst.pooled.relative:+.0f} % in the {LABELS[worst.quantity]}"
    control = "not rejected" if comparison.agrees else "rejected"
    return f"{name}: {control}, training is off by {off}"


def _claim(name: str, comparison: Comparison) -> Claim:
    worst = worst_verdict(comparison.verdicts)
    claim = verdict_claim(f"{name}, {LABELS[worst.quantity]}", worst)
    return claim._replace(agrees=comparison.agrees)


def _control(name: str, comparison: Comparison) -> Claim:
    claim = _claim(f"{name} must fail", comparison)
    return claim._replace(agrees=not comparison.agrees)
