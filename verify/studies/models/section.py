"""Drawn labels in the main job: a language model's labels, compared with their theory."""

from __future__ import annotations

from verify.core.documents import score_document, score_rows
from verify.core.scores import Score
from verify.core.section import Claim, Section
from verify.core.text import LABELS
from verify.studies.models.study import ModelsOutcome
from verify.studies.models.text import model_lines

_CLAIMED = ("m", "test_error", "misclassification", "calibration")


def drawn_labels_section(outcome: ModelsOutcome) -> Section:
    """Return the verdict on labels that are drawn with the probabilities of a softmax.

    Args:
        outcome: training of a model whose labels are drawn, at one setting.
    """
    (model,) = outcome.models
    claims = tuple(_claim(score) for score in model.scores if score.quantity in _CLAIMED)
    return Section(
        "Labels drawn from a softmax, cross-entropy",
        outcome.agrees,
        tuple(model_lines(outcome.models)),
        {"agrees": model.agrees, "scores": [score_document(score) for score in model.scores]},
        claims,
        rows=score_rows(model.scores),
    )


def _claim(score: Score) -> Claim:
    """Return the value of the theory, and that of training extrapolated in d."""
    theory = score.groups[-1].theory
    trained = f"{theory + score.residual:.4f} +- {score.standard_error:.4f}"
    return Claim(
        f"drawn labels, {LABELS[score.quantity]}",
        f"{theory:.4f}",
        trained,
        f"z {score.z:+.1f}",
        score.agrees,
    )
