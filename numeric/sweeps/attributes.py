"""Attributes of variables and coordinates in a Dataset: meaning, unit, flags of a status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

#: Meaning and unit, empty for a pure number; for indices and eigenvalues see
#: docs/explanation/theory.md, section 1.
_WORDS = {
    "alpha": ("sample ratio n/d^2", ""),
    "kappa0": ("rank ratio of the target", ""),
    "width": ("width ratio kappa of the student", ""),
    "lambda": ("weight decay", ""),
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
    """Return `long_name`, and `units` if there is a unit; empty for an unknown name."""
    meaning, unit = _WORDS.get(name, ("", ""))
    return {key: text for key, text in (("long_name", meaning), ("units", unit)) if text}


def status_attributes(long_name: str, endings: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the flags of a status; code 0 marks a point that is not stored.

    Args:
        long_name: meaning of the status.
        endings: pairs of name and description, for the codes from 1 on.
    """
    named = [("unfinished", "not stored yet"), *endings]
    return {
        "long_name": long_name,
        "flag_values": list(range(len(named))),
        "flag_meanings": " ".join(name for name, _ in named),
        "comment": "; ".join(f"{name}: {text}" for name, text in named),
    }


def flag_descriptions(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the description of each flag, from the result of `status_attributes`."""
    names, rest = attributes["flag_meanings"].split(), str(attributes["comment"])
    found = {}
    for name, after in zip_longest(names, names[1:]):
        found[name], _, rest = rest.removeprefix(f"{name}: ").partition(f"; {after}: ")
    return found
