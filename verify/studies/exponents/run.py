"""One run: a narrow student of a power-law target, at nested numbers of samples."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.power_law import PowerLaw, power_law
from numeric.problem.problem import Problem
from verify.core.data import DataKind, inputs_shape
from verify.core.run import record_digest

TOKENS = 2  #: tokens of a sequence; the attention of one token is constant
#: fields on which the random numbers do not depend
_MEASURED = ("shuffle_labels", "device", "hidden", "samples", "index", "entropy")


@dataclass(frozen=True)
class StudentRun:
    """One student, trained on the first n of the same sequences for each n of `samples`,
    increasing.

    Runs that differ only in `hidden`, `samples` or shuffling have the same data.

    Attributes:
        gamma: exponent of the target.
        dim: size d.
        samples: numbers n of samples.
        decay: weight decay of a student of d columns; the loss has decay * sqrt(d/hidden)
            ||W||_F^2, so that the penalty decay * d tr S does not depend on `hidden`.
        hidden: columns of the student.
        noise: variance of the label noise.
        entropy: seed.
        index: number of the run.
        shuffle_labels: negative control.
        device: device to train on.

    Raises:
        InvalidParameter: a parameter is outside its domain, or the data do not fit into memory.
    """

    gamma: Fraction
    dim: int
    samples: tuple[int, ...]
    decay: float
    hidden: int
    noise: float
    entropy: int = 0
    index: int = 0
    shuffle_labels: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not 1 <= self.hidden <= self.dim:
            raise InvalidParameter("hidden", self.hidden, f"must be 1 to d = {self.dim}", "try 64")
        increasing = list(self.samples) == sorted(set(self.samples))
        if not (self.samples and increasing and self.samples[0] >= 1):
            rule = "must be positive and increase"
            raise InvalidParameter("samples", self.samples, rule, "give each number once")
        self.problem(self.samples[0])  # checks gamma, noise and decay
        if self.device == "cpu":
            inputs_shape(DataKind.SEQUENCES, self.samples[-1], TOKENS, self.dim)

    @property
    def target(self) -> PowerLaw:
        """Return the d eigenvalues of S0."""
        return power_law(float(self.gamma), self.dim)

    def problem(self, samples: int) -> Problem:
        """Return the problem at a number of samples, of a student of full width."""
        return Problem(samples / self.dim**2, self.target, self.decay, self.noise, tokens=TOKENS)

    @property
    def cost(self) -> float:
        """Return the approximate seconds on one core, at 20 Gflop/s and 45 to 160 evaluations."""
        evaluations = 45 if self.samples[-1] > self.dim**1.6 else 160
        return 8 * sum(self.samples) * self.dim * self.hidden * evaluations / 2e10 + 3e-3 * self.dim

    @property
    def label(self) -> str:
        """Return a description of the run."""
        return f"gamma {self.gamma} dim {self.dim} n {self.samples[-1]} index {self.index}"

    def record(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**dataclasses.asdict(self), "gamma": str(self.gamma), "samples": list(self.samples)}

    @property
    def key(self) -> str:
        """Return the key of the result in a store."""
        return record_digest(self.record())

    def seeds(self) -> dict[str, np.random.SeedSequence]:
        """Return one independent seed for each random ingredient."""
        physical = {name: value for name, value in self.record().items() if name not in _MEASURED}
        root = np.random.SeedSequence(
            self.entropy, spawn_key=(int(record_digest(physical), 16), self.index)
        )
        names = ("inputs", "labels", "shuffle", "start", "test")
        return dict(zip(names, root.spawn(len(names)), strict=True))
