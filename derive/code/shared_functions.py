"""Files that models share: equations of the theory, of a class of matrices, or of a target law.

The file of an equation depends only on its model, and the name of a shared file ends in a digest of
its content. So the files of a model do not depend on other models, and no model changes a file that
another one uses.
"""

import re
from dataclasses import dataclass

from derive.language.model import Model
from derive.language.step import Step

#: Names of the steps in each shared part; other steps belong to the channel, in the model's files.
_STEPS_BY_PART = {
    "theory": (
        "rank_limit",
        "divided_difference",
        "finite_spectrum",
        "outliers",
        "error_decomposition",
        "token_covariance",
        "semicircle",
    ),
    "norms": ("token_norms",),
    "matrix": ("reduction", "stability"),
    "law": ("spectral",),
    "softmax": ("label_numbers", "square_loss", "two_tokens", "softmax_row", "direct_training"),
    "features": ("leading_features",),
    "decay": ("weak_regularisation",),
    "repetition": ("repeated_tokens",),
    "recovery": ("recovery",),
    "vocabulary": ("vocabulary",),
    "thresholds": ("interpolation", "interpolation_norms", "bayes"),
}
_PART_BY_STEP = {step: part for part, steps in _STEPS_BY_PART.items() for step in steps}
OWN = ""  #: part of the model-specific steps


@dataclass(frozen=True)
class Part:
    """Steps of a model in one file of each language.

    Attributes:
        stem: beginning of the name of a shared file; empty for the model's file.
        title: title of the file.
        steps: the steps.
    """

    stem: str
    title: str
    steps: tuple[Step, ...]


def parts(model: Model, steps: tuple[Step, ...]) -> tuple[Part, ...]:
    """Return the shared parts of a model, and its model-specific part as the last one.

    Args:
        model: the model.
        steps: its derivation; steps without functions are in no part.
    """
    found: dict[str, list[Step]] = {part: [] for part in (*_STEPS_BY_PART, OWN)}
    for step in steps:
        if step.functions:
            found[_PART_BY_STEP.get(step.name, OWN)].append(step)
    names = _stems_and_titles(model)
    return tuple(
        Part(*names[part], tuple(group)) for part, group in found.items() if group or part == OWN
    )


def _stems_and_titles(model: Model) -> dict[str, tuple[str, str]]:
    kind, law = model.matrix.kind, model.target.name
    matrices = f"{kind.value} matrices"
    frobenius = "frobenius" if model.matrix.linear == 0 else "elastic"
    penalty = [frobenius] if model.matrix.quadratic != 0 else []
    return {
        "theory": ("theory", "Any model"),
        "norms": ("token_norms", "Norms of tokens"),
        "matrix": ("_".join((kind.value, *penalty)), ", ".join((matrices.capitalize(), *penalty))),
        "law": ("law_" + re.sub(r"[^a-z0-9]+", "_", law.lower()).strip("_"), f"Target law: {law}"),
        "softmax": ("tied_softmax", "Tied softmax rows"),
        "features": ("leading_features", "Leading features with exact indices"),
        "decay": ("vanishing_decay", "Vanishing decay below interpolation"),
        "repetition": ("repeated_tokens", "Quadratic losses of repeated tokens"),
        "recovery": (f"recovery_{kind.value}", f"Recovery: {matrices}"),
        "vocabulary": ("vocabulary", "Equations of a vocabulary"),
        "thresholds": (f"thresholds_{kind.value}", f"Thresholds: {matrices}"),
        OWN: (OWN, model.title),
    }
