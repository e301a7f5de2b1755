"""Random problems of every kind that is solved: each model, and what tied attention can be trained
as.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np

from numeric.laws.law import Target
from numeric.laws.rational_target import RationalTarget
from numeric.model import DEFAULT, available, structure
from numeric.problem.problem import Parametrisation, Problem, SampleMinimum, extra_setting_names
from verify.core.sensing.run import default_target

DOMAIN = {
    "alpha": (0.05, 5.0),
    "lambda_": (1e-3, 1.0),
    "kappa0": (0.05, 2.0),
    "width": (0.1, 2.0),
    "beta": (0.3, 3.0),
    "beta0": (0.3, 3.0),
    "mu": (1e-3, 1.0),
    "label_noise": (1e-3, 1.0),
}  #: drawn uniformly in the logarithm
NOISE = (0.0, 2.0)  #: drawn uniformly
POSITIVE = (0.05, 0.95)  #: the share of positive jumps, likewise
TWO_BULKS = {
    "scale1": 1.0,
    "scale2": 3.0,
}  #: scales of a target of two free Poisson laws; it has kappa0 in each
HEATS = ("beta", "beta0")


class Kind(NamedTuple):
    """What a problem is, apart from its numbers."""

    model: str
    tokens: int = 2
    parametrisation: Parametrisation = Parametrisation.FACTORISED
    sample_minimum: SampleMinimum = SampleMinimum.GLOBAL

    def __str__(self) -> str:
        others = (f"T = {self.tokens}", self.parametrisation, f"{self.sample_minimum} minimum")
        neutral = Kind(self.model)
        said = [
            text
            for text, one, other in zip(others, self[1:], neutral[1:], strict=True)
            if one != other
        ]
        return ", ".join((self.model, *said))


SYMMETRIC, GENERAL, FITTED = (
    Parametrisation.SYMMETRIC,
    Parametrisation.GENERAL,
    SampleMinimum.FITTED,
)
TIED = (
    Kind(DEFAULT),
    Kind(DEFAULT, 3),
    Kind(DEFAULT, 4),
    Kind(DEFAULT, 2, SYMMETRIC),
    Kind(DEFAULT, 3, SYMMETRIC),
    Kind(DEFAULT, 2, GENERAL),
    Kind(DEFAULT, 3, GENERAL),
    Kind(DEFAULT, 2, sample_minimum=FITTED),
)


def kinds() -> tuple[Kind, ...]:
    """Every kind."""
    return (*TIED, *(Kind(model) for model in available() if model != DEFAULT))


def problems(count: int, seed: int, of: Sequence[Kind]) -> Iterator[Problem]:
    """Random problems of these kinds in turn, each from its own stream."""
    streams = np.random.SeedSequence(seed).spawn(count)
    for stream, kind in zip(streams, islice(cycle(of), count), strict=True):
        rng = np.random.default_rng(stream)
        drawn = {name: float(np.exp(rng.uniform(*np.log(ends)))) for name, ends in DOMAIN.items()}
        drawn |= {"noise": float(rng.uniform(*NOISE)), "positive": float(rng.uniform(*POSITIVE))}
        yield problem_of(kind, drawn)


def problem_of(kind: Kind, drawn: Mapping[str, float]) -> Problem:
    """The problem of a kind at these numbers, of which it takes those that it has."""
    shape = structure(kind.model)
    fields = {name: drawn[name] for name in HEATS if name in shape.channel_settings}
    if shape.matrix == "positive" and kind.parametrisation is Parametrisation.FACTORISED:
        fields["width"] = drawn["width"]  # both ends are learned at full width alone
    if kind.model == DEFAULT:
        fields |= dict(zip(("tokens", "parametrisation", "sample_minimum"), kind[1:], strict=True))
    extra = tuple((name, drawn[name]) for name in extra_setting_names(kind.model))
    target = _target(kind.model, drawn)
    return Problem(
        drawn["alpha"],
        target,
        drawn["lambda_"],
        drawn["noise"],
        model=kind.model,
        extra=extra,
        **fields,
    )


def _target(model: str, drawn: Mapping[str, float]) -> Target:
    if "kappa0" in structure(model).target_settings:
        return default_target(model, drawn["kappa0"], drawn["positive"])
    return RationalTarget.of(model, kappa1=drawn["kappa0"], kappa2=drawn["kappa0"], **TWO_BULKS)
