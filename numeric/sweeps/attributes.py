"""Names and units of what a Dataset holds, as attributes of its variables and coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

#: Meaning and unit, none of a pure number; indices and eigenvalues are those of docs/theory.md, section 1.
_WORDS = {
    "alpha": ("sample ratio n/d^2", ""),
    "kappa0": ("rank ratio of the target", ""),
    "width": ("width ratio kappa of the student", ""),
    "lambda_": ("weight decay", ""),
    "noise": ("variance Delta of the label noise", "index^2"),
    "tokens": ("tokens per sequence T", ""),
    "beta": ("inverse temperature of the student", "1/index"),
    "beta0": ("inverse temperature of the target", "1/index"),
    "dim": ("dimension d of a token", ""),
    "seed": ("index of the run", ""),
    "power_law": ("exponent gamma of the target's eigenvalues", ""),
    "m": ("overlap tr(S S0)/d", "eigenvalue^2"),
    "q": ("self-overlap tr(S S^T)/d", "eigenvalue^2"),
    "V": ("variance of the index given the label, per unit", ""),
    "mh": ("conjugate of the overlap m", ""),
    "qh": ("conjugate of the self-overlap q", ""),
    "Vh": ("conjugate of the variance V", ""),
    "delta": ("noise level of the equivalent denoising problem", "eigenvalue"),
    "b": ("threshold on noisy eigenvalues", "eigenvalue"),
    "c": ("gain of the equivalent denoising problem", ""),
    "train_error": ("mean loss of a training sample", ""),
    "test_error": ("mean loss of a fresh sample", ""),
    "best_error": ("least test error of a multiple of the target on the same samples", ""),
    "estimation_error": ("||S - S0||^2/d", "eigenvalue^2"),
    "denoising_error": ("||S/c - S0||^2/d", "eigenvalue^2"),
    "free_entropy": ("least regularised loss over d^2", ""),
    "replicon": ("eigenvalue of stability; below 0 replica symmetry is broken", ""),
    "residual": ("relative change of the conjugates under one more step", ""),
    "q0": ("second moment tr S0^2/d of the target", "eigenvalue^2"),
    "loss": ("regularised loss over d^2", ""),
    "relative_gradient": ("||gradient|| ||W|| / loss where training ended", ""),
}


def attributes_of(name: str) -> dict[str, str]:
    """`long_name`, and `units` of what has some; nothing for a name without words."""
    if name not in _WORDS:
        return {}
    meaning, unit = _WORDS[name]
    return {"long_name": meaning} | ({"units": unit} if unit else {})


def status_attributes(long_name: str, endings: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Flags of a status, code 0 where a point is not stored: pairs of a name and of what it says of the point."""
    named = [("unfinished", "not stored yet"), *endings]
    return {
        "long_name": long_name,
        "flag_values": list(range(len(named))),
        "flag_meanings": " ".join(name for name, _ in named),
        "comment": "; ".join(f"{name}: {text}" for name, text in named),
    }


def flag_descriptions(attributes: Mapping[str, Any]) -> dict[str, str]:
    """What each flag of a status says of a point: `status_attributes` read back."""
    names, said = attributes["flag_meanings"].split(), str(attributes["comment"])
    found = {}
    for name, after in zip_longest(names, names[1:]):
        text, _, rest = said.removeprefix(f"{name}: ").partition(f"; {after}: ")
        found[name], said = text, f"{after}: {rest}"
    return found
