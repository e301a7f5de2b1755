"""What models share: equations of the theory, of a class of matrices, of a target law, each written once, in a file named after it.

Which file an equation is in follows from its model alone, and the name of a shared file ends in a digest of its content: what one
model generates never depends on what others do, and none changes a file that another one reads.
"""

import re
from dataclasses import dataclass

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.step import Step

#: Steps of the derivation by what they are of; the others are of the channel, and stand in the model's own files.
_STEPS_BY_PART = {
    "theory": (
        "rank_limit",
        "divided_difference",
        "finite_spectrum",
        "outliers",
        "error_decomposition",
        "semicircle",
    ),
    "matrix": ("reduction", "stability"),
    "law": ("spectral",),
    "softmax": ("label_numbers", "square_loss", "two_tokens", "softmax_row", "direct_training"),
    "features": ("leading_features",),
    "decay": ("weak_regularisation",),
    "recovery": ("recovery",),
    "thresholds": ("interpolation", "bayes"),
}
_STEPS = {step: of for of, steps in _STEPS_BY_PART.items() for step in steps}
OWN = ""


@dataclass(frozen=True)
class Part:
    """Steps of a model that stand in one file of each language: its `stem`, empty for the model's own, and what it is of."""

    stem: str
    title: str
    steps: tuple[Step, ...]

    @property
    def shared(self) -> bool:
        """Whether other models may have it too."""
        return bool(self.stem)


def parts(model: Model, steps: tuple[Step, ...]) -> tuple[Part, ...]:
    """The shared files of a model and its own, which comes last; steps without functions are in none."""
    found: dict[str, list[Step]] = {of: [] for of in (*_STEPS_BY_PART, OWN)}
    for step in steps:
        if step.functions:
            found[_STEPS.get(step.name, OWN)].append(step)
    return tuple(
        Part(*_named(of, model), tuple(group)) for of, group in found.items() if group or of == OWN
    )


def _named(of: str, model: Model) -> tuple[str, str]:
    kind, frobenius = model.matrix.kind, model.matrix.quadratic != 0
    penalty = ("_frobenius" if model.matrix.linear == 0 else "_elastic") if frobenius else ""
    names = {
        "theory": ("theory", "Any model"),
        "matrix": (f"{kind.value}{penalty}", f"{_class(kind)}{penalty.replace('_', ', ')}"),
        "law": (_slug(model.target.name), f"Target law: {model.target.name}"),
        "softmax": ("tied_softmax", "Tied softmax rows"),
        "features": ("leading_features", "Leading features kept exactly"),
        "decay": ("vanishing_decay", "Vanishing decay below interpolation"),
        "recovery": (f"recovery_{kind.value}", f"Recovery: {_class(kind).lower()}"),
        "thresholds": (f"thresholds_{kind.value}", f"Thresholds: {_class(kind).lower()}"),
        OWN: ("", model.title),
    }
    return names[of]


def _class(kind: Kind) -> str:
    return f"{kind.value.capitalize()} matrices"


def _slug(name: str) -> str:
    return "law_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
